package levada

import (
	"context"
	"fmt"
	"time"

	"github.com/levadaflow/levada/coder/plan"
	"github.com/levadaflow/levada/internal/async"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/internal/graph"
)

// Concurrent says how [MapConcurrent] makes its calls. Max must be set; the zero values of the rest are ready. All times are real ones,
// whatever clock the run has: services know no other.
type Concurrent struct {
	// Max is how many calls run at once at most: in this process, over all tasks of the step and all runs of its pipeline. A call runs from
	// its first attempt to the end of the last, waits between them included. It must be positive: how much a service bears is for its user
	// to say.
	Max int
	// Ordered emits results in the order in which their elements came to the task; with a parallelism of more than 1, elements of other
	// tasks come in between. A slow call then keeps back those behind it, and when there are Max of them the task waits for it.
	// Otherwise results are emitted as they come.
	Ordered bool
	// Timeout ends the context of an attempt after that long. 0 is no limit. An attempt that does not return then is waited for, and what
	// it returns counts: a result is a result, and only an error can be the timeout's.
	Timeout time.Duration
	// Retry says what happens after an error. The zero value makes no second attempt.
	Retry Retry
}

// Retry says how often a call is attempted and how long it waits between: Initial after the first attempt, then twice as long each time,
// but not longer than Longest, and less by a random part.
type Retry struct {
	// Attempts is the number of them at most, the first among them. 0 is 1.
	Attempts int
	// Initial is the wait after the first attempt. 0 is 100 ms.
	Initial time.Duration
	// Longest is the longest wait. 0 is 10 s, or Initial if that is longer.
	Longest time.Duration
	// Jitter is how much of a wait is random, from 0 to 1, so that what failed together does not come back together. 0 is a half, a
	// negative number none: with a half a wait is between half of what it would be and all of it.
	Jitter float64
	// If reports whether another attempt is worth it after an error; nil is always. It is called by several goroutines at once.
	If func(err error) bool
}

const (
	defaultBackoff = 100 * time.Millisecond
	longestBackoff = 10 * time.Second
	defaultJitter  = 0.5
)

// MapConcurrent calls fn for every element, for many at once, and emits what it returns at the element's time, in its windows and with
// its pane. It is for calls that wait, to services and databases: with c.Max = 64, calls of 50 ms take about 1/64 of what they would
// take in a [TryMap]. An element is one call, however many windows it is in.
//
// fn is called by several goroutines at once and is shared by all tasks. It gets a copy of the element and a context, which is done
// when the attempt has timed out or the run ends, and must return then; see ErrHanging. An error that is left after the last attempt
// fails the run with the step's path and the element; with [FailedTo] it goes there, with the element's time, windows and pane, and
// the run goes on. The text is the error's, behind "after n attempts: " if there were several, and "timeout of d: " after a timeout.
// A panic always fails the run and is not tried again.
//
// An element whose call has not returned, or whose result has not been emitted, holds the watermark at its time, so that nothing
// becomes late by waiting. No bundle waits for a call, but if a task has c.Max elements waiting, or if c.Max calls run, it reads no
// further. The run does not end before all calls have returned, and under the clock of levadatest time stands still meanwhile.
//
// Elements are copied, so I must be a type that can be encoded. Nothing is remembered beyond a failure of the run: who runs it again
// calls again. (As Flink's async I/O; Beam has no such step.)
func MapConcurrent[I, O any](in PCollection[I], name string, c Concurrent, fn func(ctx context.Context, v I) (O, error),
	opts ...TryOption[I]) PCollection[O] {
	p := in.owner(name)
	p.needs(name, fn != nil)
	values, err := plan.For[I]()
	if err != nil {
		p.problem(p.path(name), err)
	}
	if err := c.check(); err != nil {
		p.problem(p.path(name), err)
	}
	step := async.NewStep[I, O](max(c.Max, 0))
	step.Policy, step.Ordered, step.Values, step.Call = c.policy(), c.Ordered, values, fn
	keep := len(opts) > 0
	op := &exec.ChainOp{Bind: func(b *exec.Binder, st *exec.Inst, outs []any) any {
		var failed func(e *exec.Elem, v I, err error)
		if keep {
			sink := outs[1].(exec.Sink[Failed[I]])
			failed = func(e *exec.Elem, v I, err error) { sink(e, Failed[I]{v, err.Error()}) }
		}
		return step.Bind(b, st, outs[0].(exec.Sink[O]), failed)
	}}
	s := p.add(&graph.Step{
		Kind: graph.Chain, Op: op, Inputs: []graph.Port{in.port},
		Outputs: []graph.Output{exec.OutputOf[O]{}, exec.OutputOf[Failed[I]]{}},
	}, name)
	for _, o := range opts {
		*o.failed = derived[Failed[I]](in, s, 1)
	}
	return derived[O](in, s, 0)
}

func (c *Concurrent) check() error {
	r := &c.Retry
	switch {
	case c.Max <= 0:
		return fmt.Errorf("%w: Max is %d: say how many calls may run at once", ErrBadConcurrent, c.Max)
	case c.Timeout < 0:
		return fmt.Errorf("%w: Timeout is %v", ErrBadConcurrent, c.Timeout)
	case r.Attempts < 0:
		return fmt.Errorf("%w: Retry.Attempts is %d", ErrBadConcurrent, r.Attempts)
	case r.Initial < 0 || r.Longest < 0:
		return fmt.Errorf("%w: the waits of Retry are %v and %v", ErrBadConcurrent, r.Initial, r.Longest)
	case r.Longest > 0 && r.Longest < r.Initial:
		return fmt.Errorf("%w: Retry.Longest, %v, is shorter than Initial, %v", ErrBadConcurrent, r.Longest, r.Initial)
	case !(r.Jitter <= 1):
		return fmt.Errorf("%w: Retry.Jitter is %v: it is a part, at most 1", ErrBadConcurrent, r.Jitter)
	}
	return nil
}

// policy returns what is said of a single call, with the defaults in place.
func (c *Concurrent) policy() async.Policy {
	r := &c.Retry
	p := async.Policy{
		Timeout: c.Timeout, Attempts: max(r.Attempts, 1), Initial: r.Initial, Longest: r.Longest, Jitter: max(r.Jitter, 0), If: r.If,
	}
	if p.Initial == 0 {
		p.Initial = defaultBackoff
	}
	if p.Longest == 0 {
		p.Longest = max(longestBackoff, p.Initial)
	}
	if r.Jitter == 0 {
		p.Jitter = defaultJitter
	}
	return p
}
