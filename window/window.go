package window

import (
	"errors"
	"fmt"
	"time"

	"github.com/levadaflow/levada/event"
)

// ErrBadWindow is wrapped by what [Fn.Validate] returns.
var ErrBadWindow = errors.New("bad window function")

// Fn says which windows an element is in, by its time. One's own are made with [Func], or are types that implement Fn (Beam's
// WindowFn); where windows depend on more than the time, levada.WindowBy takes the place. A value has no state that changes and
// reads no clock: all tasks share it.
type Fn interface {
	// Validate returns what is wrong with the parameters, or nil. It should wrap ErrBadWindow.
	Validate() error
	// Assign appends the windows of an element at time t to dst: none, one, or several. t is in [event.Min, event.Max]. What
	// dst has is not touched and nothing of it is kept.
	//
	// The functions of this package give windows in the order of their starts and allocate only if dst is too small. A
	// function of one's own may give them in any order, and one of them twice, which counts once. Each of its windows must
	// contain t, Start <= t < End, or be event.Global(): anything else fails the run (levada.ErrNotInWindow). Where it
	// ends after the global window, it is cut there.
	Assign(dst []event.Window, t event.Time) []event.Window
	// Merging reports whether windows of a key may become one. Without a [Merger] those do that intersect and have the same
	// label: the smallest window that covers them takes their place, as with sessions.
	Merging() bool
	// Compatible reports whether a Flatten of collections with these two functions has a meaning: they are the same, or both
	// are sessions. It must not compare values of types that cannot be compared.
	Compatible(o Fn) bool
	// String returns the function as it is written in Go.
	String() string
}

// Merger is an [Fn] that says itself which windows of a key become one (Beam's WindowFn.mergeWindows).
type Merger interface {
	Fn
	// Merge is called, if Merging is true, when an element brings a window which its key does not have yet. windows are all
	// that the key has, the new one among them and those that wait for late elements too, by start, then end, then label.
	// Merge calls merge once for each set of windows that become the window into. The rules: parts are among windows, and
	// each is in one set only; into covers every part and is new or one of the parts. A rule that is broken fails the run
	// (levada.ErrBadMerge). What is in no set stays as it is.
	//
	// Merge must depend on nothing but windows, and must not keep them.
	Merge(windows []event.Window, merge func(parts []event.Window, into event.Window))
}

type global struct{}

// Global puts every element into the one global window. It is what a collection has at first.
func Global() Fn { return global{} }

func (global) Validate() error { return nil }
func (global) Assign(dst []event.Window, _ event.Time) []event.Window {
	return append(dst, event.Global())
}
func (global) Merging() bool        { return false }
func (global) Compatible(o Fn) bool { return o == Fn(global{}) }
func (global) String() string       { return "window.Global()" }

// FixedWindows are windows of one size, one after the other. See [Fixed].
type FixedWindows struct{ size, offset time.Duration }

// Fixed cuts time into windows of the given size, which start at multiples of it since the epoch. The size is at least 1 ms
// and a whole number of milliseconds. (Beam's FixedWindows; that one is wrong before 1970, this one is not.)
func Fixed(size time.Duration) FixedWindows { return FixedWindows{size: size} }

// Offset moves all boundaries forward by d: 0 <= d < size, in whole milliseconds.
func (f FixedWindows) Offset(d time.Duration) FixedWindows { f.offset = d; return f }

// Validate implements [Fn].
func (f FixedWindows) Validate() error {
	if err := span(f, "size", f.size); err != nil {
		return err
	}
	return offset(f, "size", f.offset, f.size)
}

// Assign implements [Fn]: one window; none for a time after event.EndOfGlobal. The last window ends with the global one.
func (f FixedWindows) Assign(dst []event.Window, t event.Time) []event.Window {
	if t > event.EndOfGlobal {
		return dst
	}
	size := event.Time(f.size / time.Millisecond)
	start := t.Floor(size, event.Time(f.offset/time.Millisecond))
	return append(dst, event.Window{Start: start, End: capped(start, size)})
}

// Grid returns size, period and offset in milliseconds: the period is the size.
func (f FixedWindows) Grid() (size, period, offset event.Time) {
	size = event.Time(f.size / time.Millisecond)
	return size, size, event.Time(f.offset / time.Millisecond)
}

// Merging implements [Fn]: false.
func (f FixedWindows) Merging() bool { return false }

// Compatible implements [Fn]: only with an equal one.
func (f FixedWindows) Compatible(o Fn) bool { return o == Fn(f) }

// String implements [Fn].
func (f FixedWindows) String() string {
	if f.offset != 0 {
		return fmt.Sprintf("window.Fixed(%v).Offset(%v)", f.size, f.offset)
	}
	return fmt.Sprintf("window.Fixed(%v)", f.size)
}

