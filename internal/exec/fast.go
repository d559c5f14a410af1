package exec

import (
	"slices"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/graph"
	"github.com/levadaflow/levada/internal/pane"
	"github.com/levadaflow/levada/internal/store"
)

// fast is a grouping in one task for windows that do not merge and the default trigger: a table for each window, which the watermark
// walks when it passes the window's end. It gives what [table] gives; all that it knows of a key besides its accumulator is
// the number of panes.
type fast[K comparable, V, A, R any] struct {
	g           *Group[K, V, A, R]
	st          *Inst
	out         Sink2[K, R]
	late        Sink2[K, V]
	in          event.Time
	wins        []*fastWindow[K, A]   // by end, then start and label
	last        *fastWindow[K, A]     // the one that was used last, of a grid
	near        [64]*fastWindow[K, A] // of a grid, by their number
	grid        *slicer               // nil if elements bring their windows
	pool        store.Pool[K, A]
	one         [1]event.Window
	at          fastCursor[K, V, A]
	droppedLate *Late
	noWindow    *Counter // of the window step, if there is a grid
	_           Apart
}

// fastCursor is the element or key at hand.
type fastCursor[K comparable, V, A any] struct {
	b *keyedBatch[K, V]
	p *accBatch[K, A]
	s *store.Entry[K, A]
	i int
}

// fastWindow is an open window.
type fastWindow[K comparable, A any] struct {
	w     event.Window
	ended bool // its pane has come out; it waits for late elements
	t     *store.Table[K, A]
}

