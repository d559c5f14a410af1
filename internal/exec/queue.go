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
	h := append(q.heap, dueEntry[K, A]{p.due, q.seq, o})
	i := len(h) - 1
	for i > 0 && h[i].before(h[(i-1)/2]) {
		h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
		i = (i - 1) / 2
	}
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
	for i := 0; ; {
		least := i
		for _, c := range [2]int{2*i + 1, 2*i + 2} {
			if c < len(q.heap) && q.heap[c].before(q.heap[least]) {
				least = c
			}
		}
		if least == i {
			return
		}
		q.heap[i], q.heap[least] = q.heap[least], q.heap[i]
		i = least
	}
}
