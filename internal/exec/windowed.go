package exec

import (
	"slices"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/graph"
	"github.com/levadaflow/levada/internal/store"
)

// windowed is what groupings in one task have in common whose windows do not merge: a table for each window, which the watermark
// walks when it passes the window's end. X is what is known of a key in a window.
type windowed[K comparable, V, A, R, X any] struct {
	g           *Group[K, V, A, R]
	st          *Inst
	out         Sink2[K, R]
	late        Sink2[K, V]
	in          event.Time
	take        func(e *Elem, w *opened[K, X], hash uint64, k K, v V) // takes an element into one window
	wins        []*opened[K, X]                                       // by end, then start and label
	last        *opened[K, X]                                         // the one that was used last
	near        [64]*opened[K, X]                                     // of a grid, by their number
	grid        *slicer                                               // nil if elements bring their windows
	pool        store.Pool[K, X]
	one         [1]event.Window
	at          atHand[K, V]
	droppedLate *Late
	noWindow    *Counter // of the window step, if there is a grid
	_           Apart
}

// atHand is the element or key at hand.
type atHand[K comparable, V any] struct {
	b      *keyedBatch[K, V]
	keys   []K // of partial results
	i      int // in either
	firing *K
}

// opened is an open window.
type opened[K comparable, X any] struct {
	w     event.Window
	ended bool // its pane has come out; it waits for late elements
	held  int  // keys that hold the watermark at its last instant, if they are counted
	t     *store.Table[K, X]
}

// has reports whether there is a window and a time is in it.
func (w *opened[K, X]) has(at event.Time) bool { return w != nil && w.w.Start <= at && at < w.w.End }

func (t *windowed[K, V, A, R, X]) init(g *Group[K, V, A, R], b *Binder, st *Inst, outs []any) {
	t.g, t.st, t.in = g, st, event.Min
	t.out, t.late = outs[0].(Sink2[K, R]), outs[1].(Sink2[K, V])
	t.droppedLate = b.Late(st, DroppedLate)
	if from := b.lazy(st.Step); from != nil {
		t.grid = new(newSlicer(g.Lazy))
		t.noWindow = b.counterOf(from, NoWindow)
	}
}

// Current implements [Reader].
func (t *windowed[K, V, A, R, X]) Current() any {
	switch c := &t.at; {
	case c.firing != nil:
		return *c.firing
	case c.b != nil && c.i < c.b.Len():
		return c.b.kv(c.i)
	case c.i < len(c.keys):
		return c.keys[c.i]
	}
	return nil
}

// Batch implements [Reader].
func (t *windowed[K, V, A, R, X]) Batch(e *Elem, p Payload, from, to int) {
	e.Enter(t.st)
	b := p.(*keyedBatch[K, V])
	t.at.b = b
	for i := from; i < to && e.Err == nil && !e.stopped(); i++ {
		t.at.i = i
		b.check(t.st, t.g.Sum, i)
		switch {
		case t.grid == nil:
			b.load(e, i)
			t.addEach(e, b.hash[i], b.keys[i], b.Vals[i])
		case t.last.has(b.Times[i]):
			e.Time = b.Times[i]
			t.take(e, t.last, b.hash[i], b.keys[i], b.Vals[i])
		default:
			e.Time = b.Times[i]
			t.add(e, b.hash[i], b.keys[i], b.Vals[i])
		}
	}
	t.at = atHand[K, V]{}
}

// Direct implements [Reader].
func (t *windowed[K, V, A, R, X]) Direct() any {
	return newPair(func(e *Elem, k K, v V) {
		e.Enter(t.st)
		t.add(e, t.g.Keys.Hash(k), k, v)
	})
}

// place implements [placer].
func (t *windowed[K, V, A, R, X]) place(e *Elem, st *Inst) {
	if st == t.st && t.grid != nil && t.at.firing == nil {
		e.Win = []event.Window{t.grid.slice(e.Time)}
	}
}

// stopped makes the bundle fail if the run is ending.
func (e *Elem) stopped() bool {
	if e.Run.Stopped() {
		e.Err = ErrStopped
		return true
	}
	return false
}

