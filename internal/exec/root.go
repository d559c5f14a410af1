package exec

import (
	"context"
	"fmt"

	"github.com/levadaflow/levada/event"
)

// globalWindow are the windows of an element that comes from a root. It is never written to.
var globalWindow = []event.Window{event.Global()}

// Begin makes e that of an element fresh from a root.
func (e *Elem) Begin(t event.Time) {
	e.Time, e.Win, e.Pane = t, globalWindow, event.NoPane
}

// CreateOp is a root that emits values, the i-th at times[i], or all at Min if times is nil, from one task and in order.
func CreateOp[T any](values []T, times []event.Time) *RootOp {
	return &RootOp{Bind: func(_ *Binder, _ *Inst, outs []any) RootTask {
		return &create[T]{out: outs[0].(Sink[T]), values: values, times: times, mark: event.Min, at: -1}
	}}
}

type create[T any] struct {
	out    Sink[T]
	values []T
	times  []event.Time
	mark   event.Time
	at     int // the value at hand, -1 if there is none
}

// Start implements [RootTask].
func (c *create[T]) Start(e *Elem, s Safe) {
	if e.Task == 0 {
		for i, v := range c.values {
			t := event.Min
			if c.times != nil {
				t = c.times[i]
			}
			c.at = i
			e.Begin(t)
			c.out(e, v)
			if s.Points(1) == 0 {
				return
			}
		}
	}
	c.mark = event.Max
}

// Current implements [RootTask].
func (c *create[T]) Current() any {
	if c.at < 0 {
		return nil
	}
	return c.values[c.at]
}

// Mark implements [RootTask].
func (c *create[T]) Mark() (event.Time, bool) { return c.mark, false }

// Script is a root whose elements and watermark come from a test.
type Script[T any] struct{ tasks []*scriptTask[T] }

type scriptTask[T any] struct {
	out  Sink[T]
	mark event.Time
	last any
}

// Op returns the step.
func (s *Script[T]) Op() *RootOp {
	return &RootOp{External: true, Bind: func(b *Binder, _ *Inst, outs []any) RootTask {
		t := &scriptTask[T]{out: outs[0].(Sink[T]), mark: event.Min}
		s.tasks = append(s.tasks, t)
		return t
	}}
}

// Tasks returns the number of tasks it is bound in.
func (s *Script[T]) Tasks() int { return len(s.tasks) }

// Add returns what task must run to emit v at time t.
func (s *Script[T]) Add(task int, v T, t event.Time) func(e *Elem) {
	return func(e *Elem) {
		e.Begin(t)
		s.tasks[task].last = v
		s.tasks[task].out(e, v)
	}
}

// Watermark returns what task must run to move its watermark to t; one below the present is ignored.
func (s *Script[T]) Watermark(task int, t event.Time) func(e *Elem) {
	return func(*Elem) { s.tasks[task].mark = max(s.tasks[task].mark, t) }
}

// Start implements [RootTask].
func (t *scriptTask[T]) Start(*Elem, Safe) {}

// Mark implements [RootTask].
func (t *scriptTask[T]) Mark() (event.Time, bool) { return t.mark, false }

// Current implements [RootTask].
func (t *scriptTask[T]) Current() any { return t.last }

// Split is a part of a source, which one task reads.
type Split struct {
	Name  string     // for people: a file's path
	Mark  event.Time // no element of it is before
	Size  int64      // bytes, 0 if not known
	Value any        // the source's own
}

// Coordinator hands out the splits of one step and knows how far each has come. It may be used from any task.
type Coordinator interface {
	// Next gives a split to the task; ok is false if there is none now.
	Next(task int) (id int, s Split, ok bool)
	// Report says how far a split has come.
	Report(id int, mark event.Time, idle bool)
	// Done says that all of a split has been emitted and flushed.
	Done(id int)
	// Mark returns the watermark over all splits.
	Mark() (t event.Time, idle bool)

	// Wait says that the task has nothing to do.
	Wait(task int)
	// Add adds splits at the queue's end.
	Add(all []Split)
	// Park keeps what is left of a split until a processing time.
	Park(id int, s Split, until event.Time)
	// Requeue puts what is left of a split at the queue's end.
	Requeue(id int, s Split)
	// Low returns the least mark of the open splits that are not idle, for a task that passes it on; ok is false if there is none.
	Low(task int) (t event.Time, ok bool)
	// Alarm returns the processing time at which a parked split can be gone on with; ok is false if none is parked.
	Alarm() (at event.Time, ok bool)
	// Open reports whether there are splits that are not done.
	Open() bool
	// Hungry reports whether tasks have nothing to do.
	Hungry() bool
	// Queued reports whether splits wait for a task.
	Queued() bool
	// Ahead reports whether a split that has come to mark must wait for the slowest.
	Ahead(mark event.Time) bool
}

