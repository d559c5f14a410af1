package exec

import (
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/store"
)

// place is where a window of a key stands in a queue.
type place struct {
	due     event.Time // when something happens to it, if isDue
	queued  event.Time // where it stands, if inQueue: not after due
	isDue   bool
	inQueue bool
}

// dueQueue is windows of keys, R, by the time at which something happens to them. One that becomes due later than it stands in the
// queue is moved only when it comes to the front: sessions grow with every element.
type dueQueue[R any] struct {
	place func(R) *place // nil if the window is gone: what stands in the queue for it does not count
	all   store.TimeQueue[R]
}

// set says when r, which has that place, is due, if it is.
func (q *dueQueue[R]) set(r R, p *place, due event.Time, isDue bool) {
	p.due, p.isDue = due, isDue
	if isDue && (!p.inQueue || due < p.queued) {
		p.queued, p.inQueue = due, true
		q.all.Add(due, r)
	}
}

// first returns the window that is due first, and when; ok is false if there is none.
func (q *dueQueue[R]) first() (due event.Time, r R, ok bool) {
	for {
		at, r, ok := q.all.First()
		if !ok {
			return 0, r, false
		}
		p := q.place(r)
		switch {
		case p == nil || !p.inQueue || p.queued != at: // or it has another place
		case !p.isDue:
			p.inQueue = false
		case p.due > at:
			p.queued = p.due
			q.all.Postpone(p.due)
			continue
		default:
			return at, r, true
		}
		q.all.Drop()
	}
}

// next returns the earliest time at which a window is due; ok is false if there is none.
func (q *dueQueue[R]) next() (due event.Time, ok bool) {
	due, _, ok = q.first()
	return due, ok
}

// pop takes out a window that is due at in; ok is false if there is none.
func (q *dueQueue[R]) pop(in event.Time) (r R, ok bool) {
	due, r, ok := q.first()
	if !ok || due > in {
		return r, false
	}
	p := q.place(r)
	p.isDue, p.inQueue = false, false
	q.all.Drop()
	return r, true
}
