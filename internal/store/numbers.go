package store

// Numbers hands out numbers from 0 up. One that is given back is handed out again. The zero value is ready.
type Numbers struct {
	free []uint32
	next uint32
}

// Take returns a number that is not in use.
func (x *Numbers) Take() uint32 {
	if n := len(x.free); n > 0 {
		t := x.free[n-1]
		x.free = x.free[:n-1]
		return t
	}
	x.next++
	return x.next - 1
}

// Give gives a number back that is in use.
func (x *Numbers) Give(n uint32) {
	if x.free = append(x.free, n); len(x.free) == int(x.next) {
		*x = Numbers{}
	}
}

// Len returns how many are in use.
func (x *Numbers) Len() int { return int(x.next) - len(x.free) }

// Column has values by number. Its memory is in slabs, which go when nothing is in them. The zero value is empty and ready.
type Column[T any] struct {
	slabs []*columnSlab[T] // nil where nothing is
	live  int              // slabs that are not nil
	spare []*columnSlab[T]
}

type columnSlab[T any] struct {
	vals [SlabSize]T
	has  [SlabSize / 64]uint64
	n    int
}

// Get returns the value of number n, which may be changed in place, or nil if there is none.
func (c *Column[T]) Get(n uint32) *T {
	i := int(n / SlabSize)
	if i >= len(c.slabs) || c.slabs[i] == nil {
		return nil
	}
	if s, j := c.slabs[i], n%SlabSize; s.has[j/64]>>(j%64)&1 != 0 {
		return &s.vals[j]
	}
	return nil
}

// Put returns the value of number n; fresh says that there was none, and that it is the zero value.
func (c *Column[T]) Put(n uint32) (v *T, fresh bool) {
	i, j := int(n/SlabSize), n%SlabSize
	for i >= len(c.slabs) {
		c.slabs = append(c.slabs, nil)
	}
	s := c.slabs[i]
	if s == nil {
		s = c.slab()
		c.slabs[i] = s
	}
	if s.has[j/64]>>(j%64)&1 == 0 {
		s.has[j/64] |= 1 << (j % 64)
		s.n++
		fresh = true
	}
	return &s.vals[j], fresh
}

func (c *Column[T]) slab() *columnSlab[T] {
	c.live++
	if n := len(c.spare); n > 0 {
		s := c.spare[n-1]
		c.spare = c.spare[:n-1]
		return s
	}
	return new(columnSlab[T])
}

// Remove takes the value of number n out and reports whether there was one.
func (c *Column[T]) Remove(n uint32) bool {
	v := c.Get(n)
	if v == nil {
		return false
	}
	var zero T
	*v = zero
	s, j := c.slabs[n/SlabSize], n%SlabSize
	s.has[j/64] &^= 1 << (j % 64)
	if s.n--; s.n == 0 {
		c.slabs[n/SlabSize] = nil
		c.live--
		c.tidy(s)
	}
	return true
}

// tidy keeps an empty slab if few are kept, so that what comes and goes does not allocate.
func (c *Column[T]) tidy(s *columnSlab[T]) {
	most := 1 + c.live/8
	if len(c.spare) < most {
		c.spare = append(c.spare, s)
	}
	for len(c.spare) > most {
		last := len(c.spare) - 1
		c.spare[last] = nil
		c.spare = c.spare[:last]
	}
	if c.live == 0 {
		c.slabs = nil
	}
}
