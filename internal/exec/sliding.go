package exec

import (
	"slices"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/store"
)

// sliding is a grouping in one task for overlapping windows without allowed lateness: elements are combined once a slice, and a
// window is put together from its slices when the watermark passes its end. It gives what [fast] gives.
type sliding[K comparable, V, A, R any] struct {
	fast[K, V, A, R]
	next event.Time // no window that begins before has still to come out
}

func newSliding[K comparable, V, A, R any](g *Group[K, V, A, R], b *Binder, st *Inst, outs []any) *sliding[K, V, A, R] {
	t := &sliding[K, V, A, R]{next: event.Min - 1<<50}
	t.init(g, b, st, outs)
	t.take = t.addTo
	st.Hold = t.hold
	return t
}

// hold is the last instant of the first window that has still to come out.
func (t *sliding[K, V, A, R]) hold() (string, event.Time, bool) {
	if len(t.wins) == 0 {
		return "", 0, false
	}
	return "pane", t.grid.window(max(t.grid.first(t.wins[0].w), t.next)).Last(), true
}

// Batch implements [Reader].
func (t *sliding[K, V, A, R]) Batch(e *Elem, p Payload, from, to int) {
	b, ok := p.(*keyedBatch[K, V])
	if !ok {
		t.fast.Batch(e, p, from, to) // partial results of a slice
		return
	}
	e.Enter(t.st)
	t.at.b = b
	for i := from; i < to && e.Err == nil && !e.stopped(); i++ {
		t.at.i = i
		b.check(t.st, t.g.Sum, i)
		e.Time = b.Times[i]
		t.add(e, b.hash[i], b.keys[i], b.Vals[i])
	}
	t.at = atHand[K, V]{}
}

// Direct implements [Reader].
func (t *sliding[K, V, A, R]) Direct() any {
	return newPair(func(e *Elem, k K, v V) {
		e.Enter(t.st)
		t.add(e, t.g.Keys.Hash(k), k, v)
	})
}

// add takes an element into its slice, unless all its windows have expired.
func (t *sliding[K, V, A, R]) add(e *Elem, hash uint64, k K, v V) {
	w := t.last
	if w == nil || e.Time < w.w.Start || e.Time >= w.w.End {
		if e.Time > event.EndOfGlobal {
			t.noWindow.Inc(1)
			return
		}
		w = nil
	}
	if e.Time < t.in && !t.onTime(e, k, v) {
		return
	}
	if w == nil {
		w = t.open(t.grid.slice(e.Time))
		w.ended = false
		t.last = w
	}
	t.addTo(e, w, hash, k, v)
}

// onTime drops the element, which is behind the watermark, from those of its windows that have expired, and reports whether
// there are others.
func (t *sliding[K, V, A, R]) onTime(e *Elem, k K, v V) bool {
	wins := e.Win
	defer func() { e.Win = wins }()
	at := t.grid.first(t.grid.slice(e.Time))
	for ; at <= e.Time && e.Err == nil; at += t.grid.period {
		w := t.grid.window(at)
		if !t.g.Panes.Expired(w, t.in) {
			return true
		}
		t.one[0] = w
		e.Win = t.one[:]
		t.drop(e, k, v)
	}
	return false
}

// Advance implements [Reader].
func (t *sliding[K, V, A, R]) Advance(e *Elem, in event.Time) {
	t.in = in
	e.Enter(t.st)
	t.fireAll(e, in)
	// Windows that have expired without an element will not come out for a late one.
	t.next = max(t.next, (in-t.grid.size).Floor(t.grid.period, t.grid.offset)+t.grid.period)
	t.tidy()
}

// fireAll gives out the windows that end before in.
func (t *sliding[K, V, A, R]) fireAll(e *Elem, in event.Time) {
	for len(t.wins) > 0 && e.Err == nil {
		start := max(t.grid.first(t.wins[0].w), t.next)
		w := t.grid.window(start)
		if w.Last() >= in {
			return
		}
		whole := t.assemble(w)
		t.fire(e, whole, event.Pane{Timing: event.OnTime, First: true, Last: true})
		whole.t.Reset()
		t.next = start + t.grid.period
		gone := 0
		for gone < len(t.wins) && t.wins[gone].w.Start < t.next {
			t.wins[gone].t.Reset()
			gone++
		}
		if gone > 0 {
			t.wins, t.last = slices.Delete(t.wins, 0, gone), nil
		}
	}
}

// assemble puts a window together from its slices.
func (t *sliding[K, V, A, R]) assemble(w event.Window) *opened[K, A] {
	whole := &opened[K, A]{w: w, t: store.NewTable(func(k K) K { return k }, &t.pool)} // the slices own the keys
	for _, slice := range t.wins {
		if slice.w.Start >= w.End {
			break
		}
		slice.t.Each(func(x *store.Entry[K, A], hash uint64) bool {
			to, fresh := whole.t.At(hash, x.Key)
			if fresh {
				to.Val = t.g.Fn.Zero()
			}
			t.g.Fn.Merge(&to.Val, x.Val)
			return true
		})
	}
	return whole
}
