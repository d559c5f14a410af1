package event

import "fmt"

// Timing says when a pane was fired, relative to the watermark and the end of its window.
type Timing uint8

// The order is Beam's on the wire (beam-semantics 1.2).
const (
	Early   Timing = iota // before the watermark had passed the window's end: speculative
	OnTime                // when the watermark passed the window's end; at most one per key and window
	Late                  // after that
	Unknown               // the element was never fired by a trigger
)

var timings = [...]string{"early", "on-time", "late", "unknown"}

// String returns "early", "on-time", "late" or "unknown".
func (t Timing) String() string {
	if int(t) < len(timings) {
		return timings[t]
	}
	return fmt.Sprintf("timing(%d)", uint8(t))
}

// Pane describes the firing of a key's window that an element came out of.
type Pane struct {
	Timing Timing
	First  bool
	Last   bool
	// Index counts the panes of the key and window from 0.
	Index int64
	// OnTimeIndex counts those that are not early, from 0; it is -1 for an early pane (Beam's nonSpeculativeIndex).
	OnTimeIndex int64
}

// NoPane is the pane of an element that no trigger has fired: its first and only one (Beam's PaneInfo.NO_FIRING).
var NoPane = Pane{Timing: Unknown, First: true, Last: true}

// String returns "timing/index/on-time-index/flags", where flags are F (first), L (last), FL or -; NoPane is "none".
func (p Pane) String() string {
	if p == NoPane {
		return "none"
	}
	flags := ""
	if p.First {
		flags += "F"
	}
	if p.Last {
		flags += "L"
	}
	if flags == "" {
		flags = "-"
	}
	return fmt.Sprintf("%v/%d/%d/%s", p.Timing, p.Index, p.OnTimeIndex, flags)
}
