package exec

import (
	"context"
	"sync/atomic"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/graph"
	"github.com/levadaflow/levada/internal/invariants"
)

// Inst is one step in one task.
type Inst struct {
	Step *graph.Step
	// Hold returns what keeps the step's output watermark back, nil if nothing ever does.
	Hold func() (kind string, t event.Time, ok bool)
	// Shift is added to the watermark, in milliseconds. Min and Max stay what they are.
	Shift int64
	// Views are the step's side inputs, and LatenessMillis that of its main input: windows that have expired ask for nothing. Busy, if it is set,
	// reports whether there is work that may ask for any window.
	Views          []View
	LatenessMillis int64
	Busy           func() bool
	// Out is the step's output watermark in this task, as its readers have been told. It may go back, as far as [Inst.Floor].
	Out event.Time
	// Peers is the same step in all tasks, this one among them; nil if there are no others.
	Peers   []*Inst
	in      event.Time
	asked   event.Time // the watermark up to which nothing will be asked of Views
	mark    int32      // the step's ID plus one
	parents []*Inst
	seen    seen
}

// seen is what other goroutines may read of a step's watermarks.
type seen struct {
	in, out atomic.Int64
	held    atomic.Pointer[Held]
	pending atomic.Bool
}

// Held says what keeps a step's output watermark below its input.
type Held struct {
	Kind string
	Time event.Time
}

// Seen returns the watermarks as of the last bundle's end and what holds the output back, nil if nothing does. It may be
// called from any goroutine.
func (s *Inst) Seen() (in, out event.Time, held *Held) {
	return event.Time(s.seen.in.Load()), event.Time(s.seen.out.Load()), s.seen.held.Load()
}

// Pending reports, as of the last bundle's end, whether something waits in the step for the watermark or the clock. It may be called
// from any goroutine.
func (s *Inst) Pending() bool { return s.seen.pending.Load() }

// Floor returns the step's output watermark: the least of all tasks'. Because of the others its readers may not have come as far as
// this task's, and so what comes to it late may still be on time for them.
func (s *Inst) Floor() event.Time {
	low := s.Out
	for _, p := range s.Peers {
		low = min(low, event.Time(p.seen.out.Load()))
	}
	return low
}

// Behind reports whether the step's output watermark has passed t.
func (s *Inst) Behind(t event.Time) bool { return t < s.Out && t < s.Floor() }

// advance computes the step's output watermark from in.
func (s *Inst) advance(in event.Time) {
	if in > s.asked && len(s.Views) > 0 && (s.Busy == nil || !s.Busy()) {
		s.asked = in
		for _, v := range s.Views {
			v.Ask(s, in.Plus(-s.LatenessMillis))
		}
	}
	s.in = in
	out := in
	var held *Held
	if s.Shift != 0 && in > event.Min && in < event.Max {
		out = in.Plus(s.Shift)
		if out < in {
			held = &Held{"shift", event.Time(s.Shift)}
		}
	}
	if s.Hold != nil {
		kind, t, ok := s.Hold()
		if ok && t < in {
			out, held = t, &Held{kind, t}
		}
		s.seen.pending.Store(ok)
	}
	if out < s.Out {
		out = max(out, s.Floor())
	}
	s.Out = out
	s.seen.in.Store(int64(in))
	s.seen.out.Store(int64(s.Out))
	s.seen.held.Store(held)
}

// Hook is a function of a step that is called at a point of its life.
type Hook struct {
	Inst *Inst
	Run  func(e *Elem) error
}

// Bound is a stage in one task: the steps bound to each other.
type Bound struct {
	Elem   *Elem
	Root   RootTask // if the stage begins with a root
	Reader Reader   // if it begins with an exchange
	Worker Worker   // if it begins with a splittable step
	Remote Remote   // if it begins with a foreign runner's exchange
	Insts  []*Inst  // topological
	// The hooks are in the order of the steps.
	OnStart, OnBundleStart, OnBundleFinish, OnClose []Hook

	guests  []*Inst
	writers []Flusher
	flushes []func()
}

// Flusher is the sending end of an exchange in one task.
type Flusher interface {
	// Flush sends what has been collected.
	Flush(e *Elem)
}

// RunHooks calls hooks until one fails. It must not be called during a step's user code.
func (b *Bound) RunHooks(hooks []Hook) {
	for _, h := range hooks {
		if b.Elem.Err != nil {
			return
		}
		b.runHook(h)
	}
}

func (b *Bound) runHook(h Hook) {
	e := b.Elem
	defer func() {
		if r := recover(); r != nil {
			e.Panicked(b.running(), nil, r)
		}
	}()
	at, wins, info, nested := e.Time, e.Win, e.Pane, e.Nested
	e.Enter(h.Inst)
	e.Time, e.Win, e.Pane, e.Nested = event.Min, nil, event.NoPane, 0
	if err := h.Run(e); err != nil {
		e.Fail(h.Inst, nil, err)
	}
	if e.Nested != 0 {
		e.Fail(h.Inst, nil, ErrSwallowed)
	}
	e.Time, e.Win, e.Pane, e.Nested = at, wins, info, nested
}

