package levada

import (
	"fmt"
	"math"
	"time"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/internal/invariants"
	"github.com/levadaflow/levada/internal/pane"
	"github.com/levadaflow/levada/trigger"
	"github.com/levadaflow/levada/window"
)

// Accumulation says whether a window's later panes repeat what earlier ones had.
type Accumulation uint8

// The zero Accumulation is inherited from the input; it must be known where a window can fire more than once.
const (
	_            Accumulation = iota
	Discarding                // a pane has what came since the last one
	Accumulating              // a pane has all that is in the window
)

// OutputTime says which time a grouping gives its results (Beam's TimestampCombiner).
type OutputTime uint8

// Of a pane's elements only those count which were not behind the watermark when they came; if none counts, it is the
// window's last instant. A time is never after that (beam-semantics 1.9).
const (
	EndOfWindow OutputTime = iota // the window's last instant
	Earliest                      // the smallest time in the pane
	Latest                        // the greatest
)

// Firing says what happens to a pane that has no new elements.
type Firing uint8

// The zero Firing is the default of its field.
const (
	_        Firing = iota
	Always          // emit it
	NonEmpty        // do not
)

// AnyLateness is an allowed lateness without end: nothing is ever too late, and no window is ever forgotten.
const AnyLateness time.Duration = math.MaxInt64

// Windowing says how a collection is cut into windows and when their results come out. The zero value changes nothing but the
// trigger.
type Windowing struct {
	// Windows assigns windows by the elements' times; nil keeps those they have. See WindowBy for windows that depend on more.
	Windows window.Fn
	// AllowedLateness says for how long after the watermark has passed its end a window takes elements, in whole
	// milliseconds. It only grows: the greater of this and the input's counts.
	AllowedLateness time.Duration
	// Trigger says when panes come out; nil is trigger.Default{}. It is never inherited.
	Trigger trigger.Trigger
	// Accumulation is inherited if it is not set. It must be known where a window can fire more than once: with an
	// AllowedLateness in windows that are not global, or with a trigger that is not trigger.Default{},
	// trigger.AfterWatermark{} or trigger.Never{}.
	Accumulation Accumulation
	// OutputTime says which time results have; the default is EndOfWindow. It is never inherited.
	OutputTime OutputTime
	// Closing says whether the last pane, when a window expires, comes even if it is empty; the default is NonEmpty.
	Closing Firing
	// OnTime says whether the pane at the window's end comes even if it has nothing new; the default is Always.
	OnTime Firing
}

// strategy is the windowing of a collection, complete.
type strategy struct {
	windows      window.Fn
	merged       bool // merging windows that a grouping has merged: plain intervals now
	latenessMs   int64
	trigger      trigger.Trigger
	accumulation Accumulation
	outputTime   OutputTime
	closing      Firing
	onTime       Firing
	broken       bool // reported already: what follows from it is not
}

// initial is the windowing of a collection that no window step has touched.
var initial = &strategy{windows: window.Global(), trigger: trigger.Default{}}

// WindowInto gives elements their windows, and what is grouped behind it the rest of w. Times and panes stay. An element that
// is in no window (in a gap of sliding windows, or after event.EndOfGlobal in windows that are not global) ends here; it is
// counted as no_window. A window of the user's own function that does not contain its element fails the run with ErrNotInWindow.
func WindowInto[T any](in PCollection[T], name string, w Windowing) PCollection[T] {
	p := in.owner(name)
	path := p.path(name)
	s := in.windowing.step(p, path, w)
	if c, ok := w.Windows.(interface{ ByTime() bool }); ok && !c.ByTime() && !s.broken {
		p.problem(path, fmt.Errorf("%w: %v: these windows depend on the element: use WindowBy", ErrBadWindow, w.Windows))
		s.windows, s.broken = window.Global(), true
	}
	fn := w.Windows
	out := chain(in, name, func(b *exec.Binder, st *exec.Inst, out exec.Sink[T]) exec.Sink[T] {
		if fn == nil || b.Lazy(st) {
			return out
		}
		return assign(fn, st, b.Counter(st, exec.NoWindow), out)
	})
	op := out.port.Step.Op.(*exec.ChainOp)
	op.Window, op.Blind = fn, fn == nil
	out.windowing = s
	return out
}

// WindowBy gives elements windows that depend on more than their time: fn appends those of the element v at time t to dst, by the
// rules of [window.Fn]'s Assign. It is shared by all tasks, is called once for each element, and must depend on nothing but v and
// t. (Beam's WindowFn with an AssignContext; Flink's WindowAssigner.) No window, one that does not contain its element, times
// and panes: as for [WindowInto].
//
// Windows of w is nil, or window.ByElement with a name of the windows: where they merge, or where collections of two such steps
// are flattened. The rest of w is as for WindowInto.
func WindowBy[T any](in PCollection[T], name string, fn func(dst []event.Window, v T, t event.Time) []event.Window,
	w Windowing) PCollection[T] {
	p := in.owner(name)
	p.needs(name, fn != nil)
	path := p.path(name)
	if w.Windows == nil {
		w.Windows = window.ByElement(path)
	} else if c, ok := w.Windows.(interface{ ByTime() bool }); !ok || c.ByTime() {
		p.problem(path, fmt.Errorf("%w: %v: the step's function gives the windows: use window.ByElement, or nothing", ErrBadWindow,
			w.Windows))
		w.Windows = window.ByElement(path)
	}
	s := in.windowing.step(p, path, w)
	out := chain(in, name, func(b *exec.Binder, st *exec.Inst, out exec.Sink[T]) exec.Sink[T] {
		return assignOwn(fn, st, b.Counter(st, exec.NoWindow), out)
	})
	out.windowing = s
	return out
}

