package exec

import (
	"slices"

	"github.com/levadaflow/levada/coder/plan"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/graph"
	"github.com/levadaflow/levada/internal/store"
)

// View is what a side input has, window by window. All tasks of a run share it. It may be used by several goroutines at once.
type View interface {
	// Put makes content, which is never changed, that of a window. One task does so.
	Put(w event.Window, content any)
	// Get returns a window's content; ok is false if it has none.
	Get(w event.Window) (content any, ok bool)
	// Ask says that a task of a step with this view will not ask for windows that end before mark: those that nobody will ask for are
	// forgotten.
	Ask(st *Inst, mark event.Time)
}

// Announced says, to the steps that have the view as a side input, that there is a new content of a window.
type Announced struct{ Window event.Window }

// ViewOp is the step that makes panes K, V the contents of a view, as build says, and announces them. A pane that is empty says that nothing is
// new: it takes nothing away.
func ViewOp[K, V any](empty func(v V) bool, build func(v V) any) *ChainOp {
	return &ChainOp{Bind: func(b *Binder, st *Inst, outs []any) any {
		view, out := b.View(st.Step), outs[0].(Sink[Announced])
		return Sink[event.KV[K, V]](func(e *Elem, kv event.KV[K, V]) {
			e.Enter(st)
			content, nothing := build(kv.Value), empty(kv.Value)
			for _, w := range e.Win {
				if _, has := view.Get(w); nothing && has {
					continue
				}
				view.Put(w, content)
				out(e, Announced{w})
			}
		})
	}}
}

// SideInput is a view that a step has as a side input.
type SideInput struct {
	Step *graph.Step
	// Map returns the view's window for a window of the main input (beam-semantics 3.1).
	Map func(main event.Window) event.Window
	// Ready returns the watermark of the view at which its window is ready, also if it has no content (beam-semantics 3.7).
	Ready func(w event.Window) event.Time
}

// GateOp is a step in front of one with side inputs: elements wait in it until their windows of all side inputs are ready. Its
// inputs are the main one and those of sides, in their order. If forgets is true, views forget windows that no window of the main input can ask
// for: an element whose window has expired, latenessMs after its end, is dropped as late, for its side window may be gone.
func GateOp[T any](values *plan.Plan[T], sides []SideInput, forgets bool, latenessMs int64) *HeadOp {
	op := passOp(values.Hash, sameTask)
	return &HeadOp{
		Writer: op.Writer,
		Side:   sideWriter,
		Reader: func(b *Binder, st *Inst, outs []any) Reader {
			g := &gate[T]{
				st: st, out: outs[0].(Sink[T]), values: values, sum: SumOf(values.Hash), sides: make([]gateSide, len(sides)),
				waiting: map[event.Window]int{}, in: event.Min, forgets: forgets, latenessMs: latenessMs, late: b.Late(st, DroppedLate),
			}
			for i, s := range sides {
				g.sides[i] = gateSide{SideInput: s, view: b.View(s.Step), in: event.Min}
			}
			st.Hold = g.hold
			return g
		},
	}
}

// SideReader is a Reader with side inputs.
type SideReader interface {
	Reader
	// Announce is told of new contents of side input number side.
	Announce(e *Elem, side int, p Payload)
	// AdvanceSide is told that the watermark of a side input is now in.
	AdvanceSide(e *Elem, side int, in event.Time)
}

// gate is such a step in one task.
type gate[T any] struct {
	st         *Inst
	out        Sink[T]
	values     *plan.Plan[T]
	sum        func(T) uint64
	sides      []gateSide
	in         event.Time
	forgets    bool
	latenessMs int64
	late       *Late
	at         cursor[T]
	pending    []*gated[T]          // that wait, in the order in which they came
	waiting    map[event.Window]int // how many of them there are in a window
	holds      store.Queue          // by the element's time
	numbers    store.Numbers
	one        [1]event.Window
	_          Apart
}

type gateSide struct {
	SideInput
	view View
	in   event.Time
}

// gated is an element that waits, in one window.
type gated[T any] struct {
	v    T
	at   event.Time
	win  event.Window
	pane event.Pane
	n    uint32 // in holds
}

