package store

import (
	"runtime"
	"slices"
	"testing"

	"github.com/levadaflow/levada/event"
	"pgregory.net/rapid"
)

// TestNumbersAndColumn compares a column with a map under random operations.
func TestNumbersAndColumn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var numbers Numbers
		var col Column[int]
		twin := map[uint32]int{}
		used := map[uint32]bool{}
		for i := range rapid.IntRange(1, 2000).Draw(t, "ops") {
			if len(used) == 0 || rapid.IntRange(0, 9).Draw(t, "op") < 5 {
				n := numbers.Take()
				if used[n] {
					t.Fatalf("%d was handed out twice", n)
				}
				used[n] = true
				v, fresh := col.Put(n)
				if !fresh || *v != 0 {
					t.Fatalf("%d: fresh %v, %d", n, fresh, *v)
				}
				*v, twin[n] = i, i
				continue
			}
			n := rapid.SampledFrom(sorted(used)).Draw(t, "n")
			if got := *col.Get(n); got != twin[n] {
				t.Fatalf("%d has %d, want %d", n, got, twin[n])
			}
			if !col.Remove(n) || col.Remove(n) || col.Get(n) != nil {
				t.Fatalf("%d was not removed once", n)
			}
			delete(used, n)
			delete(twin, n)
			numbers.Give(n)
		}
		if numbers.Len() != len(used) {
			t.Fatalf("%d numbers, want %d", numbers.Len(), len(used))
		}
	})
}

func sorted(m map[uint32]bool) []uint32 {
	var all []uint32
	for n := range m {
		all = append(all, n)
	}
	slices.Sort(all)
	return all
}

// TestIndex compares an index with a map, with hashes that collide.
func TestIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var x Index
		twin := map[uint32]uint64{}
		spread := rapid.SampledFrom([]uint64{1, 1 << 20, 0x9e3779b97f4a7c15}).Draw(t, "spread")
		for range rapid.IntRange(1, 400).Draw(t, "ops") {
			n := rapid.Uint32Range(0, 200).Draw(t, "n")
			hash := uint64(n%16) * spread
			is := func(m uint32) bool { return m == n }
			_, has := twin[n]
			if got, ok := x.Find(hash, is); ok != has || ok && got != n {
				t.Fatalf("find %d: %d %v, want %v", n, got, ok, has)
			}
			if has {
				if delete(twin, n); !x.Remove(hash, n) {
					t.Fatalf("%d is not there", n)
				}
			} else {
				if x.Remove(hash, n) {
					t.Fatalf("%d is there", n)
				}
				x.Insert(hash, n)
				twin[n] = hash
			}
			if x.Len() != len(twin) {
				t.Fatalf("%d entries, want %d", x.Len(), len(twin))
			}
		}
		for n, hash := range twin {
			if _, ok := x.Find(hash, func(m uint32) bool { return m == n }); !ok {
				t.Fatalf("%d is lost", n)
			}
		}
	})
}

// TestQueue compares a queue with a sorted slice.
func TestQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q Queue
		var twin []queued
		seq := uint32(0xffffff00) // wraps around
		take := func(n uint32) bool {
			i := slices.IndexFunc(twin, func(e queued) bool { return e.n == n })
			if i >= 0 {
				twin = slices.Delete(twin, i, i+1)
			}
			return i >= 0
		}
		for range rapid.IntRange(1, 600).Draw(t, "ops") {
			n := 500 * rapid.Uint32Range(0, 20).Draw(t, "n")
			switch op := rapid.IntRange(0, 3).Draw(t, "op"); {
			case op < 2:
				at := event.Time(rapid.Int64Range(0, 20).Draw(t, "at"))
				seq++
				q.Set(n, at, seq)
				take(n)
				twin = append(twin, queued{at, seq, n})
				slices.SortFunc(twin, func(a, b queued) int {
					if a.before(b) {
						return -1
					}
					return 1
				})
			case op == 2:
				if got, want := q.Remove(n), take(n); got != want {
					t.Fatalf("remove %d: %v, want %v", n, got, want)
				}
			case len(twin) > 0:
				first, at, ok := q.First()
				if !ok || first != twin[0].n || at != twin[0].at {
					t.Fatalf("first is %d at %v, want %v", first, at, twin[0])
				}
				q.Remove(first)
				take(first)
			}
			if q.Len() != len(twin) {
				t.Fatalf("%d entries, want %d", q.Len(), len(twin))
			}
		}
		for _, e := range twin {
			if at, ok := q.At(e.n); !ok || at != e.at {
				t.Fatalf("%d is at %v %v, want %v", e.n, at, ok, e.at)
			}
		}
	})
}

// TestQueueOftenEmpty: a queue of one entry that comes and goes makes nothing anew, and one that was great and is empty keeps little.
func TestQueueOftenEmpty(t *testing.T) {
	var q Queue
	if n := testing.AllocsPerRun(100, func() {
		q.Set(1, 5, 0)
		q.Set(2000, 5, 1)
		q.Remove(1)
		q.Remove(2000)
	}); n > 0 {
		t.Errorf("%v allocations for two entries", n)
	}
	for n := range uint32(100_000) {
		q.Set(n, 5, n)
	}
	for n := range uint32(100_000) {
		q.Remove(n)
	}
	if cap(q.heap) > 0 || q.pos != nil {
		t.Errorf("an empty queue keeps room for %d entries and %d chunks", cap(q.heap), len(q.pos))
	}
}

// TestStoreGivesMemoryBack fills and empties everything: next to nothing stays.
func TestStoreGivesMemoryBack(t *testing.T) {
	var numbers Numbers
	var col Column[[4]uint64]
	var x Index
	var q Queue
	const n = 300_000
	before := heapBytes()
	for range n {
		i := numbers.Take()
		col.Put(i)
		x.Insert(uint64(i)*0x9e3779b97f4a7c15, i)
		q.Set(i, event.Time(i), i)
	}
	for i := range uint32(n) {
		col.Remove(i)
		x.Remove(uint64(i)*0x9e3779b97f4a7c15, i)
		q.Remove(i)
		numbers.Give(i)
	}
	if left := heapBytes() - before; left > 200<<10 {
		t.Errorf("%d bytes are left of %d entries", left, n)
	}
	runtime.KeepAlive([]any{&numbers, &col, &x, &q})
}

func heapBytes() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
