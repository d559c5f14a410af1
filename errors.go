package levada

import (
	"errors"
	"fmt"
	"strings"

	"github.com/levadaflow/levada/coder/plan"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/engine"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/trigger"
	"github.com/levadaflow/levada/window"
)

// Problems of a pipeline's building. Each is wrapped by a [*BuildError]; test with errors.Is.
var (
	// ErrDuplicateName: two steps of one scope have the same name.
	ErrDuplicateName = errors.New("duplicate step name")
	// ErrBadName: a step's or scope's name is empty or has a slash.
	ErrBadName = errors.New("bad step name")
	// ErrBadWindow: a window function's parameters make no sense.
	ErrBadWindow = window.ErrBadWindow
	// ErrBadLateness: an allowed lateness is negative, or not in whole milliseconds.
	ErrBadLateness = errors.New("bad allowed lateness")
	// ErrBadSkew: an allowed skew is negative, or not in whole milliseconds.
	ErrBadSkew = errors.New("bad allowed skew")
	// ErrBadTrigger: the trigger's parts or numbers make no sense.
	ErrBadTrigger = trigger.ErrBadTrigger
	// ErrNilFunction: a step was given nil, or its setup returned nil, where there must be a function, combining function or source.
	// The call panics with the *BuildError; what a setup returns is reported with the other problems.
	ErrNilFunction = errors.New("a function is nil")
	// ErrUnsafeTrigger: the trigger of a grouping can finish, and would then drop what comes later. See trigger.MayLoseData.
	ErrUnsafeTrigger = errors.New("the trigger may lose data")
	// ErrAccumulationUnset: a window can fire more than once and it was not said whether its panes accumulate.
	ErrAccumulationUnset = errors.New("accumulation is not set")
	// ErrUnboundedGlobal: an unbounded input is grouped in the global window with the default trigger: no pane would ever come.
	ErrUnboundedGlobal = errors.New("an unbounded input is grouped in the global window")
	// ErrIncompatibleFlatten: the inputs of a Flatten have windows or triggers that do not go together.
	ErrIncompatibleFlatten = errors.New("incompatible inputs of a flatten")
	// ErrKeyType: equal keys may have different encodings, or the other way round.
	ErrKeyType = plan.ErrKeyType
	// ErrValueType: values of the type cannot be encoded.
	ErrValueType = plan.ErrValueType
	// ErrOtherPipeline: the inputs of a step belong to different pipelines.
	ErrOtherPipeline = errors.New("collections of different pipelines")
	// ErrStatefulMerging: a step with state has windows that merge, so that there is no one window for its state.
	ErrStatefulMerging = errors.New("state in windows that merge")
	// ErrDuplicateState: two cells of one kind, or two timers, of a step have the same name.
	ErrDuplicateState = errors.New("duplicate name of a state or timer")
	// ErrBadTimer: a timer has no function, or two, or there are too many timers; while running: one is aligned to a period of less than a
	// millisecond.
	ErrBadTimer = errors.New("bad timer")
	// ErrBadBatch: the limits of a GroupIntoBatches make no sense.
	ErrBadBatch = errors.New("bad limits of a batch")
	// ErrBadConcurrent: the limits or times of a MapConcurrent make no sense.
	ErrBadConcurrent = errors.New("bad limits of concurrent calls")
	// ErrSideMerging: a view is over windows that merge, or that depend on the element: no window of it belongs to one of the main input.
	ErrSideMerging = errors.New("a side input in windows that merge")
	// ErrSideWindows: the main input is in the global window, and its side input in others.
	ErrSideWindows = errors.New("the windows of a side input do not go with those of the main input")
	// ErrBadRestrictions: the restrictions, estimator or options of a splittable step make no sense.
	ErrBadRestrictions = errors.New("bad restrictions")
	// ErrBadInterval: the bounds of an IntervalJoin leave no pair, or are not in whole milliseconds.
	ErrBadInterval = errors.New("bad interval of a join")
	// ErrDeclaring: a handle was used while the pipeline was being built.
	ErrDeclaring = errors.New("used while the pipeline is built")
)

