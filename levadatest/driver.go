package levadatest

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/engine"
	"github.com/levadaflow/levada/internal/exec"
)

// Driver runs a pipeline step by step under a virtual clock: each call takes effect and returns when all that it caused has
// happened. It is what a [Harness] is made of, for those who want errors in place of a failing test. Not safe for concurrent
// use.
type Driver struct {
	// Pipeline is what sources and steps are added to, before Start.
	Pipeline *levada.Pipeline
	// Run says how the pipeline is run; its Clock and Progress are not used, and without a Logger nothing is
	// logged. Set it before Start.
	Run levada.Embedded

	clock   *engine.Virtual
	job     *engine.Job
	cancel  context.CancelFunc
	sources []interface{ finish() error }
}

// NewDriver returns a driver with an empty pipeline.
func NewDriver() *Driver { return &Driver{Pipeline: levada.New(), clock: &engine.Virtual{}} }

// Start starts the pipeline. Bounded sources have emitted all they have, and that has had its effects, when it returns. The
// error is that of building ([levada.BuildErrors]) or of the run.
func (d *Driver) Start() error {
	if d.job != nil {
		return nil
	}
	g, err := d.Pipeline.Build()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	d.cancel = cancel
	d.job, err = engine.Start(ctx, g, engine.Options{
		Parallelism: d.Run.Parallelism, MaxBundle: d.Run.MaxBundle, General: d.Run.GeneralPath, Unfused: d.Run.Unfused, Clock: d.clock,
		Logger: d.logger(),
	})
	if err != nil {
		cancel()
		return levada.PublicError(err)
	}
	return d.quiesce()
}

// logger returns the run's logger, which is silent unless one was set.
func (d *Driver) logger() *slog.Logger {
	if d.Run.Logger != nil {
		return d.Run.Logger
	}
	return slog.New(slog.DiscardHandler)
}

func (d *Driver) quiesce() error { return levada.PublicError(d.job.Quiesce()) }

// Clock moves processing time forward.
func (d *Driver) Clock(by time.Duration) error {
	if err := d.Start(); err != nil {
		return err
	}
	d.clock.Advance(by)
	d.job.Tick()
	return d.quiesce()
}

// Finish ends all scripted sources, as one step: their watermarks go to event.Max. Splittable steps go on to their end, the clock moving as they
// need. If something never ends the error wraps levada.ErrStuck.
func (d *Driver) Finish() error {
	if err := d.Start(); err != nil {
		return err
	}
	if err := d.endSources(); err != nil {
		return err
	}
	for {
		at, ok := d.job.Parked()
		if !ok {
			return d.ended()
		}
		if err := d.Clock(at.Time().Sub(d.clock.Now())); err != nil {
			return err
		}
	}
}

// Drain ends all sources as an operator does: what splittable steps have not claimed is truncated, the clock stays, and what is open comes out.
func (d *Driver) Drain() error {
	if err := d.Start(); err != nil {
		return err
	}
	d.job.Drain()
	if err := d.endSources(); err != nil {
		return err
	}
	return d.ended()
}

func (d *Driver) endSources() error {
	for _, s := range d.sources {
		if err := s.finish(); err != nil {
			return err
		}
	}
	return d.quiesce()
}

// Unfinished returns the paths of the steps that have not come to their end.
func (d *Driver) Unfinished() []string { return d.job.Unfinished() }

// ended returns an error if the run has not come to its end.
func (d *Driver) ended() error {
	if len(d.job.Unfinished()) == 0 {
		return nil
	}
	return d.job.Stuck()
}

// Result returns what has come of the run so far; nil before Start.
func (d *Driver) Result() *levada.Result {
	if d.job == nil {
		return nil
	}
	return levada.ResultOf(d.job)
}

// Stop cancels the run, if it has not ended, and waits until nothing of it is left.
func (d *Driver) Stop() {
	if d.job != nil {
		d.cancel()
		_ = d.job.Wait()
	}
}

// Script is a source whose elements and watermark the test gives.
type Script[T any] struct {
	// Out is the source's collection. It is unbounded.
	Out    levada.PCollection[T]
	d      *Driver
	step   string
	script *exec.Script[T]
	next   int
	mark   event.Time
}

// AddScript adds a scripted source to the driver's pipeline.
func AddScript[T any](d *Driver, name string) *Script[T] {
	s := &Script[T]{d: d, step: name, script: &exec.Script[T]{}, mark: event.Min}
	s.Out = levada.RootOf[T](d.Pipeline, name, s.script.Op(), true)
	d.sources = append(d.sources, s)
	return s
}

// Add emits v at time t, whatever the watermark is. Elements go to the tasks in turn. It is an error, and nothing is emitted, if
// the source has ended or t is outside of [event.Min, event.Max].
func (s *Script[T]) Add(t event.Time, v T) error {
	if err := s.ready(); err != nil {
		return err
	}
	if s.mark == event.Max {
		return fmt.Errorf("source %s has ended: nothing can be added", s.step)
	}
	if err := t.Check(); err != nil {
		return fmt.Errorf("source %s, element at %d ms: %w", s.step, t.Millis(), err)
	}
	s.inject(s.next, func(task int) func(*exec.Elem) { return s.script.Add(task, v, t) })
	s.next++
	return s.d.quiesce()
}

// Watermark says that nothing before t will come any more, or if it does, that it is late. One below the present is ignored.
func (s *Script[T]) Watermark(t event.Time) error {
	if err := s.ready(); err != nil {
		return err
	}
	s.moveAll(t)
	return s.d.quiesce()
}

// ready starts the driver.
func (s *Script[T]) ready() error {
	if s.d.job != nil && s.script.Tasks() == 0 {
		return fmt.Errorf("source %s was added after the start", s.step)
	}
	return s.d.Start()
}

func (s *Script[T]) moveAll(t event.Time) {
	s.mark = max(s.mark, t)
	for task := range s.script.Tasks() {
		s.inject(task, func(task int) func(*exec.Elem) { return s.script.Watermark(task, t) })
	}
}

// finish moves the watermark to the end, without waiting: all sources end in one step.
func (s *Script[T]) finish() error {
	s.moveAll(event.Max)
	return nil
}

func (s *Script[T]) inject(task int, call func(task int) func(*exec.Elem)) {
	task %= s.script.Tasks()
	s.d.job.Inject(s.step, task, call(task))
}

// Element is what a collection had: a value in one window.
type Element[T any] struct {
	Value  T
	Time   event.Time
	Window event.Window
	Pane   event.Pane
}

// Collected has the elements of a collection.
type Collected[T any] struct {
	mu  sync.Mutex
	all []Element[T]
}

// Gather adds a step which keeps the elements of a collection, once per window.
func Gather[T any](in levada.PCollection[T], name string) *Collected[T] {
	c := &Collected[T]{}
	levada.ForEach(in, name, func(*levada.Setup) levada.Process[T] {
		return func(ctx *levada.Ctx, v T) error {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.all = append(c.all, Element[T]{v, ctx.Time(), ctx.Window(), ctx.Pane()})
			return nil
		}
	})
	return c
}

// Take returns what has come since the last Take, in no order.
func (c *Collected[T]) Take() []Element[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.all
	c.all = nil
	return all
}