// add takes an element into its windows.
func (t *windowed[K, V, A, R, X]) add(e *Elem, hash uint64, k K, v V) {
	if t.grid == nil {
		t.addEach(e, hash, k, v)
		return
	}
	w := t.last
	if !w.has(e.Time) {
		if w = t.find(e, k, v); w == nil {
			return
		}
	}
	t.take(e, w, hash, k, v)
}

// find returns the element's window of the grid; nil if it is in none or has come too late.
func (t *windowed[K, V, A, R, X]) find(e *Elem, k K, v V) *opened[K, X] {
	if e.Time > event.EndOfGlobal {
		t.noWindow.Inc(1)
		return nil
	}
	w := t.grid.slice(e.Time)
	near := &t.near[uint64(w.Start/t.grid.size)%uint64(len(t.near))]
	if *near != nil && (*near).w.Start == w.Start && (*near).w.End == w.End {
		t.last = *near
		return t.last
	}
	if t.g.Panes.Expired(w, t.in) {
		t.one[0] = w
		wins := e.Win
		e.Win = t.one[:]
		t.drop(e, k, v)
		e.Win = wins
		return nil
	}
	t.last = t.open(w)
	*near = t.last
	return t.last
}

func (t *windowed[K, V, A, R, X]) drop(e *Elem, k K, v V) {
	t.droppedLate.Note(e, e.Time, t.in)
	t.late(e, k, v)
	e.Enter(t.st)
}

// addEach takes an element into each of the windows that it brings.
func (t *windowed[K, V, A, R, X]) addEach(e *Elem, hash uint64, k K, v V) {
	wins := e.Win
	for i, w := range wins {
		if e.Err != nil {
			break
		}
		e.Win = wins[i : i+1 : i+1]
		if t.g.Panes.Expired(w, t.in) {
			t.drop(e, k, v)
			continue
		}
		if t.last == nil || t.last.w != w {
			t.last = t.open(w)
		}
		t.take(e, t.last, hash, k, v)
	}
	e.Win = wins
}

// open returns the table of a window that has not expired.
func (t *windowed[K, V, A, R, X]) open(w event.Window) *opened[K, X] {
	at, found := slices.BinarySearchFunc(t.wins, w, func(x *opened[K, X], w event.Window) int { return x.w.Compare(w) })
	if found {
		return t.wins[at]
	}
	x := &opened[K, X]{w: w, ended: t.in > w.Last(), t: store.NewTable(t.g.cloner(), &t.pool)}
	t.wins = slices.Insert(t.wins, at, x)
	return x
}

// pass lets the input watermark pass to in: fire is called for each window that it has passed the end of, and those that have
// expired are forgotten.
func (t *windowed[K, V, A, R, X]) pass(e *Elem, in event.Time, fire func(e *Elem, w *opened[K, X], expired bool)) {
	t.in = in
	e.Enter(t.st)
	gone := 0
	for _, w := range t.wins {
		if w.w.Last() >= in {
			break
		}
		expired := t.g.Panes.Expired(w.w, in)
		if fire(e, w, expired); e.Err != nil {
			return
		}
		if expired {
			w.t.Reset()
			w.t = nil
			gone++
		}
	}
	if gone > 0 {
		t.wins = slices.Delete(t.wins, 0, gone)
		t.last = nil
		clear(t.near[:])
	}
	t.tidy()
}

// tidy gives memory back when nothing is open.
func (t *windowed[K, V, A, R, X]) tidy() {
	if len(t.wins) == 0 {
		t.pool = store.Pool[K, X]{}
	}
}

// lazily reports whether the grouping can find the windows by itself.
func (g *Group[K, V, A, R]) lazily() bool {
	if g.Lazy == nil || g.Panes.Merging {
		return false
	}
	s := newSlicer(g.Lazy)
	return s.period == s.size || g.sliced(&Binder{})
}

// counterOf declares a counter of a step of another stage.
func (b *Binder) counterOf(s *graph.Step, name string) *Counter {
	return b.Counter(&Inst{Step: s}, name)
}
