package store

import "github.com/levadaflow/levada/event"

// TimeQueue is values in the order of times; of one time, in the order in which they came.
type TimeQueue[T any] interface {
	// Add puts v at a time.
	Add(at event.Time, v T)
	// First returns the first value; ok is false if there is none.
	First() (at event.Time, v T, ok bool)
	// Postpone moves the first value, which there must be, to a time that is not before its own.
	Postpone(at event.Time)
	// Drop takes out the first value, which there must be.
	Drop()
	// Clear takes out all values.
	Clear()
}

// Heap is a [TimeQueue] for values at many times. The zero value is empty and ready.
type Heap[T any] struct {
	all []timed[T] // four children each
	seq uint64
}

type timed[T any] struct {
	at  event.Time
	seq uint64
	v   T
}

func (a *timed[T]) before(b *timed[T]) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }

// mostKept is how many values an empty queue has room for, so that it does not make it anew each time.
const mostKept = 16 << 10

// Add implements [TimeQueue].
func (q *Heap[T]) Add(at event.Time, v T) {
	q.seq++
	x := timed[T]{at, q.seq, v}
	h := append(q.all, x)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !x.before(&h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = x
	q.all = h
}

// First implements [TimeQueue].
func (q *Heap[T]) First() (at event.Time, v T, ok bool) {
	if len(q.all) == 0 {
		return 0, v, false
	}
	return q.all[0].at, q.all[0].v, true
}

// Postpone implements [TimeQueue].
func (q *Heap[T]) Postpone(at event.Time) {
	q.seq++
	q.sink(timed[T]{at, q.seq, q.all[0].v})
}

// Drop implements [TimeQueue].
func (q *Heap[T]) Drop() {
	last := len(q.all) - 1
	x := q.all[last]
	q.all[last] = timed[T]{}
	q.all = q.all[:last]
	switch {
	case last > 0:
		q.sink(x)
	case cap(q.all) > mostKept:
		q.all = nil
	}
}

// Clear implements [TimeQueue].
func (q *Heap[T]) Clear() {
	if len(q.all) > 0 {
		q.all = nil
	}
}

// sink puts x where it belongs, in the place of the first.
func (q *Heap[T]) sink(x timed[T]) {
	h, i := q.all, 0
	for {
		least := 4*i + 1
		if least >= len(h) {
			break
		}
		for k := least + 1; k < min(4*i+5, len(h)); k++ {
			if h[k].before(&h[least]) {
				least = k
			}
		}
		if !h[least].before(&x) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = x
}