func (g *gate[T]) hold() (string, event.Time, bool) {
	_, at, ok := g.holds.First()
	return "side", at, ok
}

// ready reports whether all side inputs are ready for a window.
func (g *gate[T]) ready(w event.Window) bool {
	for i := range g.sides {
		s := &g.sides[i]
		side := s.Map(w)
		if s.in >= s.Ready(side) {
			continue
		}
		if _, ok := s.view.Get(side); !ok {
			return false
		}
	}
	return true
}

// Batch implements [Reader].
func (g *gate[T]) Batch(e *Elem, p Payload, from, to int) {
	g.at.each(e, g.st, g.sum, p, from, to, g.element)
}

// element passes an element on, or keeps it, in each of its windows.
func (g *gate[T]) element(e *Elem, v T) {
	wins := e.Win
	for i, w := range wins {
		if e.Err != nil {
			break
		}
		e.Win = wins[i : i+1 : i+1]
		switch {
		case g.forgets && w.Expiry(g.latenessMs) < g.in:
			g.late.Note(e, e.Time, g.in)
			continue
		case g.waiting[w] == 0 && g.ready(w): // others of the window go first, who are told in a moment
			g.out(e, v)
			continue
		}
		x := &gated[T]{g.values.Clone(v), e.Time, w, e.Pane, g.numbers.Take()}
		g.pending = append(g.pending, x)
		g.waiting[w]++
		g.holds.Set(x.n, x.at, 0)
	}
	e.Win = wins
}

// release passes on what waits no longer.
func (g *gate[T]) release(e *Elem) {
	if len(g.pending) == 0 {
		return
	}
	at, wins, info := e.Time, e.Win, e.Pane
	e.Win = g.one[:]
	known := map[event.Window]bool{}
	g.pending = slices.DeleteFunc(g.pending, func(x *gated[T]) bool {
		is, ok := known[x.win]
		if !ok {
			is = g.ready(x.win)
			known[x.win] = is
		}
		if !is || e.Err != nil || e.stopped() {
			return false
		}
		g.one[0], e.Time, e.Pane = x.win, x.at, x.pane
		g.out(e, x.v)
		g.holds.Remove(x.n)
		g.numbers.Give(x.n)
		if g.waiting[x.win]--; g.waiting[x.win] == 0 {
			delete(g.waiting, x.win)
		}
		return true
	})
	e.Time, e.Win, e.Pane = at, wins, info
}

// Announce implements [SideReader].
func (g *gate[T]) Announce(e *Elem, _ int, _ Payload) { g.release(e) }

// AdvanceSide implements [SideReader].
func (g *gate[T]) AdvanceSide(e *Elem, side int, in event.Time) {
	g.sides[side].in = in
	g.release(e)
}

// Advance implements [Reader]: nothing is due.
func (g *gate[T]) Advance(_ *Elem, in event.Time) { g.in = in }

// Alarm implements [Reader]: none.
func (*gate[T]) Alarm() (event.Time, bool) { return 0, false }

// Clock implements [Reader]: nothing is due.
func (*gate[T]) Clock(*Elem) {}

// Direct implements [Reader]: it never runs in the goroutine of another stage.
func (*gate[T]) Direct() any { return nil }

// Current implements [Reader].
func (g *gate[T]) Current() any { return g.at.current() }

// sideWriter is the sending end of a view: everybody is told.
func sideWriter(out Output) (any, Flusher) {
	w := &announcer{out: out, open: make([]*Batch[Announced], out.Receivers())}
	return Sink[Announced](w.push), w
}

type announcer struct {
	out  Output
	open []*Batch[Announced]
}

func (w *announcer) push(e *Elem, v Announced) {
	for to := range w.open {
		if w.open[to] == nil {
			p, ok := w.out.Take(to)
			if !ok {
				e.Err = ErrStopped
				return
			}
			if w.open[to], _ = p.(*Batch[Announced]); w.open[to] == nil {
				w.open[to] = &Batch[Announced]{}
			}
		}
		if w.open[to].add(e, v); w.open[to].Len() >= BatchSize {
			w.out.Send(to, w.open[to])
			w.open[to] = nil
		}
	}
}

// Flush implements [Flusher].
func (w *announcer) Flush(*Elem) {
	sendOpen(w.out, w.open)
}