// Current returns the element with which the stage began, nil if there is none at hand.
func (b *Bound) Current() any {
	switch {
	case b.Root != nil:
		return b.Root.Current()
	case b.Remote != nil:
		return b.Remote.Current()
	}
	return b.Reader.Current()
}

// Panicked makes what was recovered from the stage's code the failure of the step that ran, with v as the element.
func (b *Bound) Panicked(recovered, v any) {
	st := b.running()
	for _, w := range b.writers {
		if x, ok := w.(placer); ok {
			x.place(b.Elem, st)
		}
	}
	if x, ok := b.Reader.(placer); ok {
		x.place(b.Elem, st)
	}
	b.Elem.Panicked(st, v, recovered)
}

// placer is an end of an exchange that keeps an element's windows to itself: place puts them into e if it is st's.
type placer interface{ place(e *Elem, st *Inst) }

// running returns the step that runs or ran last, the first if none did.
func (b *Bound) running() *Inst {
	for _, x := range b.Insts {
		if x.mark == b.Elem.at.get() {
			return x
		}
	}
	for _, x := range b.guests {
		if x.mark == b.Elem.at.get() {
			return x
		}
	}
	return b.Insts[0]
}

// Runs reports whether the step that runs or ran last is one of this stage's.
func (b *Bound) Runs() bool {
	for _, x := range b.Insts {
		if x.mark == b.Elem.at.get() {
			return true
		}
	}
	return false
}

// guest returns an Inst for a step of the next stage, some of whose user code runs in this one.
func (b *Bound) guest(s *graph.Step) *Inst {
	x := &Inst{Step: s, mark: int32(s.ID) + 1}
	b.guests = append(b.guests, x)
	return x
}

// Close calls the OnClose hooks, all of them, and returns the first failure. It is called once, also after a failure.
func (b *Bound) Close() error {
	failed := b.Elem.Err
	for _, h := range b.OnClose {
		b.Elem.Err = nil
		b.runHook(h)
		if failed == nil {
			failed = b.Elem.Err
		}
	}
	b.Elem.Err = failed
	b.publish()
	return failed
}

// FinishBundle is the first half of a bundle's end: the steps' hooks and the flush.
func (b *Bound) FinishBundle() {
	b.RunHooks(b.OnBundleFinish)
	b.Flush()
}

// publish makes the metrics of the task visible.
func (b *Bound) publish() {
	for _, f := range b.flushes {
		f()
	}
}

// Advance is the second half: every step's watermarks, from the stage's input watermark.
func (b *Bound) Advance(in event.Time) {
	for _, s := range b.Insts {
		low := in
		for i, p := range s.parents {
			if i == 0 || p.Out < low {
				low = p.Out
			}
		}
		if len(s.parents) == 0 {
			invariants.Check(low >= s.in, "watermark of %s goes back from %v to %v", s.Step.Name, s.in, low)
		}
		s.advance(low)
	}
}

// Output tells the engine's end of an exchange which batches to carry. It is implemented by the engine.
type Output interface {
	// Receivers returns the number of tasks on the other side.
	Receivers() int
	// Take returns a batch that has come back from a receiver, nil if a new one may be made; ok is false if the run is
	// ending. It blocks until the receiver has credit.
	Take(to int) (p Payload, ok bool)
	// Mark returns the greatest watermark that was sent.
	Mark() event.Time
	// Send hands a batch to a receiver. It does not block.
	Send(to int, p Payload)
}

// Payload is a batch on its way. The concrete type is a *Batch.
type Payload interface {
	// Len returns the number of elements.
	Len() int
	// Reset empties the batch and clears what it pointed to.
	Reset()
}

// Reader is the receiving end of an exchange in one task, with the state behind it.
type Reader interface {
	// Batch takes elements from to to-1 of a batch that came for the head's input number input.
	Batch(e *Elem, p Payload, from, to int)
	// Advance is told that the input watermark is now in, and does what is due.
	Advance(e *Elem, in event.Time)
	// Alarm returns the processing time at which Clock has something to do; ok is false if there is none.
	Alarm() (at event.Time, ok bool)
	// Clock does what is due at processing time e.Now.
	Clock(e *Elem)
	// Current returns the element at hand, for the error of a panic; nil if there is none.
	Current() any
	// Direct returns the Sink that takes elements without a batch, from a stage that runs in the same goroutine.
	Direct() any
}

// RootTask is a stage's beginning without an input, in one task.
type RootTask interface {
	// Start is called once; it may emit, and call s between elements.
	Start(e *Elem, s Safe)
	// Mark returns the watermark of all that was emitted and flushed before the call.
	Mark() (t event.Time, idle bool)
	// Current returns the element at hand, for the error of a panic; nil if there is none.
	Current() any
}

// Safe is how a root that runs for long meets the engine between two elements.
type Safe interface {
	// Points is called after n more elements. It may end the bundle. It returns after how many elements it is to be called again,
	// at least 1, or 0 if the root must return.
	Points(n int) int
	// Block runs f, which may wait, after what is unflushed has been flushed.
	Block(f func(ctx context.Context) error) error
}
