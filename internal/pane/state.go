package pane

import "github.com/levadaflow/levada/event"

// State is what is known of one window of one key. The zero value with its Window set is a window that has seen nothing.
type State struct {
	Window event.Window
	panes  int64      // fired so far
	onTime int64      // of these, the ones that were not early
	hold   event.Time // the time of the pane to come, if held
	held   bool
	counts bool // hold comes from elements; else it is the window's last instant
	fresh  bool // an element came since the last pane
	ended  bool // the watermark's passing of the end has been dealt with
	closed bool // the trigger has finished: nothing more comes in or out
	cells  []cell
}

// Reset returns a zero state with the memory of w, which must not be used again.
func (w *State) Reset() State { return State{cells: w.cells[:0]} }

// With returns w, which has no memory of its own yet, with that of old if it needs some.
func (w State) With(old State) State {
	if w.cells == nil {
		w.cells = old.cells
	}
	return w
}

// Arena is the memory of states, in large pieces, each of which lives as long as any of its states. The zero value is ready.
type Arena struct{ free []cell }

// arenaStates is the number of states in a piece.
const arenaStates = 64

// Init makes w the state of a window that has seen nothing.
func (s *Strategy) Init(w *State, of event.Window, a *Arena) {
	*w = State{Window: of}
	if s.isDefault {
		return
	}
	if len(a.free) < s.cells {
		a.free = make([]cell, arenaStates*s.cells)
	}
	w.cells, a.free = a.free[:s.cells:s.cells], a.free[s.cells:]
}

// Effect is what the caller has to do with a window's contents, in the order of the fields.
type Effect struct {
	Emit  bool       // emit the contents with Pane at Time
	Clear bool       // forget the contents
	Close bool       // forget the window
	Time  event.Time // of the pane
	Pane  event.Pane
}

// Hold returns the time at which the window keeps the step's output watermark back; ok is false if it does not.
func (w *State) Hold() (t event.Time, ok bool) { return w.hold, w.held }

// Expired reports whether elements of the window are too late for the input watermark in: strictly greater than its expiry
// (beam-semantics 3.4).
func (s *Strategy) Expired(w event.Window, in event.Time) bool {
	return w.Expiry(s.LatenessMillis) < in
}

// Due returns the smallest input watermark at which [Strategy.Watermark] has something to do for the window.
func (s *Strategy) Due(w *State) event.Time {
	if !w.ended {
		return w.Window.Last() + 1
	}
	return w.Window.Expiry(s.LatenessMillis) + 1
}

// Closed reports whether the trigger has finished in w: an element that comes is dropped.
func (w *State) Closed() bool { return w.closed }

// at makes a moment of the watermark in and the processing time now.
func (s *Strategy) at(w *State, in, now event.Time) moment {
	if len(w.cells) == 0 && !s.isDefault {
		if cap(w.cells) < s.cells {
			w.cells = make([]cell, s.cells)
		}
		w.cells = w.cells[:s.cells]
		clear(w.cells)
	}
	return moment{w, in, now}
}

// Element is to be called after an element at time t has been added to the contents of w, which has not expired and is not
// closed. now is the processing time.
func (s *Strategy) Element(w *State, t, in, now event.Time) Effect {
	w.fresh = true
	last := w.Window.Last()
	if in > last {
		w.ended = true // the first element came after the end: there is nothing to wait for
	} else {
		s.holdFor(w, t, in)
	}
	m := s.at(w, in, now)
	s.machine.element(m)
	if s.machine.ready(m) {
		return s.fire(m, false)
	}
	return Effect{}
}

// Alarm returns the processing time, after now, at which [Strategy.Clock] has something to do for the window; ok is false if there
// is none. An element changes it only if there is none or if its pane comes out.
func (s *Strategy) Alarm(w *State, now event.Time) (at event.Time, ok bool) {
	if s.isDefault || w.closed || len(w.cells) == 0 {
		return 0, false
	}
	return s.machine.alarm(moment{w: w, now: now})
}

// Alarms reports whether [Strategy.Alarm] ever has a time.
func (s *Strategy) Alarms() bool { return s.waits }

// Clock is to be called when processing time has reached the window's alarm.
func (s *Strategy) Clock(w *State, in, now event.Time) Effect {
	if m := s.at(w, in, now); !w.closed && s.machine.ready(m) {
		return s.fire(m, false)
	}
	return Effect{}
}

// holdFor takes the time of an element, in a window that has not ended, into the hold. An element which is behind the
// key's own watermark is in the pane, but its time does not count.
func (s *Strategy) holdFor(w *State, t, in event.Time) {
	last := w.Window.Last()
	own := in
	if w.held {
		own = min(own, w.hold)
	}
	if s.Time == EndOfWindow || t < own {
		if !w.held {
			w.hold, w.held = last, true
		}
		return
	}
	t = min(t, last)
	switch {
	case !w.counts:
		w.hold = t
	case s.Time == Earliest:
		w.hold = min(w.hold, t)
	default:
		w.hold = max(w.hold, t)
	}
	w.held, w.counts = true, true
}

// Watermark is to be called when the input watermark has reached Due(w).
func (s *Strategy) Watermark(w *State, in, now event.Time) Effect {
	if w.closed {
		w.ended = true
		return Effect{Close: s.Expired(w.Window, in)}
	}
	m := s.at(w, in, now)
	if s.Expired(w.Window, in) {
		e := s.fire(m, true)
		e.Close = true
		return e
	}
	if w.ended || in <= w.Window.Last() {
		return Effect{}
	}
	var e Effect
	if s.machine.ready(m) {
		e = s.fire(m, false)
	}
	w.ended = true
	return e
}

// fire makes the next pane, unless it would be an empty one that nobody asked for.
func (s *Strategy) fire(m moment, last bool) Effect {
	w := m.w
	timing := w.timing(m.in)
	if !last {
		s.machine.fire(m)
		if !s.isDefault && s.machine.done(m) {
			w.closed, last = true, true
		}
	}
	e := Effect{Clear: !s.Accumulating || w.closed, Time: w.Window.Last()}
	if w.counts {
		e.Time = w.hold
	}
	e.Emit = w.fresh || timing == event.OnTime && !s.OnTimeNonEmpty || last && s.ClosingAlways
	w.held, w.counts, w.fresh = false, false, false
	if !e.Emit {
		return e
	}
	e.Pane = event.Pane{Timing: timing, First: w.panes == 0, Last: last, Index: w.panes, OnTimeIndex: -1}
	w.panes++
	if timing != event.Early {
		e.Pane.OnTimeIndex = w.onTime
		w.onTime++
	}
	return e
}

// timing follows beam-semantics 3.6, with the key's own output watermark. While the passing of the window's end is being dealt
// with, that is still before it.
func (w *State) timing(in event.Time) event.Timing {
	own := in
	if w.held {
		own = min(own, w.hold)
	}
	if !w.ended {
		own = min(own, w.Window.Last())
	}
	switch {
	case w.onTime > 0 || own > w.Window.Last():
		return event.Late
	case in <= w.Window.Last():
		return event.Early
	}
	return event.OnTime
}