// Source is a root that is read in splits, by all tasks.
type Source[T any] struct {
	// List returns the splits in the order in which they are to be read. It is called once before the start.
	List func(ctx context.Context) ([]Split, error)
	// Cut takes a part off a split's front, if it is worth it: the part is read by the task that asks, the rest by the next.
	// The rest is not before what the part has come to. It is nil for sources that are read whole.
	Cut func(s Split) (part, rest Split, ok bool)
	// Read emits all of a split. It returns early, without an error, when r.Emit says so, or when its context is done.
	Read func(r *Reading[T], s Split) error
}

// Op returns the step.
func (s Source[T]) Op() *RootOp {
	return &RootOp{List: s.List, Cut: s.Cut, Bind: func(b *Binder, st *Inst, outs []any) RootTask {
		return &Reading[T]{
			st: st, read: s.Read, out: outs[0].(Sink[T]), splits: b.Splits(st.Step), current: -1,
			records: b.Counter(st, "records"), bytes: b.Counter(st, "bytes"),
		}
	}}
}

// Reading is what a source's Read meets the engine with. It belongs to one task.
type Reading[T any] struct {
	st             *Inst
	read           func(r *Reading[T], s Split) error
	out            Sink[T]
	splits         Coordinator
	e              *Elem
	safe           Safe
	current        int // the split's number, -1 if there is none
	mark           event.Time
	name           string // of the split
	last           T      // the element at hand
	done           []int  // ended, not yet flushed
	since, next    int    // elements since the engine was met last, and when it is to be met again
	records, bytes *Counter
	_              Apart
}

// Start implements [RootTask].
func (r *Reading[T]) Start(e *Elem, s Safe) {
	r.e, r.safe = e, s
	e.Begin(event.Min) // windows and pane stay as they are from here on
	for e.Err == nil {
		id, split, ok := r.splits.Next(e.Task)
		if !ok {
			return
		}
		r.current, r.mark, r.name = id, split.Mark, split.Name
		r.run(split)
		if e.Run.Ctx.Err() != nil && e.Err == nil {
			e.Err = ErrStopped // it may have returned because of that, with a part of the split unread
		}
		if e.Err != nil {
			return
		}
		r.done = append(r.done, id)
		r.current = -1
		if !r.point() {
			return
		}
	}
}

// run calls the source's code for one split.
func (r *Reading[T]) run(s Split) {
	r.e.Enter(r.st)
	if err := r.read(r, s); err != nil {
		r.e.Time = r.mark
		r.e.Fail(r.st, nil, err)
	}
}

// Mark implements [RootTask].
func (r *Reading[T]) Mark() (event.Time, bool) {
	for _, id := range r.done {
		r.splits.Done(id)
	}
	r.done = r.done[:0]
	if r.current >= 0 {
		r.splits.Report(r.current, r.mark, false)
	}
	return r.splits.Mark()
}

// Current implements [RootTask]: the split's name and the last element.
func (r *Reading[T]) Current() any { return fmt.Sprintf("%s: %+v", r.name, r.last) }

// Watermark returns how far the split is complete.
func (r *Reading[T]) Watermark() event.Time { return r.mark }

// Advance says that nothing of this split will be emitted before t, or if it is, that it is late. A smaller t than before is
// ignored. It becomes visible at the bundle's end.
func (r *Reading[T]) Advance(t event.Time) { r.mark = max(r.mark, min(t, event.Max)) }

// Emit emits v at time t, and takes size bytes as read. It reports whether to go on.
func (r *Reading[T]) Emit(v T, t event.Time, size int) bool {
	e := r.e
	e.Time = t
	if t < event.Min || t > event.Max {
		e.Fail(r.st, v, t.Check())
		return false
	}
	r.last = v
	r.out(e, v)
	e.Enter(r.st)
	r.records.Inc(1)
	r.bytes.Inc(int64(size))
	r.since++
	if r.since < r.next {
		if e.Err == nil && !e.Run.Stopped() {
			return true
		}
	}
	return r.point()
}

// point meets the engine.
func (r *Reading[T]) point() bool {
	r.next = r.safe.Points(r.since)
	r.since = 0
	return r.next > 0
}

// Block runs f, which may wait for the outside, after all that was emitted has been sent on. f's context ends with the run.
func (r *Reading[T]) Block(f func(ctx context.Context) error) error {
	r.next = 0
	return r.safe.Block(f)
}
