package levada

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/engine"
)

// Runner runs a pipeline somewhere. [Embedded] is the one that runs it in this process.
type Runner interface {
	// Run runs the pipeline to its end and returns what came of it. A pipeline that is built wrong is a [BuildErrors]; a
	// cancelled run is errors.Is(err, context.Canceled); a failure of a step is a [*StepError].
	Run(ctx context.Context, p *Pipeline) (*Result, error)
}

// Run runs the pipeline with a runner, to its end.
func (p *Pipeline) Run(ctx context.Context, r Runner) (*Result, error) { return r.Run(ctx, p) }

// Clock gives processing time; it may be used by several goroutines at once.
type Clock interface{ Now() time.Time }

// Embedded runs a pipeline in this process. The zero value is ready.
type Embedded struct {
	// Parallelism is the number of tasks of each stage, a goroutine each; 0 is GOMAXPROCS.
	Parallelism int
	// Clock gives processing time; nil is the machine's clock.
	Clock Clock
	// MaxBundle ends a bundle after that many elements; 0 lets the engine decide. It is a knob for tests: results do not
	// depend on it.
	MaxBundle int
	// GeneralPath makes groupings take the general path where the fast one would do. It is a knob for tests: results do not
	// depend on it.
	GeneralPath bool
	// Unfused gives each step tasks of its own, with an exchange in front of it, where a chain of steps would be one task. It is a
	// knob for tests: results do not depend on it.
	Unfused bool
	// Drain, when it is closed, ends the sources: splittable DoFns are told (see [Ctx.Draining]) and what they have not claimed is dropped if it is
	// unbounded; timers fire, windows come out, and the run ends well. nil is never.
	Drain <-chan struct{}
	// Logger gets a line when a step counts its first late element, and when one stands still; nil is slog.Default().
	Logger *slog.Logger
	// StallAfter is how long a step's watermark may stand while elements wait in the step before that is logged, with what it waits
	// for; 0 is a minute, a negative time means never.
	StallAfter time.Duration
	// Progress is called about five times a second while the pipeline runs, and once at the end; nil for nothing.
	Progress func(Progress)
}

// Progress is how far a run has come.
type Progress struct {
	Records int64 // elements read from sources
	Bytes   int64 // read from sources
	Total   int64 // bytes of all sources, as far as known
	Done    bool  // the last call
}

// Run implements [Runner]. Nothing of the run is left behind when it returns, with one exception: if the run was ended and
// user code does not return within 5 s, Run returns an error that wraps ErrHanging and names the step, and that goroutine
// stays. The Result is nil if the run did not start.
func (o Embedded) Run(ctx context.Context, p *Pipeline) (*Result, error) {
	g, err := p.Build()
	if err != nil {
		return nil, err
	}
	j, err := engine.Start(ctx, g, engine.Options{
		Parallelism: o.Parallelism, Clock: o.Clock, MaxBundle: o.MaxBundle, General: o.GeneralPath, Unfused: o.Unfused,
		Logger: o.Logger, StallAfter: o.StallAfter,
	})
	if err != nil {
		return nil, PublicError(err)
	}
	if o.Drain != nil {
		go func() {
			select {
			case <-o.Drain:
				j.Drain()
			case <-j.Over():
			}
		}()
	}
	if o.Progress != nil {
		j.Watch(func() { o.Progress(progressOf(j, false)) })
	}
	err = PublicError(j.Wait())
	if o.Progress != nil {
		o.Progress(progressOf(j, true))
	}
	return ResultOf(j), err
}

func progressOf(j *engine.Job, done bool) Progress {
	p := Progress{Total: j.Total(), Done: done}
	sources := j.Sources()
	for _, m := range j.Metrics() {
		switch {
		case !slices.Contains(sources, m.Step):
		case m.Name == "records":
			p.Records += m.Value().Sum
		case m.Name == "bytes":
			p.Bytes += m.Value().Sum
		}
	}
	return p
}

// Result is what came of a run.
type Result struct {
	// Steps has every step, in the pipeline's order.
	Steps         []StepResult
	Counters      []CounterResult      // those that are not zero, by step in the pipeline's order, then by name
	Distributions []DistributionResult // those that have values, in the same order
}

// StepResult is how far a step came.
type StepResult struct {
	Name    string     // path
	In, Out event.Time // its watermarks, the least of its tasks'
	Held    Held       // what keeps Out below In; zero if nothing does
}