// Failures of a running pipeline; test with errors.Is.
var (
	// ErrSkew: a step moved an element's time further back than its allowed skew.
	ErrSkew = event.ErrSkew
	// ErrOutOfRange: a step gave an element a time outside of [event.Min, event.Max].
	ErrOutOfRange = event.ErrOutOfRange
	// ErrNotInWindow: a window function of the user's gave an element a window that does not contain it, or is none.
	ErrNotInWindow = exec.ErrNotInWindow
	// ErrBadMerge: a window.Merger of the user's broke the rules of merging.
	ErrBadMerge = exec.ErrBadMerge
	// ErrZeroTime: a time function returned the zero time.Time.
	ErrZeroTime = event.ErrZeroTime
	// ErrForeignState: a cell or timer was used outside of its own step's calls for a key.
	ErrForeignState = errors.New("state is used outside of the calls of its step")
	// ErrTimerExpiry: an event timer was set beyond its window's expiry, or any timer in the call at the expiry.
	ErrTimerExpiry = exec.ErrTimerExpiry
	// ErrTimerOutput: a timer's output time is before the call's time, after the time it fires at, or after the window's expiry.
	ErrTimerOutput = exec.ErrTimerOutput
	// ErrTimerLoop: timers set each other for ever without time going on.
	ErrTimerLoop = exec.ErrTimerLoop
	// ErrEmptySingleton: the view of a single element was looked at where it has none, and no default. See Singleton.Get.
	ErrEmptySingleton = errors.New("the view of a single element has none, and no default")
	// ErrManySingleton: the view of a single element was looked at where it has more. See Singleton.Get.
	ErrManySingleton = errors.New("the view of a single element has more than one")
	// ErrManyValues: a map view was looked at in a window in which its collection has a key twice. See AsMap.
	ErrManyValues = errors.New("a key of a map view has more than one value")
	// ErrUnclaimed: a splittable DoFn returned although a part of its restriction was not claimed.
	ErrUnclaimed = exec.ErrUnclaimed
	// ErrUseAfter: a claim was used after the call that it was handed to.
	ErrUseAfter = exec.ErrUseAfter
	// ErrSpinning: a splittable DoFn wants to be called again at once, again and again, and claims and emits nothing.
	ErrSpinning = exec.ErrSpinning
	// ErrStuck: nothing can run although the input has not finished. The text says who waits for whom.
	ErrStuck = engine.ErrStuck
	// ErrSwallowed: user code recovered a panic of a step that reads its output, so that an element was lost.
	ErrSwallowed = exec.ErrSwallowed
	// ErrHanging: the run was ended and user code did not return within 5 s. Its goroutine is left behind.
	ErrHanging = engine.ErrHanging
)

// A BuildError is one thing that is wrong with a pipeline, found while it is built.
type BuildError struct {
	Step string // path
	Site string // file:line of the call
	Err  error
}

// Error names site and step.
func (e *BuildError) Error() string { return fmt.Sprintf("%s: step %s: %v", e.Site, e.Step, e.Err) }

// Unwrap returns the cause.
func (e *BuildError) Unwrap() error { return e.Err }

// BuildErrors are all that is wrong with a pipeline, in the order of its steps. errors.Is and errors.As see each.
type BuildErrors []*BuildError

// Error has a line for each.
func (e BuildErrors) Error() string {
	lines := make([]string, len(e))
	for i, x := range e {
		lines[i] = x.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns them all.
func (e BuildErrors) Unwrap() []error {
	all := make([]error, len(e))
	for i, x := range e {
		all[i] = x
	}
	return all
}

// A StepError is an error or panic of a step while the pipeline runs.
type StepError struct {
	Step    string     // path
	Element string     // cut to 200 bytes; "" if there was none
	Time    event.Time // the element's
	Window  string     // its first window; "" if there was none
	Stack   string     // of a panic; else ""
	Err     error
}

// Error names the place first; the stack comes last.
func (e *StepError) Error() string { f := exec.Failure(*e); return f.Error() }

// Unwrap returns the cause.
func (e *StepError) Unwrap() error { return e.Err }

// PublicError makes an engine's error one of this package. It is for the packages of this project.
func PublicError(err error) error {
	if f, ok := err.(*exec.Failure); ok {
		s := StepError(*f)
		return &s
	}
	if err == nil {
		return nil
	}
	var f *exec.Failure
	if errors.As(err, &f) { // joined with another
		s := StepError(*f)
		return &joinedError{err, &s}
	}
	return err
}

// joinedError is an error of the engine in which a step's failure can be found as a *StepError.
type joinedError struct {
	error
	step *StepError
}

func (e *joinedError) Unwrap() []error { return []error{e.error, e.step} }
