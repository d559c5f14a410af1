package engine

import (
	"testing"

	"github.com/levadaflow/levada/internal/exec"
)

// TestWakeOnce shows that however many calls end, the inbox of a task that does not read it has one message of a step, and that the next
// one is told when that has been read.
func TestWakeOnce(t *testing.T) {
	collected := 0
	x := &task{job: &Job{}, inbox: newInbox()}
	y := &task{job: x.job, parent: x, inbox: newInbox()}
	one, two := x.keeper(func(*exec.Elem) { collected++ }), y.keeper(func(*exec.Elem) { collected += 10 })
	for range 5 {
		one.Wake()
		two.Wake()
	}
	x.inbox.put(message{kind: msgTick})
	for round := 1; round < 3; round++ {
		calls := x.inbox.takeCalls()
		if len(calls) != 2 || len(x.inbox.queue) != 1 || len(y.inbox.queue) != 0 {
			t.Fatalf("%d messages, and %d others", len(calls), len(x.inbox.queue))
		}
		for _, m := range calls {
			m.call(nil)
		}
		if collected != 11*round {
			t.Errorf("collected %d in round %d", collected, round)
		}
		one.Wake()
		two.Wake()
	}
}
