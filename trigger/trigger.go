// Package trigger has the expressions that say when a window's result comes out, as data.
//
// Only the default trigger exists yet.
package trigger

// Trigger is an expression that says when a pane of a key's window is fired. What it does is internal/pane's.
type Trigger interface {
	// String returns the expression as it is written in Go.
	String() string
	// Continuation returns the trigger of what a grouping with this trigger gives (beam-semantics 3.3).
	Continuation() Trigger
}

// Default fires once when the watermark has passed the window's end, and then again for every late element that comes
// within the allowed lateness. It never finishes (Beam's DefaultTrigger). The zero value is ready.
type Default struct{}

// String implements [Trigger].
func (Default) String() string { return "trigger.Default{}" }

// Continuation implements [Trigger]: the default again.
func (d Default) Continuation() Trigger { return d }
