package exec

import (
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/graph"
	"github.com/levadaflow/levada/window"
)

// Grid are window functions whose windows follow from the time alone, and are all of one size: a table finds them by itself.
type Grid interface {
	window.Fn
	// Grid returns size, period and offset in milliseconds. The period is the size if windows do not overlap.
	Grid() (size, period, offset event.Time)
}

// GridOf returns fn as a Grid, nil if it is none. A type of the user's may have a Grid method without meaning it, by embedding one of
// package window, so only those themselves count.
func GridOf(fn window.Fn) Grid {
	switch fn := fn.(type) {
	case window.FixedWindows:
		return fn
	case window.SlidingWindows:
		return fn
	}
	return nil
}

// Disjoint reports whether fn is known to give no time more than one window, and not to merge.
func Disjoint(fn window.Fn) bool {
	switch fn := fn.(type) {
	case window.FixedWindows, window.CalendarWindows:
		return true
	case window.SlidingWindows:
		size, period, _ := fn.Grid()
		return size <= period
	}
	return fn == window.Global()
}

// slicer cuts time into the largest pieces that no window begins or ends in. If windows do not overlap these are the windows.
type slicer struct {
	size, period, offset event.Time
	rest                 event.Time // of size, in periods: where windows end
}

func newSlicer(g Grid) slicer {
	s := slicer{}
	s.size, s.period, s.offset = g.Grid()
	s.rest = s.size % s.period
	return s
}

// overlapping reports whether an element is in several windows.
func (s *slicer) overlapping() bool { return s.period < s.size }

// slice returns the slice of t, which is not after event.EndOfGlobal.
func (s *slicer) slice(t event.Time) event.Window {
	start := t.Floor(s.period, s.offset)
	end := start + s.period
	if s.rest > 0 {
		b := t.Floor(s.period, s.offset+s.rest)
		start, end = max(start, b), min(end, b+s.period)
	}
	return event.Window{Start: start, End: min(end, event.EndOfGlobal+1)}
}

// window returns the window that begins at start.
func (s *slicer) window(start event.Time) event.Window {
	return event.Window{Start: start, End: min(start+s.size, event.EndOfGlobal+1)}
}

// first returns the start of the first window that contains the slice.
func (s *slicer) first(slice event.Window) event.Time {
	return (slice.End-1-s.size).Floor(s.period, s.offset) + s.period
}

// lazy returns the window step whose windows the grouping step head computes by itself, nil if there is none: between the two
// there are only steps that neither look at windows nor change times, and nobody else reads any of them.
func (b *Binder) lazy(head *graph.Step) *graph.Step {
	op, ok := head.Op.(*HeadOp)
	if !ok || op.Lazy == nil || b.General || len(head.Inputs) != 1 {
		return nil
	}
	if first := head.Inputs[0].Step; first.Stage.Head.Kind != graph.Root && len(head.Readers(1)) > 0 {
		return nil // late elements may have panes, which are not sent then
	}
	for s := head.Inputs[0].Step; ; s = s.Inputs[0].Step {
		c, ok := s.Op.(*ChainOp)
		if !ok || len(s.Inputs) != 1 || readers(s) != 1 {
			return nil
		}
		if c.Window != nil {
			if c.Window == window.Fn(op.Lazy) {
				return s
			}
			return nil
		}
		if !c.Blind {
			return nil
		}
	}
}

// Lazy reports whether the windows of a window step are computed by the table behind it, so that the step has nothing to do.
func (b *Binder) Lazy(st *Inst) bool {
	for s := st.Step; ; {
		var next *graph.Step
		for o := range s.Outputs {
			for _, r := range s.Readers(o) {
				if next != nil {
					return false
				}
				next = r.Step
			}
		}
		if next == nil {
			return false
		}
		if next.Stage != s.Stage {
			return b.lazy(next) == st.Step
		}
		s = next
	}
}

func readers(s *graph.Step) int {
	n := 0
	for o := range s.Outputs {
		n += len(s.Readers(o))
	}
	return n
}
