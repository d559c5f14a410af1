package pane

import "github.com/levadaflow/levada/event"

// Extend makes w the window span, which it is a part of, and reports whether that is all there is to a merge with a window that has
// seen nothing: it is while no pane has come out, for what is merged starts anew.
func (s *Strategy) Extend(w *State, span event.Window) bool {
	if w.Window == span {
		return true
	}
	if w.panes > 0 || w.ended || !s.isDefault {
		return false
	}
	w.Window = span
	if w.held && !w.counts {
		w.hold = span.Last()
	}
	return true
}

// Merge returns the state of the window that olds have become. The panes of windows that are merged away are forgotten; if one of
// olds is the window itself, it goes on counting (beam-semantics 3.5).
func (s *Strategy) Merge(window event.Window, olds []*State, in, now event.Time) State {
	w := State{Window: window}
	for _, o := range olds {
		if o.Window == window {
			w.panes, w.onTime, w.ended = o.panes, o.onTime, o.ended
		}
	}
	last := window.Last()
	for _, o := range olds {
		w.fresh = w.fresh || o.fresh
		if !o.held {
			continue
		}
		switch {
		case !o.counts:
			if !w.counts {
				w.hold = last
			}
		case !w.counts:
			w.hold, w.counts = o.hold, true
		case s.Time == Earliest:
			w.hold = min(w.hold, o.hold)
		default:
			w.hold = max(w.hold, o.hold)
		}
		w.held = true
	}
	w.ended = w.ended || in > last
	if s.isDefault {
		return w
	}
	m := s.at(&w, in, now)
	w.closed = true
	for _, o := range olds {
		s.at(o, in, now)
		w.closed = w.closed && o.closed
	}
	s.machine.merge(m, olds)
	return w
}
