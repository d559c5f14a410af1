// Package trigger has the expressions that say when a window's result comes out, as data. What they do is internal/pane's.
//
// Invariants:
//   - A trigger is a value without state: it may be shared and used again.
//   - Two triggers are the same if their String is.
package trigger

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ErrBadTrigger is wrapped by what [Trigger.Validate] returns.
var ErrBadTrigger = errors.New("bad trigger")

// Trigger is an expression that says when a pane of a key's window is fired. The types of this package are all there are.
type Trigger interface {
	// String returns the expression as it is written in Go.
	String() string
	// Continuation returns the trigger of what a grouping with this trigger gives (beam-semantics 3.3).
	Continuation() Trigger
	// Validate returns an error that wraps ErrBadTrigger if the expression makes no sense, or nil.
	Validate() error
	// MayFinish reports whether the trigger can come to an end, after which its window takes nothing more.
	MayFinish() bool
}

// Default fires once when the watermark has passed the window's end, and then again for every late element that comes
// within the allowed lateness. It never finishes (Beam's DefaultTrigger). The zero value is ready.
type Default struct{}

// AfterWatermark fires when the watermark has passed the window's end; before that whenever Early does, after that whenever
// Late does. Both begin anew after each of their firings; nil is none. Without Late it finishes at the end.
// (Beam's AfterWatermark.pastEndOfWindow.)
type AfterWatermark struct{ Early, Late Trigger }

// AfterCount fires when so many elements have come since the last pane, and finishes. It is at least 1.
// (Beam's AfterPane.elementCountAtLeast.)
type AfterCount int

// AfterDelay fires when so much processing time has passed since the first element after the last pane, and finishes. It is not
// negative. (Beam's AfterProcessingTime.pastFirstElementInPane().plusDelayOf.)
type AfterDelay time.Duration

// AfterEach lets its parts fire one after the other: each until it finishes, and finishes after the last.
// (Beam's AfterEach.inOrder.)
type AfterEach []Trigger

// AfterAny fires when any of its parts does, and finishes. (Beam's AfterFirst.)
type AfterAny []Trigger

// AfterAll fires when all of its parts would, and finishes. (Beam's AfterAll.)
type AfterAll []Trigger

// Repeat lets a trigger begin anew whenever it has finished; it never finishes itself. (Beam's Repeatedly.forever.)
type Repeat struct{ Trigger Trigger }

// OrFinally fires when Main does, and a last time, which finishes it, when Finally does or Main has finished. What Finally
// counts goes on over the firings of Main. (Beam's Trigger.orFinally.)
type OrFinally struct{ Main, Finally Trigger }

// Never fires only when the window expires. (Beam's Never.ever.)
type Never struct{}

// MayLoseData allows a trigger that can finish, after which later elements of the window are dropped and counted as
// dropped_closed. Without it such a trigger is refused at the grouping.
type MayLoseData struct{ Trigger Trigger }

// String implements [Trigger].
func (Default) String() string { return "trigger.Default{}" }

// String implements [Trigger].
func (t AfterWatermark) String() string {
	var parts []string
	if t.Early != nil {
		parts = append(parts, "Early: "+t.Early.String())
	}
	if t.Late != nil {
		parts = append(parts, "Late: "+t.Late.String())
	}
	return "trigger.AfterWatermark{" + strings.Join(parts, ", ") + "}"
}

// String implements [Trigger].
func (t AfterCount) String() string { return fmt.Sprintf("trigger.AfterCount(%d)", int(t)) }

// String implements [Trigger].
func (t AfterDelay) String() string { return fmt.Sprintf("trigger.AfterDelay(%v)", time.Duration(t)) }

// String implements [Trigger].
func (t AfterEach) String() string { return "trigger.AfterEach" + list(t) }

// String implements [Trigger].
func (t AfterAny) String() string { return "trigger.AfterAny" + list(t) }

// String implements [Trigger].
func (t AfterAll) String() string { return "trigger.AfterAll" + list(t) }

// String implements [Trigger].
func (t Repeat) String() string { return "trigger.Repeat{" + text(t.Trigger) + "}" }

// String implements [Trigger].
func (t OrFinally) String() string {
	return "trigger.OrFinally{" + text(t.Main) + ", " + text(t.Finally) + "}"
}

// String implements [Trigger].
func (Never) String() string { return "trigger.Never{}" }

// String implements [Trigger].
func (t MayLoseData) String() string { return "trigger.MayLoseData{" + text(t.Trigger) + "}" }

func text(t Trigger) string {
	if t == nil {
		return "nil"
	}
	return t.String()
}

func list(parts []Trigger) string {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = text(p)
	}
	return "{" + strings.Join(texts, ", ") + "}"
}

// Continuation implements [Trigger]: the default again.
func (t Default) Continuation() Trigger { return t }

// Continuation implements [Trigger]: the same of the continuations.
func (t AfterWatermark) Continuation() Trigger {
	c := AfterWatermark{}
	if t.Early != nil {
		c.Early = t.Early.Continuation()
	}
	if t.Late != nil {
		c.Late = t.Late.Continuation()
	}
	return c
}

