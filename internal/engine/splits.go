package engine

import (
	"sync"
	"time"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/internal/progress"
	"github.com/levadaflow/levada/internal/store"
)

// coordinator hands out the splits of one source, or the restrictions of one splittable step, and shares its ledger between the
// tasks. Work that somebody can do, or does, counts as a message in flight; what is parked does not.
type coordinator struct {
	job      *Job
	mu       sync.Mutex
	ledger   *progress.Ledger
	splits   map[int]exec.Split                                // that nobody works on
	cut      func(exec.Split) (part, rest exec.Split, ok bool) // nil if splits are read whole
	restrict *exec.RestrictOp                                  // nil for a source
	parked   store.Queue                                       // by the processing time at which they are gone on with
	waiting  map[*task]bool                                    // have nothing to do, and must be told when there is, and when the watermark moves
	tasks    []*task                                           // of the stage
	told     told
	version  int           // of told
	seen     map[*task]int // the version that a task has passed on
	ahead    []int         // parked because they are further than the slowest by more than is allowed
	seq      uint32
}

func newCoordinator(j *Job, op *exec.RootOp, splits []exec.Split) *coordinator {
	c := &coordinator{
		job: j, ledger: progress.NewLedger(), splits: map[int]exec.Split{}, waiting: map[*task]bool{}, told: told{mark: event.Min}, seen: map[*task]int{},
	}
	if op != nil {
		c.cut = op.Cut
	}
	for _, s := range splits {
		c.splits[c.ledger.Add(s.Name, s.Mark)] = s
	}
	return c
}

// Next implements [exec.Coordinator].
func (c *coordinator) Next(index int) (int, exec.Split, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.job.virtual {
		c.release(c.job.clock.Now())
	}
	id, ok := c.ledger.Next()
	if !ok {
		c.wait(c.tasks[index])
		return 0, exec.Split{}, false
	}
	delete(c.waiting, c.tasks[index])
	s := c.splits[id]
	delete(c.splits, id) // what is done needs no memory
	if c.cut == nil {
		return id, s, true
	}
	part, rest, ok := c.cut(s)
	if !ok {
		return id, s, true
	}
	c.splits[c.ledger.AddRest(rest.Name, id)] = rest
	return id, part, true
}

// Add implements [exec.Coordinator].
func (c *coordinator) Add(all []exec.Split) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range all {
		if c.job.run.Draining() {
			var ok bool
			if s, ok = c.restrict.Truncate(s); !ok {
				continue
			}
		}
		c.splits[c.ledger.Add(s.Name, s.Mark)] = s
		c.job.inflight.Add(1)
	}
	c.tell() // what all that was there had come to is no longer so
	c.wake()
}

// Park implements [exec.Coordinator].
func (c *coordinator) Park(id int, s exec.Split, until event.Time) {
	c.mu.Lock()
	c.ledger.Park(id)
	c.splits[id] = s
	c.seq++
	c.parked.Set(id32(id), until, c.seq)
	if c.job.run.Draining() {
		c.drain()
	}
	c.tell()
	c.mu.Unlock()
	c.job.settle(1)
}

// Requeue implements [exec.Coordinator].
func (c *coordinator) Requeue(id int, s exec.Split) {
	c.mu.Lock()
	c.splits[id] = s
	ahead := c.tooFar(s.Mark)
	if ahead {
		c.ledger.Park(id)
		c.ahead = append(c.ahead, id)
		c.tell()
	} else {
		c.ledger.Requeue(id)
		c.wake()
	}
	c.mu.Unlock()
	if ahead {
		c.job.settle(1)
	}
}

// Wait implements [exec.Coordinator].
func (c *coordinator) Wait(index int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wait(c.tasks[index])
}

// wait notes that a task has nothing to do. If the watermark has moved since it passed it on it is told at once.
func (c *coordinator) wait(t *task) {
	c.waiting[t] = true
	if c.restrict != nil && c.seen[t] != c.version {
		c.job.put(t, message{kind: msgWake})
	}
}

