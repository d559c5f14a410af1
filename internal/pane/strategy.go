package pane

import "github.com/levadaflow/levada/trigger"

// TimeCombiner says which time the result of a window has.
type TimeCombiner uint8

// Beam's OutputTime (beam-semantics 1.9).
const (
	EndOfWindow TimeCombiner = iota // the window's last instant
	Earliest                        // the smallest time of the pane's elements
	Latest                          // the greatest
)

// String returns "end", "earliest" or "latest".
func (c TimeCombiner) String() string { return [...]string{"end", "earliest", "latest"}[c] }

// Strategy is all that a grouping step must know of its input's windowing.
type Strategy struct {
	Merging        bool
	LatenessMillis int64
	Accumulating   bool
	Time           TimeCombiner
	ClosingAlways  bool // emit the last pane even if it is empty
	OnTimeNonEmpty bool // emit the on-time pane only if it has new elements
	machine        machine
	cells          int
	isDefault      bool
	waits          bool // some part of the trigger waits for the clock
}

// SetTrigger chooses the trigger; nil is the default one. An error wraps trigger.ErrBadTrigger.
func (s *Strategy) SetTrigger(t trigger.Trigger) error {
	if t != nil {
		if err := t.Validate(); err != nil {
			return err
		}
	}
	var c compiler
	m, err := c.compile(t)
	s.machine, s.cells, s.waits = m, c.cells, c.waits
	_, s.isDefault = m.(*defaultMachine)
	return err
}

// Default reports whether the trigger is the default one.
func (s *Strategy) Default() bool { return s.isDefault }
