package exec

import (
	"slices"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/invariants"
)

// BatchSize is the number of elements after which a batch is sent.
const BatchSize = 1024

// Batch is elements on their way to another task, in columns. Windows and panes have a column only where elements differ.
type Batch[T any] struct {
	Vals  []T
	Times []event.Time
	wins  []event.Window
	ends  []int32 // where element i's windows end in wins; nil if wins are those of every element
	panes []event.Pane
	pane  event.Pane // of every element, if panes is empty
	sums  []uint64   // of the values, with the invariants on
}

// Len implements [Payload].
func (b *Batch[T]) Len() int { return len(b.Vals) }

// Reset implements [Payload].
func (b *Batch[T]) Reset() {
	clear(b.Vals)
	clear(b.wins)
	b.Vals, b.Times = b.Vals[:0], b.Times[:0]
	b.wins, b.ends, b.panes, b.sums = b.wins[:0], b.ends[:0], b.panes[:0], b.sums[:0]
}

// add appends v with the time, windows and pane of e.
func (b *Batch[T]) add(e *Elem, v T) {
	n := len(b.Vals)
	b.addWindows(e, n)
	if n == 0 {
		b.pane = e.Pane
	}
	if len(b.panes) > 0 || e.Pane != b.pane {
		for len(b.panes) < n {
			b.panes = append(b.panes, b.pane)
		}
		b.panes = append(b.panes, e.Pane)
	}
	b.Vals = append(b.Vals, v)
	b.Times = append(b.Times, e.Time)
}

func (b *Batch[T]) addWindows(e *Elem, n int) {
	switch {
	case n == 0:
		b.wins = append(b.wins[:0], e.Win...)
		return
	case len(b.ends) == 0 && slices.Equal(b.wins, e.Win):
		return
	case len(b.ends) == 0: // the first that differs: give every element its own
		common := slices.Clone(b.wins)
		b.ends = append(b.ends, int32(len(common)))
		for range n - 1 {
			b.wins = append(b.wins, common...)
			b.ends = append(b.ends, int32(len(b.wins)))
		}
	}
	b.wins = append(b.wins, e.Win...)
	b.ends = append(b.ends, int32(len(b.wins)))
}

// load puts the time, windows and pane of element i into e.
func (b *Batch[T]) load(e *Elem, i int) {
	e.Time = b.Times[i]
	e.Pane = b.pane
	if len(b.panes) > 0 {
		e.Pane = b.panes[i]
	}
	if len(b.ends) == 0 {
		e.Win = b.wins[:len(b.wins):len(b.wins)]
		return
	}
	from := int32(0)
	if i > 0 {
		from = b.ends[i-1]
	}
	e.Win = b.wins[from:b.ends[i]:b.ends[i]]
}

// writer is the sending end of an exchange.
type writer[T any] struct {
	out   Output
	open  []*Batch[T] // by receiver; nil if there is none
	route func(e *Elem) int
	sum   func(T) uint64 // nil unless the invariants are on
	_     Apart
}

func (w *writer[T]) push(e *Elem, v T) {
	if e.Err != nil {
		return
	}
	to := w.route(e)
	b := w.open[to]
	if b == nil {
		if b = w.take(e, to); b == nil {
			return
		}
	}
	b.add(e, v)
	if w.sum != nil {
		b.sums = append(b.sums, w.sum(v))
	}
	if len(b.Vals) >= BatchSize {
		w.open[to] = nil
		w.out.Send(to, b)
	}
}

func (w *writer[T]) take(e *Elem, to int) *Batch[T] {
	p, ok := w.out.Take(to)
	if !ok {
		e.Err = ErrStopped
		return nil
	}
	b, _ := p.(*Batch[T])
	if b == nil {
		b = &Batch[T]{}
	}
	if invariants.Enabled {
		for _, v := range b.Vals[:cap(b.Vals)] {
			invariants.Check(isZero(w.sum, v), "a recycled batch has not been cleared")
		}
	}
	w.open[to] = b
	return b
}

// isZero reports whether v looks like the zero value; without a sum it is not known and true.
func isZero[T any](sum func(T) uint64, v T) bool {
	var zero T
	return sum == nil || sum(v) == sum(zero)
}

// sendOpen sends the batches that are open, by receiver.
func sendOpen[B interface {
	comparable
	Payload
}](out Output, open []B) {
	var none B
	for to, b := range open {
		if b != none {
			open[to] = none
			out.Send(to, b)
		}
	}
}

// Flush implements [Flusher].
func (w *writer[T]) Flush(*Elem) {
	sendOpen(w.out, w.open)
}

// check panics if element i of b is no longer what was put in.
func (b *Batch[T]) check(st *Inst, sum func(T) uint64, i int) {
	if sum != nil {
		invariants.Check(sum(b.Vals[i]) == b.sums[i],
			"an element was changed after it had been emitted, on the way to step %s: %+v", st.Step.Name, b.Vals[i])
	}
}

// pass is the receiving end of an exchange that has no state.
type pass[T any] struct {
	st  *Inst
	out Sink[T]
	sum func(T) uint64
	at  cursor[T]
}

// cursor is the element of a batch at hand.
type cursor[T any] struct {
	b *Batch[T]
	i int
}

// each calls f for elements from to to-1 of a batch.
func (c *cursor[T]) each(e *Elem, st *Inst, sum func(T) uint64, p Payload, from, to int, f Sink[T]) {
	b := p.(*Batch[T])
	c.b = b
	for i := from; i < to && e.Err == nil && !e.stopped(); i++ {
		c.i = i
		e.Enter(st)
		b.check(st, sum, i)
		b.load(e, i)
		f(e, b.Vals[i])
	}
	c.b = nil
}

// current returns it, nil if there is none.
func (c *cursor[T]) current() any {
	if c.b == nil || c.i >= len(c.b.Vals) {
		return nil
	}
	return c.b.Vals[c.i]
}

// Batch implements [Reader].
func (r *pass[T]) Batch(e *Elem, p Payload, from, to int) {
	r.at.each(e, r.st, r.sum, p, from, to, r.out)
}

// Advance implements [Reader]: nothing is due.
func (r *pass[T]) Advance(*Elem, event.Time) {}

// Alarm implements [Reader]: none.
func (r *pass[T]) Alarm() (event.Time, bool) { return 0, false }

// Clock implements [Reader]: nothing is due.
func (r *pass[T]) Clock(*Elem) {}

// Direct implements [Reader].
func (r *pass[T]) Direct() any { return r.out }

// Current implements [Reader].
func (r *pass[T]) Current() any { return r.at.current() }
