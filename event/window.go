package event

import (
	"cmp"
	"fmt"
	"strings"
)

// Window is a span of event time, [Start, End): Start belongs to it, End does not. It is comparable, and two windows are the
// same if and only if they are equal. The zero value is the empty window at the epoch; the global window is [Global].
type Window struct {
	Start, End Time
	label      string
}

// Global returns the window that contains every time up to and including EndOfGlobal. It also holds the elements after
// that, up to Max: it is the only window that does.
func Global() Window { return Window{Min, EndOfGlobal + 1, "global"} }

// Labelled returns the window with a label: windows of the same span with different labels are different windows, which end at
// the same time and never merge by themselves. It is for window functions that give elements windows by more than their time:
// event.Window{Start: s, End: e}.Labelled("eu"). The label "global" is taken.
func (w Window) Labelled(label string) Window { w.label = label; return w }

// Label returns the window's label, "" for most.
func (w Window) Label() string { return w.label }

// IsGlobal reports whether w is the global window.
func (w Window) IsGlobal() bool { return w.label == "global" }

// Last returns the window's last instant, End minus one millisecond (Beam's maxTimestamp).
func (w Window) Last() Time { return w.End - 1 }

// Contains reports whether t is in [Start, End). The global window contains every time.
func (w Window) Contains(t Time) bool { return w.Start <= t && t < w.End || w.IsGlobal() }

// Intersects reports whether the windows have a time in common. Windows that touch, [0,10) and [10,20), do not,
// and an empty one intersects none.
func (w Window) Intersects(o Window) bool { return max(w.Start, o.Start) < min(w.End, o.End) }

// Compare orders windows by end, then start, then label.
func (w Window) Compare(o Window) int {
	return cmp.Or(cmp.Compare(w.End, o.End), cmp.Compare(w.Start, o.Start), strings.Compare(w.label, o.label))
}

// Covers reports whether every time of o is in w too. Labels do not count.
func (w Window) Covers(o Window) bool { return w.Start <= o.Start && o.End <= w.End }

// Span returns the smallest window that covers both, with their label if they have the same one, else without.
func (w Window) Span(o Window) Window {
	s := Window{Start: min(w.Start, o.Start), End: max(w.End, o.End)}
	if w.label == o.label {
		s.label = w.label
	}
	return s
}

// Expiry returns the last watermark at which the window takes elements: its last instant plus the allowed lateness in
// milliseconds, not beyond the end of the global window. The window has expired when the watermark is greater
// (beam-semantics 3.4).
func (w Window) Expiry(latenessMillis int64) Time {
	return min(w.Last().Plus(latenessMillis), EndOfGlobal)
}

// String returns "global", or "[START, END)" with RFC 3339 times, and the label after it, if any.
func (w Window) String() string {
	switch {
	case w.IsGlobal():
		return "global"
	case w.label != "":
		return fmt.Sprintf("[%v, %v) %s", w.Start, w.End, w.label)
	}
	return fmt.Sprintf("[%v, %v)", w.Start, w.End)
}