// SlidingWindows are windows of one size, one starting every period. See [Sliding].
type SlidingWindows struct{ size, period, offset time.Duration }

// Sliding gives windows of the given size, one of which starts at every multiple of period since the epoch. An element is in
// floor or ceil of size/period windows. A period greater than the size leaves gaps: an element in a gap is in no window, and
// vanishes at the window step, counted as no_window. Both are at least 1 ms and whole milliseconds. (Beam's SlidingWindows.)
func Sliding(size, period time.Duration) SlidingWindows {
	return SlidingWindows{size: size, period: period}
}

// Offset moves all boundaries forward by d: 0 <= d < period, in whole milliseconds.
func (s SlidingWindows) Offset(d time.Duration) SlidingWindows { s.offset = d; return s }

// Validate implements [Fn].
func (s SlidingWindows) Validate() error {
	if err := span(s, "size", s.size); err != nil {
		return err
	}
	if err := span(s, "period", s.period); err != nil {
		return err
	}
	return offset(s, "period", s.offset, s.period)
}

// Assign implements [Fn].
func (s SlidingWindows) Assign(dst []event.Window, t event.Time) []event.Window {
	if t > event.EndOfGlobal {
		return dst
	}
	size, period := event.Time(s.size/time.Millisecond), event.Time(s.period/time.Millisecond)
	last := t.Floor(period, event.Time(s.offset/time.Millisecond))
	first := last
	if back := t - size + 1; last >= back { // the first start that is > t - size
		first = last - (last-back)/period*period
	} else {
		return dst
	}
	for start := first; start <= last; start += period {
		dst = append(dst, event.Window{Start: start, End: capped(start, size)})
	}
	return dst
}

// Grid returns size, period and offset in milliseconds.
func (s SlidingWindows) Grid() (size, period, offset event.Time) {
	return event.Time(s.size / time.Millisecond), event.Time(s.period / time.Millisecond), event.Time(s.offset / time.Millisecond)
}

// Merging implements [Fn]: false.
func (s SlidingWindows) Merging() bool { return false }

// Compatible implements [Fn]: only with an equal one.
func (s SlidingWindows) Compatible(o Fn) bool { return o == Fn(s) }

// String implements [Fn].
func (s SlidingWindows) String() string {
	if s.offset != 0 {
		return fmt.Sprintf("window.Sliding(%v, %v).Offset(%v)", s.size, s.period, s.offset)
	}
	return fmt.Sprintf("window.Sliding(%v, %v)", s.size, s.period)
}

// SessionWindows grow with the elements of a key that are close to each other. See [Sessions].
type SessionWindows struct{ gap time.Duration }

// Sessions gives each element the window [time, time+gap); a grouping step merges the windows of a key that intersect.
// Windows that only touch stay apart. The gap is at least 1 ms and a whole number of milliseconds. (Beam's Sessions.)
func Sessions(gap time.Duration) SessionWindows { return SessionWindows{gap: gap} }

// Validate implements [Fn].
func (s SessionWindows) Validate() error { return span(s, "gap", s.gap) }

// Assign implements [Fn]: one window; none for a time after event.EndOfGlobal.
func (s SessionWindows) Assign(dst []event.Window, t event.Time) []event.Window {
	if t > event.EndOfGlobal {
		return dst
	}
	return append(dst, event.Window{Start: t, End: capped(t, event.Time(s.gap/time.Millisecond))})
}

// Merging implements [Fn]: true.
func (s SessionWindows) Merging() bool { return true }

// Compatible implements [Fn]: with all sessions, whatever their gap.
func (s SessionWindows) Compatible(o Fn) bool { _, ok := o.(SessionWindows); return ok }

// String implements [Fn].
func (s SessionWindows) String() string { return fmt.Sprintf("window.Sessions(%v)", s.gap) }

// capped returns the end of a window, which is never after the end of the global one.
func capped(start, size event.Time) event.Time { return min(start+size, event.EndOfGlobal+1) }

func span(f Fn, what string, d time.Duration) error {
	if d < time.Millisecond || d%time.Millisecond != 0 {
		return fmt.Errorf("%w: %v: the %s must be at least 1ms and whole milliseconds", ErrBadWindow, f, what)
	}
	return nil
}

func offset(f Fn, what string, d, limit time.Duration) error {
	if d < 0 || d >= limit || d%time.Millisecond != 0 {
		return fmt.Errorf("%w: %v: the offset must be 0 <= offset < %s, in whole milliseconds", ErrBadWindow, f, what)
	}
	return nil
}
