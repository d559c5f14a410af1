package progress

import (
	"container/heap"

	"github.com/levadaflow/levada/event"
)

// Holds is a multiset of times, each of which keeps a watermark from passing it. The zero value is empty and ready.
type Holds struct {
	count map[event.Time]int
	order times // has every time of count, and some that are gone
}

// mostKept is the number of times that holds have room for when they are empty.
const mostKept = 1024

// Add counts one more hold at t.
func (h *Holds) Add(t event.Time) {
	if h.count == nil {
		h.count = map[event.Time]int{}
	}
	n := h.count[t]
	h.count[t] = n + 1
	if n == 0 {
		heap.Push(&h.order, t)
	}
}

// Remove takes back one hold at t and reports whether there was one.
func (h *Holds) Remove(t event.Time) bool {
	n := h.count[t]
	if n > 1 {
		h.count[t] = n - 1
		return true
	}
	delete(h.count, t)
	switch {
	case len(h.count) == 0 && cap(h.order) > mostKept:
		*h = Holds{}
	case len(h.order) > 2*len(h.count)+64:
		h.compact()
	}
	return n == 1
}

// compact drops the times that are gone from the order.
func (h *Holds) compact() {
	live := h.order[:0]
	for t := range h.count {
		live = append(live, t)
	}
	h.order = live
	heap.Init(&h.order)
}

// Min returns the smallest hold; ok is false if there is none.
func (h *Holds) Min() (t event.Time, ok bool) {
	for len(h.order) > 0 {
		if h.count[h.order[0]] > 0 {
			return h.order[0], true
		}
		heap.Pop(&h.order)
	}
	return 0, false
}

// Len returns the number of different times held.
func (h *Holds) Len() int { return len(h.count) }

type times []event.Time

func (o times) Len() int           { return len(o) }
func (o times) Less(i, j int) bool { return o[i] < o[j] }
func (o times) Swap(i, j int)      { o[i], o[j] = o[j], o[i] }
func (o *times) Push(x any)        { *o = append(*o, x.(event.Time)) }
func (o *times) Pop() any {
	last := len(*o) - 1
	x := (*o)[last]
	*o = (*o)[:last]
	return x
}
