package pane

import (
	"fmt"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/trigger"
)

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
}

// machine is a trigger at work. One value serves all keys and windows: what it must remember is in the State.
type machine interface {
	// element is told of a new element in w.
	element(w *State)
	// merged is told that w has come out of olds.
	merged(w *State, olds []*State)
	// shouldFire reports whether a pane of w is due at input watermark in.
	shouldFire(w *State, in event.Time) bool
	// fired is told that a pane came out and reports whether the window is now closed for good.
	fired(w *State, in event.Time) (finished bool)
}

// SetTrigger chooses the trigger. An error says that it is not known.
func (s *Strategy) SetTrigger(t trigger.Trigger) error {
	switch t.(type) {
	case nil, trigger.Default:
		s.machine = defaultTrigger{}
		return nil
	}
	return fmt.Errorf("the trigger %v is not supported yet", t)
}

// Default reports whether the trigger is the default one.
func (s *Strategy) Default() bool { return s.machine == machine(defaultTrigger{}) }

// defaultTrigger is ready as soon as the watermark has passed the window's end, for ever.
type defaultTrigger struct{}

func (defaultTrigger) element(*State)                           {}
func (defaultTrigger) merged(*State, []*State)                  {}
func (defaultTrigger) shouldFire(w *State, in event.Time) bool  { return in > w.Window.Last() }
func (defaultTrigger) fired(*State, event.Time) (finished bool) { return false }
