package store

// SlabSize is the number of entries in a slab.
const SlabSize = 256

// Entry is what is known of a key.
type Entry[K comparable, A any] struct {
	Key   K
	Val   A
	Panes uint32 // how many panes its window has fired
}

// Slab is the memory of SlabSize entries. What a look-up needs lies together.
type Slab[K comparable, A any] struct {
	// Epoch is the snapshot that the slab was last written in.
	Epoch   uint32
	entries [SlabSize]Entry[K, A]
	hash    [SlabSize]uint64
}

// Table is a hash table from keys to accumulators. Its hashes come from outside. The zero value is not ready: see [NewTable].
type Table[K comparable, A any] struct {
	index []uint64 // open addressing: the hash's upper half, then the entry's number plus one; 0 is free
	mask  uint64
	slabs []*Slab[K, A]
	n     int
	clone func(K) K
	pool  *Pool[K, A]
}

// Pool recycles the slabs of tables that have been reset, and remembers how large they were.
type Pool[K comparable, A any] struct {
	slabs []*Slab[K, A]
	index [][]uint64
}

// What a pool keeps: what is more is given back to the collector.
const (
	poolSlabs   = 256
	poolIndexes = 32
	poolIndex   = 1 << 14 // the largest one
)

const minIndex = 64

// NewTable returns an empty table. clone makes a key independent of the memory that it came in; pool may be shared by the tables of
// one task.
func NewTable[K comparable, A any](clone func(K) K, pool *Pool[K, A]) *Table[K, A] {
	t := &Table[K, A]{clone: clone, pool: pool}
	if n := len(pool.index); n > 0 {
		t.index, pool.index = pool.index[n-1], pool.index[:n-1]
	} else {
		t.index = make([]uint64, minIndex)
	}
	t.mask = uint64(len(t.index) - 1)
	return t
}

// Len returns the number of entries.
func (t *Table[K, A]) Len() int { return t.n }

// At returns the entry of the key with this hash, which stays where it is until the table is reset; fresh says that it was
// inserted now, with the zero value of A. The top ten bits of a hash are the same for many keys of a table, so the low ones
// choose the place.
func (t *Table[K, A]) At(hash uint64, key K) (e *Entry[K, A], fresh bool) {
	tag := hash &^ 0xffffffff
	for at := hash & t.mask; ; at = (at + 1) & t.mask {
		x := t.index[at]
		if x == 0 {
			return t.insert(at, hash, key)
		}
		if x&^0xffffffff == tag {
			n := uint32(x) - 1
			if e = &t.slabs[n/SlabSize].entries[n%SlabSize]; e.Key == key {
				return e, false
			}
		}
	}
}

func (t *Table[K, A]) insert(at, hash uint64, key K) (*Entry[K, A], bool) {
	if t.n+1 > len(t.index)/2 {
		t.grow()
		for at = hash & t.mask; t.index[at] != 0; at = (at + 1) & t.mask {
		}
	}
	if t.n == len(t.slabs)*SlabSize {
		t.slabs = append(t.slabs, t.pool.slab())
	}
	s, i := t.slabs[t.n/SlabSize], t.n%SlabSize
	t.n++
	t.index[at] = hash&^0xffffffff | uint64(t.n)
	s.entries[i].Key, s.hash[i] = t.clone(key), hash
	return &s.entries[i], true
}

// grow doubles the index.
func (t *Table[K, A]) grow() {
	t.index = make([]uint64, 2*len(t.index))
	t.mask = uint64(len(t.index) - 1)
	for n := range t.n {
		hash := t.slabs[n/SlabSize].hash[n%SlabSize]
		at := hash & t.mask
		for t.index[at] != 0 {
			at = (at + 1) & t.mask
		}
		t.index[at] = hash&^0xffffffff | uint64(n+1)
	}
}

// Each calls f for every entry, in the order of insertion, until it returns false.
func (t *Table[K, A]) Each(f func(e *Entry[K, A], hash uint64) bool) {
	for n := range t.n {
		s, i := t.slabs[n/SlabSize], n%SlabSize
		if !f(&s.entries[i], s.hash[i]) {
			return
		}
	}
}

// Reset gives the table's memory to the pool. The table must not be used again.
func (t *Table[K, A]) Reset() {
	for n, s := range t.slabs {
		used := min(t.n-n*SlabSize, SlabSize)
		clear(s.entries[:used])
		if len(t.pool.slabs) < poolSlabs {
			t.pool.slabs = append(t.pool.slabs, s)
		}
	}
	if len(t.pool.index) < poolIndexes && len(t.index) <= poolIndex && t.n*8 >= len(t.index) {
		clear(t.index)
		t.pool.index = append(t.pool.index, t.index)
	}
	*t = Table[K, A]{}
}

func (p *Pool[K, A]) slab() *Slab[K, A] {
	if n := len(p.slabs); n > 0 {
		s := p.slabs[n-1]
		p.slabs[n-1] = nil
		p.slabs = p.slabs[:n-1]
		return s
	}
	return new(Slab[K, A])
}
