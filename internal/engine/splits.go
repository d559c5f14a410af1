package engine

import (
	"sync"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/internal/progress"
)

// coordinator hands out the splits of one source and shares its ledger between the tasks.
type coordinator struct {
	mu      sync.Mutex
	ledger  *progress.Ledger
	splits  []exec.Split
	cut     func(exec.Split) (part, rest exec.Split, ok bool) // nil if splits are read whole
	waiting []*task                                           // have no split, and must be told when the watermark moves
	tasks   []*task                                           // of the source's stage
	told    event.Time
}

func newCoordinator(op *exec.RootOp, splits []exec.Split) *coordinator {
	c := &coordinator{ledger: progress.NewLedger(), splits: splits, cut: op.Cut, told: event.Min}
	for _, s := range splits {
		c.ledger.Add(s.Name, s.Mark)
	}
	return c
}

// Next implements [exec.Coordinator].
func (c *coordinator) Next(index int) (int, exec.Split, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id, ok := c.ledger.Next()
	if !ok {
		c.waiting = append(c.waiting, c.tasks[index])
		return 0, exec.Split{}, false
	}
	s := c.splits[id]
	c.splits[id] = exec.Split{} // what is done needs no memory
	if c.cut == nil {
		return id, s, true
	}
	part, rest, ok := c.cut(s)
	if !ok {
		return id, s, true
	}
	c.ledger.AddRest(rest.Name, id)
	c.splits = append(c.splits, rest)
	return id, part, true
}

// Report implements [exec.Coordinator].
func (c *coordinator) Report(id int, mark event.Time, idle bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ledger.Report(id, mark, idle)
	c.tell()
}

// Done implements [exec.Coordinator].
func (c *coordinator) Done(id int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ledger.Done(id)
	c.tell()
}

// tell wakes the tasks without a split when the watermark has moved, so that they pass it on.
func (c *coordinator) tell() {
	mark := c.ledger.Watermark()
	if mark == c.told {
		return
	}
	c.told = mark
	for _, t := range c.waiting {
		t.job.put(t, message{kind: msgWake})
	}
}

// Mark implements [exec.Coordinator].
func (c *coordinator) Mark() (event.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ledger.Watermark(), c.ledger.Idle()
}

// behind says which split holds the watermark back.
func (c *coordinator) behind() (name string, mark event.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ledger.Behind()
}
