package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/internal/graph"
	"github.com/levadaflow/levada/internal/progress"
)

const (
	bundleTime    = time.Millisecond // a bundle ends when it is older
	bundleBatches = 16               // or has read that many batches
	pointsPerLook = 64               // a root looks at the clock once in that many elements
)

// task is one stage in one goroutine.
type task struct {
	job      *Job
	stage    *graph.Stage
	index    int
	bound    *exec.Bound
	elem     *exec.Elem // of the goroutine
	parent   *task      // in whose goroutine it runs; nil if it has its own
	children []child    // that run in this goroutine
	inbox    *inbox
	frontier *progress.Frontier   // nil in a stage that begins with a root
	sides    []*progress.Frontier // of the side inputs
	ports    []*port
	working  bool          // in its own work
	deferred []message     // watermarks that have come and are not in the frontier
	ended    chan struct{} // closed when the goroutine has ended

	// The open bundle.
	open     bool // messages were read that have not been settled
	begun    bool // the steps know of it
	since    time.Time
	looked   time.Time // when the clock was read last
	taken    int64     // messages read
	elements int
	batches  int

	kept    int  // elements that the steps keep until a call for them has ended
	away    int  // the same of all tasks in the goroutine
	calling bool // a step of them keeps elements

	finished bool // all its watermarks are at Max
}

// child is a task that runs in the goroutine of the one before it, whose step st it reads.
type child struct {
	*task
	st *exec.Inst
}

// run is the task's goroutine.
func (t *task) run() {
	defer t.close()
	normal := false
	defer func() {
		if !normal {
			t.job.fail(fmt.Errorf("a function of step %s ended its goroutine (runtime.Goexit)", t.job.stepName(t.bound.Elem.At(), t)))
		}
	}()
	t.guardedLoop()
	t.each(func(t *task) {
		if err := t.bound.Close(); err != nil && err != exec.ErrStopped {
			t.job.fail(err)
		}
	})
	normal = true
}

// each calls f for the task and all that run in its goroutine, those in front first.
func (t *task) each(f func(t *task)) {
	f(t)
	for _, c := range t.children {
		c.each(f)
	}
}

func (t *task) close() { t.each(func(t *task) { close(t.ended) }) }

// guardedLoop makes a panic, of user code, of the engine itself, or of a broken invariant, the failure of the step that ran.
func (t *task) guardedLoop() {
	defer func() {
		if r := recover(); r != nil {
			at := t
			t.each(func(x *task) {
				if x.bound.Runs() {
					at = x
				}
			})
			v := at.bound.Current()
			for up := at.parent; up != nil && v == nil; up = up.parent {
				v = up.bound.Current()
			}
			at.bound.Panicked(r, v)
			t.failed()
		}
	}()
	t.loop()
}

// loop reads messages until the run ends or the bundle fails.
func (t *task) loop() {
	var queue []message
	for {
		clear(queue)
		queue = t.inbox.take(queue)
		if len(queue) == 0 {
			if t.open {
				if t.endBundle(); t.failed() {
					return
				}
				continue
			}
			if t.work() {
				if t.failed() {
					return
				}
				continue
			}
			if !t.wait() {
				return
			}
			continue
		}
		for i := range queue {
			if t.handle(&queue[i]); t.failed() {
				return
			}
			if t.batches >= bundleBatches || t.old() {
				if t.endBundle(); t.failed() {
					return
				}
				if t.work(); t.failed() { // also if the inbox is never empty
					return
				}
			}
		}
	}
}

// work does a part of the stage's own work, if it has some that is ready. It counts as a message until its bundle has ended.
func (t *task) work() bool {
	w := t.bound.Worker
	if w == nil || !w.Take(t.index) {
		return false
	}
	t.job.inflight.Add(1)
	t.beginBundle()
	if t.elem.Err == nil {
		t.working = true
		w.Work(t.elem, t)
		t.working = false
	}
	t.open = true
	t.taken++ // not before: bundles may end on the way
	return true
}

