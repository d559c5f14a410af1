package exec

import (
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/pane"
	"github.com/levadaflow/levada/internal/progress"
	"github.com/levadaflow/levada/internal/store"
)

// aligned is a grouping in one task for windows that are known not to overlap, and any trigger: all keys of a window end and expire together. It
// gives what [table] gives.
type aligned[K comparable, V, A, R any] struct {
	windowed[K, V, A, R, paned[A]]
	states        pane.Arena
	alarms        dueQueue[windowKey[K, A]] // by the clock: when their trigger has waited long enough
	holds         progress.Holds            // unless each hold is its window's last instant
	droppedClosed *Counter
}

// paned is what is known of a key in a window.
type paned[A any] struct {
	pane.State
	acc   A
	alarm place
}

// windowKey is a key in a window.
type windowKey[K comparable, A any] struct {
	w *opened[K, paned[A]]
	x *store.Entry[K, paned[A]] // not to be touched when w has expired
}

func newAligned[K comparable, V, A, R any](g *Group[K, V, A, R], b *Binder, st *Inst, outs []any) *aligned[K, V, A, R] {
	t := &aligned[K, V, A, R]{droppedClosed: b.Counter(st, DroppedClosed)}
	t.init(g, b, st, outs)
	t.take = t.addTo
	t.alarms = dueQueue[windowKey[K, A]]{windowKey[K, A].place, &store.Calendar[windowKey[K, A]]{}}
	st.Hold = t.hold
	return t
}

func (r windowKey[K, A]) place() *place {
	if r.w.t == nil {
		return nil
	}
	return &r.x.Val.alarm
}

func (t *aligned[K, V, A, R]) hold() (string, event.Time, bool) {
	if t.g.Panes.Time != pane.EndOfWindow {
		at, ok := t.holds.Min()
		return "pane", at, ok
	}
	for _, w := range t.wins {
		if w.held > 0 {
			return "pane", w.w.Last(), true
		}
	}
	return "", 0, false
}

// addTo takes an element into one window.
func (t *aligned[K, V, A, R]) addTo(e *Elem, w *opened[K, paned[A]], hash uint64, k K, v V) {
	x, fresh := w.t.At(hash, k)
	s := &x.Val
	if fresh {
		t.g.Panes.Init(&s.State, w.w, &t.states)
		s.acc = t.g.Fn.Zero()
	}
	if s.Closed() {
		t.droppedClosed.Inc(1)
		return
	}
	t.g.Fn.Add(&s.acc, v)
	before, held := s.Hold()
	f := t.g.Panes.Element(&s.State, e.Time, t.in, e.Now)
	if f.Emit {
		at, wins, info := e.Time, e.Win, e.Pane
		t.emit(e, w, x, f)
		e.Time, e.Win, e.Pane = at, wins, info
	}
	t.settle(w, s, f, before, held)
	if f.Emit || !s.alarm.isDue { // else it stays as it is
		t.setAlarm(e, w, x)
	}
}

// emit gives out a pane of one key.
func (t *aligned[K, V, A, R]) emit(e *Elem, w *opened[K, paned[A]], x *store.Entry[K, paned[A]], f pane.Effect) {
	t.one[0] = w.w
	e.Time, e.Win, e.Pane = f.Time, t.one[:], f.Pane
	t.out(e, x.Key, t.g.Fn.Result(x.Val.acc))
	e.Enter(t.st)
}

// settle does what else the pane says, and makes the hold of the key what its state says. Before, it held at a time, if at all.
func (t *aligned[K, V, A, R]) settle(w *opened[K, paned[A]], s *paned[A], f pane.Effect, before event.Time, held bool) {
	if f.Clear {
		s.acc = t.g.Fn.Zero()
	}
	if at, holds := s.Hold(); holds != held || holds && at != before {
		t.moveHold(w, before, held, at, holds)
	}
}

// setAlarm makes the alarm of a key what its state says.
func (t *aligned[K, V, A, R]) setAlarm(e *Elem, w *opened[K, paned[A]], x *store.Entry[K, paned[A]]) {
	if !t.g.Panes.Alarms() {
		return
	}
	at, ok := t.g.Panes.Alarm(&x.Val.State, e.Now)
	t.alarms.set(windowKey[K, A]{w, x}, &x.Val.alarm, at, ok)
}

// moveHold makes a key that has held at a time, if at all, hold at another.
func (t *aligned[K, V, A, R]) moveHold(w *opened[K, paned[A]], before event.Time, held bool, at event.Time, holds bool) {
	if held {
		w.held--
	}
	if holds {
		w.held++
	}
	if t.g.Panes.Time != pane.EndOfWindow {
		moveHold(&t.holds, t.st, before, held, at, holds)
	}
}

// apply gives out the pane of a key whose time has come, as the state says with what.
func (t *aligned[K, V, A, R]) apply(e *Elem, w *opened[K, paned[A]], x *store.Entry[K, paned[A]],
	with func(*pane.Strategy, *pane.State, event.Time, event.Time) pane.Effect) {
	t.at.firing = &x.Key
	before, held := x.Val.Hold()
	f := with(&t.g.Panes, &x.Val.State, t.in, e.Now)
	if f.Emit {
		t.emit(e, w, x, f)
	}
	t.settle(w, &x.Val, f, before, held)
	t.setAlarm(e, w, x)
}

// Advance implements [Reader].
func (t *aligned[K, V, A, R]) Advance(e *Elem, in event.Time) {
	at, wins, info := e.Time, e.Win, e.Pane
	t.pass(e, in, func(e *Elem, w *opened[K, paned[A]], expired bool) {
		if w.ended && !expired {
			return
		}
		w.ended = true
		w.t.Each(func(x *store.Entry[K, paned[A]], _ uint64) bool {
			t.apply(e, w, x, (*pane.Strategy).Watermark)
			return e.Err == nil && !e.stopped()
		})
	})
	t.at.firing = nil
	e.Time, e.Win, e.Pane = at, wins, info
	if len(t.wins) == 0 {
		t.alarms.all.Clear()
	}
}

// Alarm implements [Reader].
func (t *aligned[K, V, A, R]) Alarm() (event.Time, bool) { return t.alarms.next() }

// Clock implements [Reader].
func (t *aligned[K, V, A, R]) Clock(e *Elem) {
	at, wins, info := e.Time, e.Win, e.Pane
	e.Enter(t.st)
	for e.Err == nil && !e.stopped() {
		r, ok := t.alarms.pop(e.Now)
		if !ok {
			break
		}
		t.apply(e, r.w, r.x, (*pane.Strategy).Clock)
	}
	t.at.firing = nil
	e.Time, e.Win, e.Pane = at, wins, info
}

// aligned reports whether the table by windows may serve the grouping. Where windows may overlap, one by keys is faster: what an element
// touches lies together.
func (g *Group[K, V, A, R]) aligned(b *Binder) bool { return !b.General && g.Disjoint }
