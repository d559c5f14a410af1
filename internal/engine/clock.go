package engine

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/levadaflow/levada/event"
)

// Clock gives processing time. It is read once a bundle.
type Clock interface {
	// Now returns the present time. It may be called by several goroutines at once.
	Now() time.Time
}

// System is the machine's clock.
type System struct{}

// Now implements [Clock].
func (System) Now() time.Time { return time.Now() }

// Virtual is a clock that stands still until it is told to move. It starts at the Unix epoch. With it no bundle ends because
// of time.
type Virtual struct{ ns atomic.Int64 }

// Now implements [Clock].
func (v *Virtual) Now() time.Time { return time.Unix(0, v.ns.Load()).UTC() }

// Advance moves the clock forward.
func (v *Virtual) Advance(d time.Duration) { v.ns.Add(int64(d)) }

// wait waits for a message, or for the time at which a trigger of the task is due; false says that the run ends.
func (t *task) wait() bool {
	var due <-chan time.Time
	if at, ok := t.alarm(true); ok && !t.job.virtual {
		timer := time.NewTimer(at.Time().Sub(t.job.clock.Now()))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-t.inbox.signal:
	case <-due:
		t.beginBundle()
	case <-t.job.done:
		return false
	}
	return true
}

// blocked runs f, which may wait for long. The triggers of the tasks that run in this goroutine go on meanwhile, and so does what comes of
// calls.
func (t *task) blocked(f func(ctx context.Context) error) error {
	at, ok := t.alarm(false)
	ok = ok && !t.job.virtual
	if !ok && t.away == 0 {
		return f(t.job.run.Ctx)
	}
	returned := make(chan func() error, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				returned <- func() error { panic(r) }
			}
		}()
		err := f(t.job.run.Ctx)
		returned <- func() error { return err }
	}()
	for {
		var timer *time.Timer
		var due <-chan time.Time
		if ok {
			timer = time.NewTimer(at.Time().Sub(t.job.clock.Now()))
			due = timer.C
		}
		t.elem.Nested++ // so that whoever called Block cannot recover a panic of what runs here
		select {
		case result := <-returned:
			t.elem.Nested--
			return result()
		case <-due:
			if t.beginBundle(); t.elem.Err == nil {
				t.endBundle()
			}
		case <-t.inbox.signal:
			t.collect()
		}
		t.elem.Nested--
		if timer != nil {
			timer.Stop()
		}
		if t.failed() { // f's context has ended
			return errors.Join((<-returned)(), t.elem.Err)
		}
		at, ok = t.alarm(false)
		ok = ok && !t.job.virtual
	}
}

// alarm returns the earliest processing time at which something is due in the goroutine, parked work among it or not.
func (t *task) alarm(work bool) (at event.Time, ok bool) {
	t.each(func(t *task) {
		if t.bound.Reader == nil || t.bound.Worker != nil && !work {
			return
		}
		if a, set := t.bound.Reader.Alarm(); set && (!ok || a < at) {
			at, ok = a, true
		}
	})
	return at, ok
}

// Tick tells all tasks that a virtual clock has moved.
func (j *Job) Tick() {
	for _, t := range j.tasks {
		if t.parent == nil {
			j.put(t, message{kind: msgTick})
		}
	}
}

// deferring notes that a task has watermarks which it will take when told.
func (j *Job) deferring(t *task) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !slices.Contains(j.deferred, t) {
		j.deferred = append(j.deferred, t)
	}
}

// advance lets the watermark of one stage move, if any is to: under a virtual clock that happens when nothing else does, from the
// first stage to the last, and in all its tasks and from all their senders at once. So a stage sees its watermark move once, at any
// parallelism.
func (j *Job) advance() bool {
	first := j.takeDeferred()
	for _, t := range first {
		j.put(t, message{kind: msgAdvance})
	}
	return len(first) > 0
}

// takeDeferred returns the tasks of the first stage that has watermarks to take.
func (j *Job) takeDeferred() []*task {
	j.mu.Lock()
	defer j.mu.Unlock()
	var first []*task
	for _, t := range j.deferred {
		if len(first) > 0 && t.stage.ID < first[0].stage.ID {
			first = first[:0]
		}
		if len(first) == 0 || t.stage == first[0].stage {
			first = append(first, t)
		}
	}
	j.deferred = slices.DeleteFunc(j.deferred, func(t *task) bool { return slices.Contains(first, t) })
	return first
}

// Watch calls f five times a second, in a goroutine of its own, until the job has ended.
func (j *Job) Watch(f func()) {
	ended := make(chan struct{})
	j.watch = ended
	go func() {
		defer close(ended)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				f()
			case <-j.over:
				return
			}
		}
	}()
}

// watchStalls looks at the steps until the job ends.
func (j *Job) watchStalls() {
	x := &stalls{after: j.options.StallAfter}
	tick := time.NewTicker(min(max(x.after/4, time.Millisecond), time.Second))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			for _, line := range x.look(j.graph, j.Steps(), j.clock.Now()) {
				j.options.Logger.Warn(line)
			}
		case <-j.done:
			return
		}
	}
}
