package exec

import "github.com/levadaflow/levada/event"

// The queues that a window stands in.
const (
	byWatermark = iota // when its end or expiry comes
	byClock            // when its trigger has waited long enough
	queues
)

// place is where a window stands in a queue.
type place struct {
	due     event.Time // when something happens to it
	queued  event.Time // where it stands, if inQueue: not after due
	inQueue bool
}

// dueQueue is a heap of windows by the time at which something happens to them. A window that becomes due later than it
// stands in the queue is moved only when it comes to the front: sessions grow with every element.
type dueQueue[K comparable, A any] struct {
	which int
	heap  []dueEntry[K, A]
	seq   uint64
}

// dueEntry is a window's place. It does not count if the window is gone or has another place.
type dueEntry[K comparable, A any] struct {
	at  event.Time
	seq uint64
	o   *open[K, A]
}

func (a dueEntry[K, A]) before(b dueEntry[K, A]) bool {
	return a.at < b.at || a.at == b.at && a.seq < b.seq
}

// set says when o is due.
func (q *dueQueue[K, A]) set(o *open[K, A], due event.Time) {
	p := &o.places[q.which]
	p.due = due
	if !p.inQueue || due < p.queued {
		q.push(o)
	}
}

// unset says that o is not due.
func (q *dueQueue[K, A]) unset(o *open[K, A]) { o.places[q.which].inQueue = false }

func (q *dueQueue[K, A]) push(o *open[K, A]) {
	q.seq++
	p := &o.places[q.which]
	p.queued, p.inQueue = p.due, true
	x := dueEntry[K, A]{p.due, q.seq, o}
	h := append(q.heap, x)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !x.before(h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = x
	q.heap = h
}

// first returns the earliest time at which a window is due; ok is false if there is none.
func (q *dueQueue[K, A]) first() (due event.Time, ok bool) {
	for len(q.heap) > 0 {
		top := &q.heap[0]
		switch p := &top.o.places[q.which]; {
		case top.o.gone || !p.inQueue || p.queued != top.at:
			q.dropFirst()
		case p.due > top.at:
			top.at, p.queued = p.due, p.due
			q.sink()
		default:
			return top.at, true
		}
	}
	return 0, false
}

// pop takes out a window that is due at in, nil if there is none.
func (q *dueQueue[K, A]) pop(in event.Time) *open[K, A] {
	due, ok := q.first()
	if !ok || due > in {
		return nil
	}
	o := q.heap[0].o
	q.unset(o)
	q.dropFirst()
	return o
}

func (q *dueQueue[K, A]) dropFirst() {
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	q.heap[last] = dueEntry[K, A]{}
	q.heap = q.heap[:last]
	q.sink()
}

// sink restores the order after the first entry has become a later one.
func (q *dueQueue[K, A]) sink() {
	h := q.heap
	if len(h) == 0 {
		return
	}
	x, i := h[0], 0
	for {
		least := 4*i + 1
		if least >= len(h) {
			break
		}
		for c := least + 1; c < min(4*i+5, len(h)); c++ {
			if h[c].before(h[least]) {
				least = c
			}
		}
		if !h[least].before(x) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = x
}