// Continuation implements [Trigger]: one element is enough.
func (AfterCount) Continuation() Trigger { return AfterCount(1) }

// Continuation implements [Trigger]: at once, so that delays do not add up over groupings.
func (AfterDelay) Continuation() Trigger { return AfterDelay(0) }

// Continuation implements [Trigger]: any of the continuations, again and again.
func (t AfterEach) Continuation() Trigger { return Repeat{AfterAny(continued(t))} }

// Continuation implements [Trigger]: the same of the continuations.
func (t AfterAny) Continuation() Trigger { return AfterAny(continued(t)) }

// Continuation implements [Trigger]: the same of the continuations.
func (t AfterAll) Continuation() Trigger { return AfterAll(continued(t)) }

// Continuation implements [Trigger]: the same of the continuation.
func (t Repeat) Continuation() Trigger { return Repeat{t.Trigger.Continuation()} }

// Continuation implements [Trigger]: the same of the continuations, again and again.
func (t OrFinally) Continuation() Trigger {
	return Repeat{OrFinally{t.Main.Continuation(), t.Finally.Continuation()}}
}

// Continuation implements [Trigger]: never again.
func (t Never) Continuation() Trigger { return t }

// Continuation implements [Trigger]: allowed too.
func (t MayLoseData) Continuation() Trigger { return MayLoseData{t.Trigger.Continuation()} }

func continued(parts []Trigger) []Trigger {
	c := make([]Trigger, len(parts))
	for i, p := range parts {
		c[i] = p.Continuation()
	}
	return c
}

// Validate implements [Trigger].
func (Default) Validate() error { return nil }

// Validate implements [Trigger].
func (t AfterWatermark) Validate() error {
	for _, p := range []Trigger{t.Early, t.Late} {
		if p != nil {
			if err := p.Validate(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Validate implements [Trigger].
func (t AfterCount) Validate() error {
	if t < 1 {
		return fmt.Errorf("%w: %v: the count must be at least 1", ErrBadTrigger, t)
	}
	return nil
}

// Validate implements [Trigger].
func (t AfterDelay) Validate() error {
	if t < 0 {
		return fmt.Errorf("%w: %v: the delay must not be negative", ErrBadTrigger, t)
	}
	return nil
}

// Validate implements [Trigger].
func (t AfterEach) Validate() error { return valid(t, t...) }

// Validate implements [Trigger].
func (t AfterAny) Validate() error { return valid(t, t...) }

// Validate implements [Trigger].
func (t AfterAll) Validate() error { return valid(t, t...) }

// Validate implements [Trigger].
func (t Repeat) Validate() error { return valid(t, t.Trigger) }

// Validate implements [Trigger].
func (t OrFinally) Validate() error { return valid(t, t.Main, t.Finally) }

// Validate implements [Trigger].
func (Never) Validate() error { return nil }

// Validate implements [Trigger].
func (t MayLoseData) Validate() error { return valid(t, t.Trigger) }

func valid(t Trigger, parts ...Trigger) error {
	if len(parts) == 0 {
		return fmt.Errorf("%w: %v has no parts", ErrBadTrigger, t)
	}
	for _, p := range parts {
		if p == nil {
			return fmt.Errorf("%w: %v has a part that is nil", ErrBadTrigger, t)
		}
		if err := p.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// MayFinish implements [Trigger]: false.
func (Default) MayFinish() bool { return false }

// MayFinish implements [Trigger]: at the window's end, without Late.
func (t AfterWatermark) MayFinish() bool { return t.Late == nil }

// MayFinish implements [Trigger]: true.
func (AfterCount) MayFinish() bool { return true }

// MayFinish implements [Trigger]: true.
func (AfterDelay) MayFinish() bool { return true }

// MayFinish implements [Trigger]: if every part may.
func (t AfterEach) MayFinish() bool {
	for _, p := range t {
		if !p.MayFinish() {
			return false
		}
	}
	return true
}

// MayFinish implements [Trigger]: true.
func (AfterAny) MayFinish() bool { return true }

// MayFinish implements [Trigger]: true.
func (AfterAll) MayFinish() bool { return true }

// MayFinish implements [Trigger]: false.
func (Repeat) MayFinish() bool { return false }

// MayFinish implements [Trigger]: true.
func (OrFinally) MayFinish() bool { return true }

// MayFinish implements [Trigger]: false.
func (Never) MayFinish() bool { return false }

// MayFinish implements [Trigger]: true.
func (MayLoseData) MayFinish() bool { return true }

// AtEnd reports whether a trigger is sure to fire when the watermark has passed the window's end (beam-semantics 3.7).
func AtEnd(t Trigger) bool {
	switch t := t.(type) {
	case Default, AfterWatermark:
		return true
	case AfterAny:
		return slices.ContainsFunc(t, AtEnd)
	case AfterAll:
		return !slices.ContainsFunc(t, func(p Trigger) bool { return !AtEnd(p) })
	case AfterEach:
		return AtEnd(t[0])
	case OrFinally:
		return AtEnd(t.Main) || AtEnd(t.Finally)
	case Repeat:
		return AtEnd(t.Trigger)
	case MayLoseData:
		return AtEnd(t.Trigger)
	}
	return false
}
