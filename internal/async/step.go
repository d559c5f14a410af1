package async

import (
	"context"
	"slices"
	"sync"

	"github.com/levadaflow/levada/coder/plan"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/internal/progress"
)

// Step is a step that makes calls. It is shared by all that runs it in this process.
type Step[I, O any] struct {
	Policy
	Ordered bool // results are emitted in the order of the elements, within a task
	Values  *plan.Plan[I]
	Call    func(ctx context.Context, v I) (O, error)
	slots   chan struct{} // an entry for each call that runs
	random  source
}

// NewStep returns a step that makes at most most calls at once. The caller sets its fields.
func NewStep[I, O any](most int) *Step[I, O] {
	return &Step[I, O]{slots: make(chan struct{}, most)}
}

// Bind binds the step in one task. failed takes the elements whose call has failed; nil makes that the run's failure.
func (s *Step[I, O]) Bind(b *exec.Binder, st *exec.Inst, out exec.Sink[O], failed func(e *exec.Elem, v I, err error)) exec.Sink[I] {
	c := &caller[I, O]{Step: s, st: st, out: out, failed: failed, retries: b.Counter(st, "retries"), engine: alone{}}
	c.landed.ready = make(chan struct{}, 1)
	if c.embedded = b.Keeper != nil; c.embedded {
		c.engine = b.Keeper(c.collect)
	}
	st.Hold = func() (string, event.Time, bool) {
		at, ok := c.holds.Min()
		return "call", at, ok
	}
	h := b.Hooks()
	h.OnBundleFinish = append(h.OnBundleFinish, exec.Hook{Inst: st, Run: c.finish})
	h.OnClose = append(h.OnClose, exec.Hook{Inst: st, Run: c.close})
	return c.take
}

// caller is the step in one task.
type caller[I, O any] struct {
	*Step[I, O]
	st       *exec.Inst
	out      exec.Sink[O]
	failed   func(e *exec.Elem, v I, err error)
	retries  *exec.Counter
	engine   exec.Keeper
	embedded bool // there is an engine that keeps elements beyond a bundle
	ctx      context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup // the goroutines
	landed   landed[*flight[I, O]]
	spare    []*flight[I, O] // for landed
	kept     int             // elements whose result has not been emitted
	holds    progress.Holds  // their times
	order    []*flight[I, O] // the same, if they are ordered
	win      []event.Window  // of the last element, not written to
	_        exec.Apart
}

// take takes an element: it starts the call, as soon as it may.
func (c *caller[I, O]) take(e *exec.Elem, v I) {
	if e.Err != nil {
		return
	}
	e.Enter(c.st)
	for !c.begun(e, v) {
		if c.engine.Flush(); e.Err != nil {
			return
		}
		slots := c.slots
		if c.kept >= cap(c.slots) {
			slots = nil
		}
		select {
		case slots <- struct{}{}:
			c.begin(e, v)
			return
		case <-c.landed.ready:
		case <-e.Run.Ctx.Done():
			e.Err = exec.ErrStopped
		}
	}
}

// begun emits what there is to emit and starts the call if there is room for it. It returns false if the task has to wait.
func (c *caller[I, O]) begun(e *exec.Elem, v I) bool {
	c.collect(e)
	switch {
	case e.Err != nil:
		return true
	case c.kept >= cap(c.slots):
		return false
	}
	select {
	case c.slots <- struct{}{}:
		c.begin(e, v)
		return true
	default:
		return false
	}
}

// begin starts the call, which has its slot.
func (c *caller[I, O]) begin(e *exec.Elem, v I) {
	if c.ctx == nil {
		c.ctx, c.cancel = context.WithCancel(e.Run.Ctx)
	}
	if !slices.Equal(c.win, e.Win) {
		c.win = slices.Clone(e.Win)
	}
	f := &flight[I, O]{v: c.Values.Clone(v), at: e.Time, win: c.win[:len(c.win):len(c.win)], pane: e.Pane}
	c.kept++
	c.holds.Add(f.at)
	c.engine.Begin()
	if c.Ordered {
		c.order = append(c.order, f)
	}
	c.running.Add(1)
	go f.call(c.ctx, c.Step, func() {
		defer c.running.Done()
		<-c.slots
		c.landed.put(f)
		c.engine.Wake()
	})
}

// collect emits the results that are there.
func (c *caller[I, O]) collect(e *exec.Elem) {
	all := c.landed.take(c.spare)
	c.spare = all
	if len(all) == 0 || e.Err != nil {
		return
	}
	at, win, pane, hand := e.Time, e.Win, e.Pane, e.Hand
	if c.Ordered {
		c.inOrder(e, all)
	} else {
		for _, f := range all {
			if !c.emit(e, f) {
				break
			}
		}
	}
	e.Time, e.Win, e.Pane, e.Hand = at, win, pane, hand
	clear(all)
	e.Enter(c.st)
}

// inOrder notes that calls have ended and emits those that nobody is in front of.
func (c *caller[I, O]) inOrder(e *exec.Elem, ended []*flight[I, O]) {
	for _, f := range ended {
		f.over = true
	}
	n := 0
	for n < len(c.order) && c.order[n].over && c.emit(e, c.order[n]) {
		n++
	}
	c.order = slices.Delete(c.order, 0, n)
}

// emit emits a result, with what the element came with, and reports whether to go on.
func (c *caller[I, O]) emit(e *exec.Elem, f *flight[I, O]) bool {
	if e.Run.Stopped() || c.ctx.Err() != nil {
		e.Err = exec.ErrStopped // the call may have failed because of that
		return false
	}
	e.Enter(c.st)
	e.Time, e.Win, e.Pane, e.Hand = f.at, f.win, f.pane, f
	c.retries.Inc(int64(f.attempts - 1))
	switch {
	case f.err == nil:
		c.out(e, f.out)
	case f.stack == "" && c.failed != nil:
		c.failed(e, f.v, f.err)
	default:
		e.Crashed(c.st, f.v, f.err, f.stack)
	}
	c.kept--
	c.holds.Remove(f.at)
	c.engine.End()
	return e.Err == nil
}

// finish is at a bundle's end: nothing waits for a call there, unless a foreign runner is to have all results of the bundle.
func (c *caller[I, O]) finish(e *exec.Elem) error {
	for c.collect(e); !c.embedded && c.kept > 0 && e.Err == nil; c.collect(e) {
		select {
		case <-c.landed.ready:
		case <-e.Run.Ctx.Done():
			e.Err = exec.ErrStopped
		}
	}
	return nil
}

// close ends the calls that still run and waits for them.
func (c *caller[I, O]) close(*exec.Elem) error {
	if c.cancel != nil {
		c.cancel()
	}
	c.running.Wait()
	return nil
}

// alone is what the step meets where there is no engine that could keep elements beyond a bundle.
type alone struct{}

// Begin implements [exec.Keeper].
func (alone) Begin() {}

// End implements [exec.Keeper].
func (alone) End() {}

// Wake implements [exec.Keeper].
func (alone) Wake() {}

// Flush implements [exec.Keeper].
func (alone) Flush() {}
