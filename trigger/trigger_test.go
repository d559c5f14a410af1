package trigger_test

import (
	"fmt"
	"testing"

	"github.com/levadaflow/levada/trigger"
)

// The default goes on as itself behind a grouping (beam-semantics 3.3).
func TestContinuation(t *testing.T) {
	if got := (trigger.Default{}).Continuation(); got != (trigger.Default{}) {
		t.Errorf("the default goes on as %v", got)
	}
}

func ExampleDefault() {
	var t trigger.Trigger = trigger.Default{}
	fmt.Println(t)
	// Output: trigger.Default{}
}
