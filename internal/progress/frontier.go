package progress

import "github.com/levadaflow/levada/event"

// Frontier is the input watermark of a task: the minimum over its senders which are not idle. A sender at Max has ended; the
// frontier is at Max only when all have, because an idle one may come back. It never goes back.
type Frontier struct {
	marks []event.Time
	idle  []bool
	in    event.Time
}

// NewFrontier returns the frontier over n senders, all at Min. Without senders it stands at Max.
func NewFrontier(n int) *Frontier {
	f := &Frontier{marks: make([]event.Time, n), idle: make([]bool, n), in: event.Min}
	for i := range f.marks {
		f.marks[i] = event.Min
	}
	f.move()
	return f
}

// Set takes the watermark t, or the news that it is idle, from a sender and reports whether the frontier moved. A sender may go back, but
// not behind the frontier, and not from Max.
func (f *Frontier) Set(sender int, t event.Time, idle bool) bool {
	if f.marks[sender] < event.Max {
		f.marks[sender] = max(t, f.in)
	}
	f.idle[sender] = idle && f.marks[sender] < event.Max
	return f.move()
}

func (f *Frontier) move() bool {
	low, idle := event.Max, false
	for i, t := range f.marks {
		if f.idle[i] {
			idle = true
		} else {
			low = min(low, t)
		}
	}
	if idle && low == event.Max || low <= f.in {
		return false
	}
	f.in = low
	return true
}

// In returns the frontier.
func (f *Frontier) In() event.Time { return f.in }

// Idle reports whether every sender that has not ended is idle, and there is one.
func (f *Frontier) Idle() bool {
	some := false
	for i, idle := range f.idle {
		if !idle && f.marks[i] < event.Max {
			return false
		}
		some = some || idle
	}
	return some
}

// Behind returns the sender with the lowest mark among those which are not idle, or -1.
func (f *Frontier) Behind() int {
	at := -1
	for i, t := range f.marks {
		if !f.idle[i] && (at < 0 || t < f.marks[at]) {
			at = i
		}
	}
	return at
}
