package exec

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/levadaflow/levada/event"
)

// Sink takes an element whose time, windows and pane are in e.
type Sink[T any] func(e *Elem, v T)

// Elem is what is known of the element at hand, and of the task that runs it. There is one per task.
type Elem struct {
	Time event.Time
	Now  event.Time // processing time, read once a bundle
	Pane event.Pane
	Win  []event.Window // never empty where an element is; not kept by anybody
	Err  error          // the bundle's first failure, a *Failure or ErrStopped
	Run  *Run
	Task int
	// Nested is the number of emits that user code is in. If it has not come back to what it was when the user code was
	// called, that code has recovered a panic of a step behind it: what was being emitted is lost.
	Nested int
	// Hand is the element that user code works for, for the error of a panic, if it is not the one with which the stage began; else nil.
	Hand any
	at   mark
	_    Apart
}

// Apart keeps what one task writes for each element from sharing a cache line with what another writes: it is the last field of
// such structs, which are made for all tasks one after the other.
type Apart [128]byte

// Run is what all tasks of a run share.
type Run struct {
	Ctx context.Context
	// Input is what waits for the outside listens to: it ends with Ctx, and when the run is drained.
	Input context.Context
	// Share, for tests, says at each claim what is to become of a restriction's rest: 0 keep it, 1 give half of it away, 2 all of it.
	Share func() int
	// Late is told, once a task, that a step counts elements behind a watermark; nil if nobody wants to know.
	Late    func(step, counter string, t, mark event.Time)
	stopped atomic.Bool
	drained atomic.Bool
}

// Stop makes every task stop at its next element.
func (r *Run) Stop() { r.stopped.Store(true) }

// Drain says that sources are to end.
func (r *Run) Drain() { r.drained.Store(true) }

// Draining reports whether sources are to end.
func (r *Run) Draining() bool { return r.drained.Load() }

// Stopped reports whether the run is ending early.
func (r *Run) Stopped() bool { return r.stopped.Load() }

// ErrStopped is the error of a bundle that was given up because the run ends.
var ErrStopped = errors.New("the run is ending")

// Failure is an error of a step, with its place.
type Failure struct {
	Step    string // path
	Element string // cut; "" if there was none
	Time    event.Time
	Window  string // "" if there was none
	Stack   string // of a panic, else ""
	Err     error
}

// Error names the place first.
func (f *Failure) Error() string {
	s := "step " + f.Step
	if f.Element != "" {
		s += fmt.Sprintf(", element %s at %v", f.Element, f.Time)
	}
	if f.Window != "" {
		s += " in window " + f.Window
	}
	s += ": " + f.Err.Error()
	if f.Stack != "" {
		s += "\n" + f.Stack
	}
	return s
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// ErrSwallowed is the failure of user code that has recovered a panic of a step behind it.
var ErrSwallowed = errors.New("a panic of a step that read the output was recovered: recover around your own code only, not around Emit")

// maxElement is how many bytes of an element an error shows.
const maxElement = 200

// Fail makes err the bundle's failure unless there is one. v is the element; nothing of it is kept.
func (e *Elem) Fail(st *Inst, v any, err error) { e.fail(st, v, err, "") }

func (e *Elem) fail(st *Inst, v any, err error, stack string) {
	if e.Err != nil {
		return
	}
	f := &Failure{Step: st.Step.Name, Time: e.Time, Stack: stack, Err: err}
	if v != nil {
		f.Element = cut(fmt.Sprintf("%+v", v))
	}
	if len(e.Win) > 0 {
		f.Window = e.Win[0].String()
	}
	e.Err = f
}

func cut(s string) string {
	if len(s) > maxElement {
		return s[:maxElement] + fmt.Sprintf("... (%d bytes)", len(s))
	}
	return s
}

// Panicked makes what was recovered from user code the bundle's failure.
func (e *Elem) Panicked(st *Inst, v, recovered any) {
	err, ok := recovered.(error)
	if ok {
		err = fmt.Errorf("panic: %w", err)
	} else {
		err = fmt.Errorf("panic: %v", recovered)
	}
	if e.Hand != nil {
		v = e.Hand
	}
	e.fail(st, v, err, string(debug.Stack()))
}

// Emit gives v to out with another time, windows and pane unchanged.
func Emit[T any](e *Elem, out Sink[T], v T, t event.Time) {
	old := e.Time
	e.Time = t
	out(e, v)
	e.Time = old
}

// Enter notes that code of st runs from now on: before a user's function, and again after elements have been emitted from it.
// It is how a panic, or a run that hangs, gets the name of its step without a deferred call per element.
func (e *Elem) Enter(st *Inst) { e.at.set(st.mark) }

// At returns the ID of the step that runs or ran last, -1 if none did. It may be called from another goroutine, whose answer may
// be a little old.
func (e *Elem) At() int32 { return e.at.get() - 1 }