// tooFar reports whether a restriction that has come to mark must wait for the slowest.
func (c *coordinator) tooFar(mark event.Time) bool {
	if c.restrict == nil || c.restrict.MaxDrift < 0 || c.job.run.Draining() {
		return false
	}
	low, ok := c.ledger.Low()
	return ok && mark > low.Plus(c.restrict.MaxDrift)
}

// catchUp goes on with those that need no longer wait for the slowest.
func (c *coordinator) catchUp() {
	if len(c.ahead) == 0 {
		return
	}
	waiting := c.ahead[:0]
	for _, id := range c.ahead {
		if c.tooFar(c.splits[id].Mark) {
			waiting = append(waiting, id)
			continue
		}
		c.ledger.Requeue(id)
		c.job.inflight.Add(1)
	}
	if len(waiting) < len(c.ahead) {
		c.ahead = waiting
		c.wake()
	}
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
	c.ledger.Done(id)
	c.tell()
	c.mu.Unlock()
	if c.restrict != nil { // the work of a source is part of its tasks' first message
		c.job.settle(1)
	}
}

// release puts what was parked until now into the queue.
func (c *coordinator) release(now time.Time) {
	for {
		id, at, ok := c.parked.First()
		if !ok || at > event.Time(now.UnixMilli()) {
			return
		}
		c.unpark(int(id))
	}
}

func (c *coordinator) unpark(id int) {
	c.parked.Remove(id32(id))
	if c.tooFar(c.splits[id].Mark) {
		c.ahead = append(c.ahead, id)
		return
	}
	c.ledger.Requeue(id)
	c.job.inflight.Add(1)
}

// resume goes on with what was parked until now, and reports whether there was something. It is how a virtual clock does it.
func (c *coordinator) resume(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, at, ok := c.parked.First()
	if !ok || at > event.Time(now.UnixMilli()) {
		return false
	}
	c.release(now)
	c.wake()
	return true
}

// drain truncates what nobody works on, and goes on with what is left of it. Its caller holds mu.
func (c *coordinator) drain() {
	if c.restrict == nil {
		return
	}
	c.catchUp()
	for id, s := range c.splits {
		cut, ok := c.restrict.Truncate(s)
		_, parked := c.parked.At(id32(id))
		if parked {
			c.unpark(id)
		}
		if c.splits[id] = cut; !ok {
			delete(c.splits, id)
			c.ledger.Drop(id)
			c.job.settle(1)
		}
	}
	c.wake()
	c.tell()
}

// tell wakes the tasks that have nothing to do when the watermark has moved, so that they pass it on.
func (c *coordinator) tell() {
	c.catchUp()
	now := told{c.ledger.Watermark(), c.ledger.Idle()}
	if now == c.told {
		return
	}
	c.told = now
	c.version++
	c.wake()
}

// told is what all tasks have been told of the ledger.
type told struct {
	mark event.Time
	idle bool
}

// wake wakes the tasks that have nothing to do.
func (c *coordinator) wake() {
	for _, t := range c.tasks {
		if c.waiting[t] {
			t.job.put(t, message{kind: msgWake})
		}
	}
}

// Mark implements [exec.Coordinator].
func (c *coordinator) Mark() (event.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ledger.Watermark(), c.ledger.Idle()
}

// Low implements [exec.Coordinator].
func (c *coordinator) Low(index int) (event.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[c.tasks[index]] = c.version
	if c.ledger.Open() > 0 && c.ledger.Idle() { // nobody says anything: it stays where it is
		return c.ledger.Watermark(), true
	}
	return c.ledger.Low()
}

// Alarm implements [exec.Coordinator].
func (c *coordinator) Alarm() (event.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, at, ok := c.parked.First()
	return at, ok
}

// Open implements [exec.Coordinator].
func (c *coordinator) Open() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ledger.Open() > 0
}

// Hungry implements [exec.Coordinator].
func (c *coordinator) Hungry() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting) > c.ledger.Queued()
}

// Queued implements [exec.Coordinator].
func (c *coordinator) Queued() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ledger.Queued() > 0
}

// Ahead implements [exec.Coordinator].
func (c *coordinator) Ahead(mark event.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tooFar(mark)
}

// behind says which split holds the watermark back.
func (c *coordinator) behind() (name string, mark event.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ledger.Behind()
}

func id32(id int) uint32 { return uint32(id) }