// failed reports whether the task must end, and makes its failure that of the job.
func (t *task) failed() bool {
	if err := t.bound.Elem.Err; err != nil {
		if err != exec.ErrStopped {
			t.job.fail(err)
		}
		return true
	}
	return t.job.run.Stopped()
}

// old reports whether the bundle has been open for long enough.
func (t *task) old() bool {
	return t.begun && !t.job.virtual && t.job.clock.Now().Sub(t.since) >= bundleTime
}

func (t *task) beginBundle() {
	if t.begun {
		return
	}
	t.open, t.begun = true, true
	t.elements, t.batches = 0, 0
	if t.parent == nil {
		t.since = t.job.clock.Now()
		t.looked = t.since
		t.elem.Now = event.Time(t.since.UnixMilli())
	}
	t.bound.RunHooks(t.bound.OnBundleStart)
	for _, c := range t.children {
		c.beginBundle()
	}
	if r := t.bound.Reader; r != nil && t.elem.Err == nil {
		if at, ok := r.Alarm(); ok && at <= t.elem.Now {
			r.Clock(t.elem)
		}
	}
}

// handle does what a message says.
func (t *task) handle(m *message) {
	e := t.bound.Elem
	switch m.kind {
	case msgStart:
		t.each(func(t *task) { t.bound.RunHooks(t.bound.OnStart) })
		t.beginBundle()
		if t.bound.Root != nil && e.Err == nil {
			t.bound.Root.Start(e, t)
		}
	case msgBatch:
		if slices.ContainsFunc(t.deferred, func(d message) bool { return d.sender == m.sender && d.side == m.side }) {
			t.advance() // what a sender says stays in its order
		}
		if m.side > 0 {
			t.announce(m)
		} else {
			t.batch(m)
		}
	case msgWatermark:
		if t.deferred = append(t.deferred, *m); t.job.virtual {
			t.job.deferring(t)
		} else {
			t.advance()
		}
	case msgAdvance:
		t.advance()
	case msgCall:
		t.beginBundle()
		m.call(e)
	case msgTick:
		t.beginBundle()
	case msgWake:
	}
	t.open = true // so that a bundle's end follows
	t.taken++
}

// advance takes the watermarks that have come.
func (t *task) advance() {
	moved := false
	side := make([]bool, len(t.sides))
	for _, m := range t.deferred {
		if m.side > 0 {
			side[m.side-1] = t.sides[m.side-1].Set(m.sender, m.mark, m.idle) || side[m.side-1]
			continue
		}
		moved = t.frontier.Set(m.sender, m.mark, m.idle) || moved
	}
	t.deferred = t.deferred[:0]
	for i, moved := range side { // before the main input: what waited for them is not late
		if moved {
			t.beginBundle()
			t.bound.Reader.(exec.SideReader).AdvanceSide(t.elem, i, t.sides[i].In())
		}
	}
	if moved {
		t.beginBundle()
		t.bound.Reader.Advance(t.elem, t.frontier.In())
	}
}

// announce reads a batch of a side input.
func (t *task) announce(m *message) {
	t.beginBundle()
	if t.elem.Err == nil {
		t.bound.Reader.(exec.SideReader).Announce(t.elem, m.side-1, m.batch)
		m.link.release(m.batch)
	}
}

// batch reads a batch, in pieces if bundles are limited.
func (t *task) batch(m *message) {
	e, n, limit := t.bound.Elem, m.batch.Len(), t.job.options.MaxBundle
	for from := 0; from < n && e.Err == nil; {
		t.beginBundle()
		to := n
		if limit > 0 {
			to = min(n, from+limit-t.elements)
		}
		if t.calling { // an element may wait for others
			to = from + 1
		}
		t.bound.Reader.Batch(e, m.batch, from, to)
		t.elements += to - from
		from = to
		if e.Err == nil && (limit > 0 && t.elements >= limit || t.away > 0 && t.old()) {
			t.endBundle()
		}
	}
	t.batches++
	if e.Err == nil {
		m.link.release(m.batch)
	}
}

