package exec

import (
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/graph"
	"github.com/levadaflow/levada/window"
)

// Grid are window functions whose windows follow from the time alone, one for each: a table finds them by itself.
type Grid interface {
	window.Fn
	// Grid returns size and offset in milliseconds.
	Grid() (size, offset event.Time)
}

// gridWindow returns the window of t, which is not after event.EndOfGlobal.
func gridWindow(t, size, offset event.Time) event.Window {
	r := (t - offset) % size
	if r < 0 {
		r += size
	}
	start := t - r
	return event.Window{Start: start, End: min(start+size, event.EndOfGlobal+1)}
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