// Held is what keeps a step's output watermark back.
type Held struct {
	// Kind is "pane" (open windows with elements), "timer" (the output time of a timer, or the call at a window's expiry), "element"
	// (elements that wait), "side" (elements that wait for side inputs), "estimator" (of a splittable step), "call" (elements of a MapConcurrent whose call has not returned, or whose result waits for its turn), "shift"
	// (ShiftTimestamps; Time is then the shift in milliseconds) or "split" (of a source).
	Kind string
	Time event.Time
	By   string // the name of the split
}

// CounterResult is a counter of a step. The engine's own are dropped_late (pairs of element and window that came too late for a
// grouping or a step with state), dropped_closed (pairs that came after their window's trigger had finished), emitted_late
// (elements that left a step behind its watermark), no_window (elements in no window), retries (attempts of a MapConcurrent's calls
// after their first), records and bytes (of sources).
type CounterResult struct {
	Step, Name string
	Value      int64
}

// DistributionResult is a distribution of a step. The engine's own are dropped_late_ms and emitted_late_ms: how far, in milliseconds,
// the elements that are counted as dropped_late and emitted_late were behind the watermark.
type DistributionResult struct {
	Step, Name           string
	Count, Sum, Min, Max int64
}

// String has a line for each step: its watermarks, and what holds it.
func (r *Result) String() string {
	var b strings.Builder
	for _, s := range r.Steps {
		fmt.Fprintf(&b, "%s in=%v out=%v", s.Name, s.In, s.Out)
		switch {
		case s.Held.By != "":
			fmt.Fprintf(&b, " held by %s %s %v", s.Held.Kind, s.Held.By, s.Held.Time)
		case s.Held.Kind == "shift":
			fmt.Fprintf(&b, " held by shift %v", time.Duration(s.Held.Time)*time.Millisecond)
		case s.Held.Kind != "":
			fmt.Fprintf(&b, " held by %s %v", s.Held.Kind, s.Held.Time)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Counter returns a counter of the step with that path, 0 if there is none.
func (r *Result) Counter(step, name string) int64 {
	for _, c := range r.Counters {
		if c.Step == step && c.Name == name {
			return c.Value
		}
	}
	return 0
}

// Distribution returns a distribution of the step with that path, a zero one if there is none.
func (r *Result) Distribution(step, name string) DistributionResult {
	for _, d := range r.Distributions {
		if d.Step == step && d.Name == name {
			return d
		}
	}
	return DistributionResult{Step: step, Name: name}
}

// ResultOf returns the state of a job. It is for the packages of this project: the type is internal.
func ResultOf(j *engine.Job) *Result {
	r := &Result{}
	order := map[string]int{}
	var gate *StepResult // in front of the step to come
	for i, s := range j.Steps() {
		order[s.Name] = i
		x := StepResult{Name: s.Name, In: s.In, Out: s.Out}
		if s.Held != nil {
			x.Held = Held{Kind: s.Held.Kind, Time: s.Held.Time}
		} else if s.By != "" && s.Out < event.Max {
			x.Held = Held{Kind: "split", Time: s.Out, By: s.By}
		}
		if strings.HasSuffix(s.Name, gateSuffix) {
			gate = &x
			continue
		}
		if gate != nil {
			if x.In = gate.In; x.Held.Kind == "" {
				x.Held = gate.Held
			}
			gate = nil
		}
		r.Steps = append(r.Steps, x)
	}
	for _, m := range j.Metrics() {
		v := m.Value()
		step := strings.TrimSuffix(m.Step, gateSuffix)
		switch {
		case m.Distribution && v.Count > 0:
			r.Distributions = append(r.Distributions, DistributionResult{step, m.Name, v.Count, v.Sum, v.Min, v.Max})
		case !m.Distribution && v.Sum != 0:
			r.Counters = append(r.Counters, CounterResult{step, m.Name, v.Sum})
		}
	}
	by := func(stepA, nameA, stepB, nameB string) int {
		if d := order[stepA] - order[stepB]; d != 0 {
			return d
		}
		return strings.Compare(nameA, nameB)
	}
	slices.SortFunc(r.Counters, func(a, b CounterResult) int { return by(a.Step, a.Name, b.Step, b.Name) })
	slices.SortFunc(r.Distributions, func(a, b DistributionResult) int { return by(a.Step, a.Name, b.Step, b.Name) })
	return r
}