// endBundle makes all that the bundle has done known to the others, in the order of the package's doc.
func (t *task) endBundle() {
	if t.begun {
		if t.bound.FinishBundle(); t.bound.Elem.Err != nil {
			return
		}
	}
	var in event.Time
	var idle bool
	switch {
	case t.bound.Root != nil:
		in, idle = t.bound.Root.Mark()
	default:
		in, idle = t.frontier.In(), t.frontier.Idle()
	}
	if w := t.bound.Worker; w != nil {
		w.Flushed(t.elem)
		idle = idle || w.Idle()
	}
	idle = idle && t.kept == 0
	t.bound.Advance(in)
	at, wins, info := t.elem.Time, t.elem.Win, t.elem.Pane // of a root that goes on
	for _, c := range t.children {
		if !t.holding() && c.frontier.Set(0, c.st.Out, idle) {
			c.beginBundle()
			c.bound.Reader.Advance(c.elem, c.frontier.In())
		}
		if c.elem.Err != nil {
			return
		}
		if c.endBundle(); c.elem.Err != nil {
			return
		}
	}
	t.elem.Time, t.elem.Win, t.elem.Pane = at, wins, info
	t.sendWatermarks(idle)
	t.open, t.begun = false, false
	t.checkFinished()
	n := t.taken
	t.taken = 0
	if w := t.bound.Worker; w != nil && !t.working {
		w.Wait(t.index) // before it is settled: who moves the watermark from now on tells this task
	}
	t.job.settle(n)
}

// sendWatermarks tells the receivers how far the steps have come.
func (t *task) sendWatermarks(idle bool) {
	if t.holding() {
		return
	}
	for _, p := range t.ports {
		if p.st.Out != p.mark || idle != p.idle {
			p.mark, p.most, p.idle = p.st.Out, max(p.most, p.st.Out), idle
			for _, l := range p.links {
				t.job.put(l.to, message{kind: msgWatermark, sender: l.sender, side: l.side, mark: p.mark, idle: idle})
			}
		}
	}
}

func (t *task) checkFinished() {
	if t.finished {
		return
	}
	for _, st := range t.bound.Insts {
		if st.Out < event.Max {
			return
		}
	}
	t.finished = true
	t.job.unfinished.Add(-1)
}

// Points implements [exec.Safe].
func (t *task) Points(n int) int {
	t.elements += n
	if t.elem.Err == nil && t.job.run.Stopped() {
		t.elem.Err = exec.ErrStopped
	}
	if t.elem.Err != nil {
		return 0
	}
	limit := bundleBatches * exec.BatchSize
	if t.job.options.MaxBundle > 0 {
		limit = min(limit, t.job.options.MaxBundle)
	}
	next := pointsPerLook
	old := false
	if !t.job.virtual {
		now := t.job.clock.Now()
		old = now.Sub(t.since) >= bundleTime
		if each := now.Sub(t.looked) / time.Duration(max(n, 1)); each > 0 { // so that slow code does not make bundles long
			next = int(min(max(bundleTime/4/each, 1), pointsPerLook))
		}
		t.looked = now
	}
	if t.elements >= limit || old {
		if t.nextBundle(); t.elem.Err != nil {
			return 0
		}
	}
	return min(next, limit-t.elements)
}

func (t *task) nextBundle() {
	if t.endBundle(); t.bound.Elem.Err == nil {
		t.beginBundle()
	}
	t.elem.Enter(t.bound.Insts[0]) // whose code goes on
}

// Block implements [exec.Safe].
func (t *task) Block(f func(ctx context.Context) error) error {
	if t.endBundle(); t.bound.Elem.Err != nil {
		return t.bound.Elem.Err
	}
	err := t.blocked(f)
	t.beginBundle()
	t.elem.Enter(t.bound.Insts[0])
	return err
}
