package store

// Index finds numbers by hash. It stores half of the hash, so it never asks for one again. The zero value is empty and ready.
type Index struct {
	slots []uint64 // linear probing: the hash's lower half, then the number plus one; 0 is free
	n     int
}

const minSlots = 16

func slotOf(hash uint64, n uint32) uint64 { return hash<<32 | uint64(n) + 1 }

// home is where the entry would be if it were alone.
func (x *Index) home(slot uint64) int { return int(slot>>32) & (len(x.slots) - 1) }

// Len returns the number of entries.
func (x *Index) Len() int { return x.n }

// Find returns the first number with this hash for which is returns true.
func (x *Index) Find(hash uint64, is func(n uint32) bool) (n uint32, ok bool) {
	if x.n == 0 {
		return 0, false
	}
	want := hash << 32
	for i := x.home(want); x.slots[i] != 0; i = (i + 1) & (len(x.slots) - 1) {
		if s := x.slots[i]; s&^0xffffffff == want {
			if n = uint32(s) - 1; is(n) {
				return n, true
			}
		}
	}
	return 0, false
}

// Insert adds a number, less than 2^32-1, under a hash.
func (x *Index) Insert(hash uint64, n uint32) {
	if 4*(x.n+1) > 3*len(x.slots) {
		x.resize(max(minSlots, 2*len(x.slots)))
	}
	x.n++
	x.put(slotOf(hash, n))
}

func (x *Index) put(slot uint64) {
	i := x.home(slot)
	for x.slots[i] != 0 {
		i = (i + 1) & (len(x.slots) - 1)
	}
	x.slots[i] = slot
}

func (x *Index) resize(size int) {
	old := x.slots
	x.slots = make([]uint64, size)
	for _, s := range old {
		if s != 0 {
			x.put(s)
		}
	}
}

// Remove takes out a number that was inserted under this hash and reports whether it was there.
func (x *Index) Remove(hash uint64, n uint32) bool {
	if x.n == 0 {
		return false
	}
	slot, mask := slotOf(hash, n), len(x.slots)-1
	i := x.home(slot)
	for x.slots[i] != slot {
		if x.slots[i] == 0 {
			return false
		}
		i = (i + 1) & mask
	}
	for j := (i + 1) & mask; x.slots[j] != 0; j = (j + 1) & mask { // close the gap
		if (j-x.home(x.slots[j]))&mask >= (j-i)&mask {
			x.slots[i] = x.slots[j]
			i = j
		}
	}
	x.slots[i] = 0
	if x.n--; x.n == 0 {
		x.slots = nil
	} else if len(x.slots) > minSlots && 8*x.n < len(x.slots) {
		x.resize(len(x.slots) / 2)
	}
	return true
}