func newFast[K comparable, V, A, R any](g *Group[K, V, A, R], b *Binder, st *Inst, outs []any) *fast[K, V, A, R] {
	t := &fast[K, V, A, R]{
		g: g, st: st, in: event.Min, out: outs[0].(Sink2[K, R]), late: outs[1].(Sink2[K, V]),
		droppedLate: b.Late(st, DroppedLate),
	}
	if from := b.lazy(st.Step); from != nil {
		t.grid = new(newSlicer(g.Lazy))
		t.noWindow = b.counterOf(from, NoWindow)
	}
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

// Current implements [Reader].
func (t *fast[K, V, A, R]) Current() any {
	switch c := &t.at; {
	case c.s != nil:
		return c.s.Key
	case c.b != nil && c.i < c.b.Len():
		return c.b.kv(c.i)
	case c.p != nil && c.i < c.p.Len():
		return c.p.keys[c.i]
	}
	return nil
}

// Batch implements [Reader].
func (t *fast[K, V, A, R]) Batch(e *Elem, p Payload, from, to int) {
	e.Enter(t.st)
	switch b := p.(type) {
	case *keyedBatch[K, V]:
		t.at.b = b
		for i := from; i < to && e.Err == nil && !e.stopped(); i++ {
			t.at.i = i
			b.check(t.st, t.g.Sum, i)
			if t.grid != nil {
				e.Time = b.Times[i]
			} else {
				b.load(e, i)
			}
			t.add(e, b.hash[i], b.keys[i], b.Vals[i])
		}
	case *accBatch[K, A]:
		t.at.p = b
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
	}
	t.at = fastCursor[K, V, A]{}
}

// Direct implements [Reader].
func (t *fast[K, V, A, R]) Direct() any {
	return newPair(func(e *Elem, k K, v V) {
		e.Enter(t.st)
		t.add(e, t.g.Keys.Hash(k), k, v)
	})
}

// Alarm implements [Reader]: none.
func (t *fast[K, V, A, R]) Alarm() (event.Time, bool) { return 0, false }

// Clock implements [Reader]: nothing is due.
func (t *fast[K, V, A, R]) Clock(*Elem) {}

// place implements [placer].
func (t *fast[K, V, A, R]) place(e *Elem, st *Inst) {
	if st == t.st && t.grid != nil && t.at.s == nil {
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
func (t *fast[K, V, A, R]) add(e *Elem, hash uint64, k K, v V) {
	if t.grid == nil {
		t.addEach(e, hash, k, v)
		return
	}
	w := t.last
	if w == nil || e.Time < w.w.Start || e.Time >= w.w.End {
		if w = t.find(e, k, v); w == nil {
			return
		}
	}
	t.addTo(e, w, hash, k, v)
}

// find returns the element's window of the grid; nil if it is in none or has come too late.
func (t *fast[K, V, A, R]) find(e *Elem, k K, v V) *fastWindow[K, A] {
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

func (t *fast[K, V, A, R]) drop(e *Elem, k K, v V) {
	t.droppedLate.Note(e, e.Time, t.in)
	t.late(e, k, v)
	e.Enter(t.st)
}

// addEach takes an element into each of the windows that it brings.
func (t *fast[K, V, A, R]) addEach(e *Elem, hash uint64, k K, v V) {
	wins := e.Win
	for i, w := range wins {
		if e.Err != nil {
			break
		}
		if t.g.Panes.Expired(w, t.in) {
			e.Win = wins[i : i+1 : i+1]
			t.drop(e, k, v)
			continue
		}
		if t.last == nil || t.last.w != w {
			t.last = t.open(w)
		}
		t.addTo(e, t.last, hash, k, v)
	}
	e.Win = wins
}

// open returns the table of a window that has not expired.
func (t *fast[K, V, A, R]) open(w event.Window) *fastWindow[K, A] {
	at, found := slices.BinarySearchFunc(t.wins, w, func(x *fastWindow[K, A], w event.Window) int { return x.w.Compare(w) })
	if found {
		return t.wins[at]
	}
	x := &fastWindow[K, A]{w: w, ended: t.in > w.Last(), t: store.NewTable(t.g.cloner(), &t.pool)}
	t.wins = slices.Insert(t.wins, at, x)
	return x
}

// addTo takes an element into one window. After the window's end its pane comes out at once.
func (t *fast[K, V, A, R]) addTo(e *Elem, w *fastWindow[K, A], hash uint64, k K, v V) {
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
func (t *fast[K, V, A, R]) emit(e *Elem, w *fastWindow[K, A], x *store.Entry[K, A], p event.Pane) {
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
	t.in = in
	e.Enter(t.st)
	gone := 0
	for _, w := range t.wins {
		if w.w.Last() >= in {
			break
		}
		expired := t.g.Panes.Expired(w.w, in)
		if !w.ended {
			t.fire(e, w, event.Pane{Timing: event.OnTime, First: true, Last: expired})
		}
		if e.Err != nil {
			return
		}
		if expired {
			w.t.Reset()
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
func (t *fast[K, V, A, R]) tidy() {
	if len(t.wins) == 0 {
		t.pool = store.Pool[K, A]{}
	}
}

// fire gives out the on-time panes of a window.
func (t *fast[K, V, A, R]) fire(e *Elem, w *fastWindow[K, A], p event.Pane) {
	at, wins, info := e.Time, e.Win, e.Pane
	w.ended = true
	t.one[0] = w.w
	e.Time, e.Win, e.Pane = w.w.Last(), t.one[:], p
	keep := !p.Last
	w.t.Each(func(x *store.Entry[K, A], _ uint64) bool {
		t.at.s = x
		t.out(e, x.Key, t.g.Fn.Result(x.Val))
		e.Enter(t.st)
		if keep {
			if x.Panes++; !t.g.Panes.Accumulating {
				x.Val = t.g.Fn.Zero()
			}
		}
		return e.Err == nil && !e.stopped()
	})
	t.at.s = nil
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

// lazily reports whether the grouping can find the windows by itself.
func (g *Group[K, V, A, R]) lazily() bool {
	if g.Lazy == nil || !g.fast(&Binder{}) {
		return false
	}
	s := newSlicer(g.Lazy)
	return s.period == s.size || g.sliced(&Binder{})
}

// fast reports whether the fast table may serve the grouping.
func (g *Group[K, V, A, R]) fast(b *Binder) bool {
	p := &g.Panes
	return !b.General && !p.Merging && p.Time == pane.EndOfWindow && !p.ClosingAlways && p.Default()
}

// counterOf declares a counter of a step of another stage.
func (b *Binder) counterOf(s *graph.Step, name string) *Counter {
	return b.Counter(&Inst{Step: s}, name)
}