// step is the strategy after the window step with that path, whose problems it reports.
func (s *strategy) step(p *Pipeline, path string, w Windowing) *strategy {
	n := s.with(w)
	if w.Windows != nil {
		if err := w.Windows.Validate(); err != nil {
			p.problem(path, err)
			n.windows, n.broken = window.Global(), true
		}
	}
	if w.AllowedLateness < 0 || w.AllowedLateness%time.Millisecond != 0 && w.AllowedLateness != AnyLateness {
		p.problem(path, fmt.Errorf("%w: %v: it must not be negative, and whole milliseconds", ErrBadLateness, w.AllowedLateness))
	} else if err := new(pane.Strategy).SetTrigger(n.trigger); err != nil {
		p.problem(path, err)
		n.trigger = trigger.Default{}
	} else if n.accumulation == 0 && n.several() {
		p.problem(path, fmt.Errorf("%w: a window can fire more than once: say Discarding or Accumulating", ErrAccumulationUnset))
	}
	return n
}

// builtIn reports whether fn is one of package window, whose windows are right by construction.
func builtIn(fn window.Fn) bool {
	switch fn.(type) {
	case window.FixedWindows, window.SlidingWindows, window.SessionWindows, window.CalendarWindows:
		return true
	}
	return fn == window.Global()
}

// assign gives elements the windows of fn.
func assign[T any](fn window.Fn, st *exec.Inst, gaps *exec.Counter, out exec.Sink[T]) exec.Sink[T] {
	if !builtIn(fn) {
		return assignOwn(func(dst []event.Window, _ T, t event.Time) []event.Window { return fn.Assign(dst, t) }, st, gaps, out)
	}
	var buf []event.Window
	return func(e *exec.Elem, v T) {
		buf = fn.Assign(buf[:0], e.Time)
		if len(buf) == 0 {
			gaps.Inc(1)
			return
		}
		if invariants.Enabled {
			for _, w := range buf {
				invariants.Check(w.Contains(e.Time), "%v puts %v into %v", fn, e.Time, w)
			}
		}
		wins := e.Win
		e.Win = buf
		out(e, v)
		e.Win = wins
	}
}

// assignOwn gives elements the windows of a user's function, after a look at them.
func assignOwn[T any](fn func(dst []event.Window, v T, t event.Time) []event.Window, st *exec.Inst, gaps *exec.Counter,
	out exec.Sink[T]) exec.Sink[T] {
	var given, buf []event.Window // two: what fn returns may be memory of its own
	return func(e *exec.Elem, v T) {
		e.Enter(st)
		got := fn(given[:0], v, e.Time)
		if len(got) > cap(given) {
			given = make([]event.Window, 0, 2*len(got))
		}
		var err error
		if buf, err = exec.OwnWindows(buf, got, e.Time); err != nil {
			e.Fail(st, v, err)
			return
		}
		if len(buf) == 0 {
			gaps.Inc(1)
			return
		}
		wins := e.Win
		e.Win = buf
		out(e, v)
		e.Win = wins
	}
}

// several reports whether a window can have more than one pane.
func (s *strategy) several() bool {
	switch s.trigger {
	case trigger.Default{}, trigger.AfterWatermark{}, trigger.Never{}:
		return s.latenessMs > 0 && s.windows != window.Global()
	}
	return true
}

// losesData reports whether the trigger can finish while elements may still come, and that was not said to be meant.
func (s *strategy) losesData() bool {
	switch s.trigger.(type) {
	case trigger.MayLoseData:
		return false
	case trigger.AfterWatermark:
		return s.trigger.MayFinish() && s.latenessMs > 0 && s.windows != window.Global()
	}
	return s.trigger.MayFinish()
}

// with returns the strategy after a window step.
func (s *strategy) with(w Windowing) *strategy {
	n := *s
	n.trigger, n.outputTime, n.closing, n.onTime = w.Trigger, w.OutputTime, w.Closing, w.OnTime
	if n.trigger == nil {
		n.trigger = trigger.Default{}
	}
	if w.Windows != nil {
		n.windows, n.merged, n.broken = w.Windows, false, false
	}
	ms := event.FloorMillis(w.AllowedLateness)
	if w.AllowedLateness == AnyLateness {
		ms = math.MaxInt64
	}
	n.latenessMs = max(n.latenessMs, ms)
	if w.Accumulation != 0 {
		n.accumulation = w.Accumulation
	}
	return &n
}

// panes is what a grouping of a collection with this strategy does.
func (s *strategy) panes() (pane.Strategy, error) {
	p := pane.Strategy{
		Merging: s.windows.Merging() && !s.merged, LatenessMillis: s.latenessMs, Accumulating: s.accumulation == Accumulating,
		Time: pane.TimeCombiner(s.outputTime), ClosingAlways: s.closing == Always, OnTimeNonEmpty: s.onTime == NonEmpty,
	}
	return p, p.SetTrigger(s.trigger)
}

// grouped is the strategy of a grouping's output.
func (s *strategy) grouped() *strategy {
	n := *s
	n.merged = n.merged || n.windows.Merging()
	n.trigger = n.trigger.Continuation()
	return &n
}

// compatible reports whether collections with both strategies may be flattened.
func (s *strategy) compatible(o *strategy) bool {
	return s.windows.Compatible(o.windows) && s.merged == o.merged && s.trigger.String() == o.trigger.String()
}
