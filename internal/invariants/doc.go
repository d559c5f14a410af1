// Package invariants switches on the checks that cost too much for production. [Enabled] is a constant: code under
// "if invariants.Enabled" is not compiled into ordinary builds. It is true with the build tag invariants and under -race.
package invariants

import "fmt"

// Violation is what a broken invariant panics with: a defect of the engine, or of user code that changed an element after it
// had emitted it. The engine turns it into an error of the step.
type Violation struct{ Text string }

// Error returns the text.
func (v *Violation) Error() string { return "invariant broken: " + v.Text }

// Check panics with a *Violation if ok is false and the checks are on.
func Check(ok bool, format string, args ...any) {
	if Enabled && !ok {
		panic(&Violation{fmt.Sprintf(format, args...)})
	}
}
