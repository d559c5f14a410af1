package exec

import (
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/pane"
	"github.com/levadaflow/levada/internal/store"
)

// fast is a grouping in one task for windows that do not merge and the default trigger. It gives what [table] gives; all that it
// knows of a key besides its accumulator is the number of panes.
type fast[K comparable, V, A, R any] struct {
	windowed[K, V, A, R, A]
}

func newFast[K comparable, V, A, R any](g *Group[K, V, A, R], b *Binder, st *Inst, outs []any) *fast[K, V, A, R] {
	t := &fast[K, V, A, R]{}
	t.init(g, b, st, outs)
	t.take = t.addTo
	st.Hold = t.hold
	return t
}

// hold is the last instant of the first window that has not ended.
func (t *fast[K, V, A, R]) hold() (string, event.Time, bool) {
	for _, w := range t.wins {
		if !w.ended {
			return "pane", w.w.Last(), true
		}
	}
	return "", 0, false
}

// Batch implements [Reader].
func (t *fast[K, V, A, R]) Batch(e *Elem, p Payload, from, to int) {
	b, ok := p.(*accBatch[K, A])
	if !ok {
		t.windowed.Batch(e, p, from, to)
		return
	}
	e.Enter(t.st)
	t.at.keys = b.keys
	w := t.open(b.w) // it has not ended: the sender has made sure
	for i := from; i < to && !e.stopped(); i++ {
		t.at.i = i
		x, fresh := w.t.At(b.hash[i], b.keys[i])
		if fresh {
			x.Val = b.accs[i]
			continue
		}
		t.g.Fn.Merge(&x.Val, b.accs[i])
	}
	t.at = atHand[K, V]{}
}

// Alarm implements [Reader]: none.
func (t *fast[K, V, A, R]) Alarm() (event.Time, bool) { return 0, false }

// Clock implements [Reader]: nothing is due.
func (t *fast[K, V, A, R]) Clock(*Elem) {}

// addTo takes an element into one window. After the window's end its pane comes out at once.
func (t *fast[K, V, A, R]) addTo(e *Elem, w *opened[K, A], hash uint64, k K, v V) {
	x, fresh := w.t.At(hash, k)
	if fresh {
		x.Val = t.g.Fn.Zero()
	}
	t.g.Fn.Add(&x.Val, v)
	if w.ended {
		at, wins, info := e.Time, e.Win, e.Pane
		n := int64(x.Panes)
		t.emit(e, w, x, event.Pane{Timing: event.Late, Index: n, OnTimeIndex: n, First: n == 0})
		e.Time, e.Win, e.Pane = at, wins, info
	}
}

// emit gives out a pane of one key.
func (t *fast[K, V, A, R]) emit(e *Elem, w *opened[K, A], x *store.Entry[K, A], p event.Pane) {
	t.one[0] = w.w
	e.Time, e.Win, e.Pane = w.w.Last(), t.one[:], p
	t.out(e, x.Key, t.g.Fn.Result(x.Val))
	e.Enter(t.st)
	if x.Panes++; !t.g.Panes.Accumulating {
		x.Val = t.g.Fn.Zero()
	}
}

// Advance implements [Reader].
func (t *fast[K, V, A, R]) Advance(e *Elem, in event.Time) {
	t.pass(e, in, func(e *Elem, w *opened[K, A], expired bool) {
		if !w.ended {
			t.fire(e, w, event.Pane{Timing: event.OnTime, First: true, Last: expired})
		}
	})
}

// fire gives out the on-time panes of a window.
func (t *fast[K, V, A, R]) fire(e *Elem, w *opened[K, A], p event.Pane) {
	at, wins, info := e.Time, e.Win, e.Pane
	w.ended = true
	t.one[0] = w.w
	e.Time, e.Win, e.Pane = w.w.Last(), t.one[:], p
	keep := !p.Last
	w.t.Each(func(x *store.Entry[K, A], _ uint64) bool {
		t.at.firing = &x.Key
		t.out(e, x.Key, t.g.Fn.Result(x.Val))
		e.Enter(t.st)
		if keep {
			if x.Panes++; !t.g.Panes.Accumulating {
				x.Val = t.g.Fn.Zero()
			}
		}
		return e.Err == nil && !e.stopped()
	})
	t.at.firing = nil
	e.Time, e.Win, e.Pane = at, wins, info
}

// sliced reports whether windows overlap and may be put together from slices: where no window has a second pane.
func (g *Group[K, V, A, R]) sliced(b *Binder) bool {
	if g.Lazy == nil || !g.Combines || g.Panes.LatenessMillis > 0 || !g.fast(b) {
		return false
	}
	s := newSlicer(g.Lazy)
	return s.overlapping()
}

// fast reports whether the fast table may serve the grouping.
func (g *Group[K, V, A, R]) fast(b *Binder) bool {
	p := &g.Panes
	return !b.General && !p.Merging && p.Time == pane.EndOfWindow && !p.ClosingAlways && p.Default()
}
