package levada

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/levadaflow/levada/coder/plan"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/internal/graph"
	"github.com/levadaflow/levada/source"
)

// Splitting is the setup of a splittable DoFn. See [Setup], which it extends, and [ParDoSplit].
type Splitting struct {
	*Setup
	x         *exec.Splitting // nil while declaring
	estimator bool
}

// ProcessSplit is what a splittable DoFn does with a restriction of an element: it claims positions and emits what belongs to them, until a
// claim fails, or all is claimed ([Done]), or nothing is there for now ([ResumeAfter]).
type ProcessSplit[I, R, P any] func(c *Ctx, v I, claim *Claim[R, P]) (Resume, error)

// Resume is what a call of a [ProcessSplit] says about the rest of its restriction.
type Resume struct{ again exec.Again }

// Done says that all of the restriction has been claimed, or that a claim has failed. If it is not so the run fails, with
// source.ErrUnclaimed for offsets.
var Done Resume

// ResumeAfter says that there is a rest, for which the function is to be called again when d of processing time has passed since this call
// began. A thousand calls in a row that claim and emit nothing and want to be called again at once fail the run with ErrSpinning.
func ResumeAfter(d time.Duration) Resume { return Resume{exec.Again{Resume: true, After: d}} }

// Claim is how a [ProcessSplit] tells the engine what it processes. It is valid during the call only, in that goroutine only.
type Claim[R, P any] struct{ c *exec.Claim[R, P] }

// TryClaim claims a position. False: it does not belong to the call, or no longer; the call must emit nothing for it and return.
// That happens at the restriction's end, and when the rest was given to others, the run is drained, or it ends.
func (c *Claim[R, P]) TryClaim(p P) bool { return c.c.TryClaim(p) }

// Restriction returns what the call is for now; its end may come nearer with each claim.
func (c *Claim[R, P]) Restriction() R { return c.c.Restriction() }

// Block runs f, which may wait for the outside, after all that was emitted has been sent on. f's context is done when the run ends or is
// drained: f returns then, and the call with f's error. Waiting without Block holds up what was emitted.
func (c *Claim[R, P]) Block(f func(ctx context.Context) error) error { return c.c.Block(f) }

// SplitOption is an option of [ParDoSplit].
type SplitOption interface{ splitOption(o *splitOptions) error }

type splitOptions struct{ skew, maxDrift int64 }

func (o TimeOption) splitOption(to *splitOptions) error {
	ms, err := o.millis()
	to.skew = ms
	return err
}

type maxDrift time.Duration

func (d maxDrift) splitOption(to *splitOptions) error {
	if d < 0 {
		return fmt.Errorf("%w: a drift of %v", ErrBadRestrictions, time.Duration(d))
	}
	to.maxDrift = time.Duration(d).Milliseconds()
	return nil
}

// MaxDrift makes a restriction whose watermark is ahead of the slowest one's by more than d, in whole milliseconds, wait until that has come
// nearer, so that what is grouped behind need not keep what the fast ones have read in advance.
func MaxDrift(d time.Duration) SplitOption { return maxDrift(d) }

// ParDoSplit calls a splittable DoFn for every element, each of its windows, and each of the element's restrictions: parts of what
// there is to do that are processed in parallel, split while they are, and left and gone on with. r says what they are; fn is the DoFn's setup.
// It is how sources are written: an element says what to read, an offset range where.
//
// Outputs have the element's time, or another one under the rule of [Out.EmitAt], its windows and its pane. How far they are complete says an
// estimator, of which the setup may declare one ([ManualWatermark], [MonotonicWatermark], [BoundedWatermark], [WallTimeWatermark]); without it a
// restriction holds the watermark at its element's time until it is done. (Beam's splittable DoFn.)
func ParDoSplit[I, R, P, O any](in PCollection[I], name string, r source.Restrictions[I, R, P],
	fn func(*Splitting, *Out[O]) ProcessSplit[I, R, P], opts ...SplitOption) PCollection[O] {
	in.owner(name).needs(name, fn != nil)
	s := parDoSplit(in, name, r, opts, []graph.Output{exec.OutputOf[O]{}}, func(s *Splitting, x outs) ProcessSplit[I, R, P] {
		return fn(s, splitOut[O](s, x, 0))
	})
	return unboundedIf(derived[O](in, s, 0), r.Unbounded)
}

// ParDoSplit2 is ParDoSplit with two outputs.
func ParDoSplit2[I, R, P, O1, O2 any](in PCollection[I], name string, r source.Restrictions[I, R, P],
	fn func(*Splitting, *Out[O1], *Out[O2]) ProcessSplit[I, R, P], opts ...SplitOption) (PCollection[O1], PCollection[O2]) {
	in.owner(name).needs(name, fn != nil)
	types := []graph.Output{exec.OutputOf[O1]{}, exec.OutputOf[O2]{}}
	s := parDoSplit(in, name, r, opts, types, func(s *Splitting, x outs) ProcessSplit[I, R, P] {
		return fn(s, splitOut[O1](s, x, 0), splitOut[O2](s, x, 1))
	})
	return unboundedIf(derived[O1](in, s, 0), r.Unbounded), unboundedIf(derived[O2](in, s, 1), r.Unbounded)
}

func unboundedIf[T any](c PCollection[T], unbounded bool) PCollection[T] {
	c.unbounded = c.unbounded || unbounded
	return c
}

// splitOut is an output that tells the estimator of what goes through it.
func splitOut[T any](s *Splitting, x outs, i int) *Out[T] {
	o := outOf[T](x, i)
	if sink := o.sink; sink != nil {
		o.sink = func(e *exec.Elem, v T) {
			at := e.Time
			if sink(e, v); e.Err == nil {
				s.x.Emitted(e, at)
			}
		}
	}
	return o
}

// parDoSplit adds the step of a splittable DoFn, whose setup has been reduced to one form for any number of outputs.
func parDoSplit[I, R, P any](in PCollection[I], name string, r source.Restrictions[I, R, P], opts []SplitOption, types []graph.Output,
	setup func(*Splitting, outs) ProcessSplit[I, R, P]) *graph.Step {
	p := in.owner(name)
	path := p.path(name)
	o := splitOptions{maxDrift: -1}
	for _, opt := range opts {
		if err := opt.splitOption(&o); err != nil {
			p.problem(path, err)
		}
	}
	if r.Initial == nil || r.Track == nil {
		p.problem(path, fmt.Errorf("%w: Initial and Track are required", ErrBadRestrictions))
	}
	if _, err := plan.For[R](); err != nil {
		p.problem(path, fmt.Errorf("the restriction: %w", err))
	}
	values, err := plan.For[I]()
	if err != nil {
		p.problem(path, err)
		values = nil
	}
	op := exec.Splittable[I, R, P]{Source: r, Values: values, MaxDrift: o.maxDrift}
	var views []*sideView
	declared := p.declare(name, func(s *Setup) {
		if setup(&Splitting{Setup: s}, outs{s: s, skew: o.skew}) == nil {
			panic(errNilProcess)
		}
		views = s.views
	})
	in = gate(in, name, views)
	op.Bind = func(b *exec.Binder, st *exec.Inst, sinks []any, x *exec.Splitting) func(*exec.Elem, I, *exec.Claim[R, P]) (exec.Again, error) {
		s := &Splitting{Setup: &Setup{step: st.Step.Name, b: b, st: st, latenessMs: in.windowing.latenessMs}, x: x}
		var process ProcessSplit[I, R, P]
		out := outs{sinks, s.Setup, o.skew, b.Late(st, exec.EmittedLate)}
		guard(b.Elem, st, func() { process = setup(s, out) })
		if !slices.Equal(s.declared, declared) {
			b.Elem.Fail(st, nil, fmt.Errorf("the setup declared %q while the pipeline was built and %q now", declared, s.declared))
		}
		return func(e *exec.Elem, v I, claim *exec.Claim[R, P]) (exec.Again, error) {
			c := &Ctx{e: e, st: st}
			again, err := process(c, v, &Claim[R, P]{claim})
			c.over = true
			return again.again, err
		}
	}
	step := &graph.Step{Kind: graph.Exchange, Inputs: []graph.Port{in.port}, Outputs: types}
	if values != nil {
		step.Op = op.Op()
	}
	return p.add(step, name)
}

// Draining reports whether the run is being drained: sources end, and what is open comes out.
func (c *Ctx) Draining() bool { return c.elem().Run.Draining() }

// EstimatorOption is an option of an estimator.
type EstimatorOption struct{ idleAfter time.Duration }

// IdleAfter makes a restriction that has emitted nothing for d of processing time stop holding the watermark, until it emits again. That is found out
// at the end of a call.
func IdleAfter(d time.Duration) EstimatorOption { return EstimatorOption{d} }

// Watermark is an estimator that a setup has declared.
type Watermark struct {
	x    *exec.Splitting
	step string
}

// Idle says that nothing will come for long: if the call emits nothing, its restriction does not hold the watermark until it emits again. If all
// restrictions of a step are idle its watermark stays where it is, and what is behind need not wait for it.
func (w *Watermark) Idle() {
	w.bound()
	w.x.Idle()
}

func (w *Watermark) bound() {
	if w.x == nil {
		panic(fmt.Errorf("%w: the watermark of step %s", ErrDeclaring, w.step))
	}
}

// ManualMark is an estimator that the DoFn sets. See [ManualWatermark].
type ManualMark struct {
	Watermark
	m  source.ManualEstimator
	st *exec.Inst
	e  *exec.Elem
}

// Advance says that nothing before t will be emitted for this restriction any more, or is late. A smaller t than before has no effect; one
// outside of [event.Min, event.Max] fails the run with ErrOutOfRange. It becomes visible when what was emitted before has been sent on.
func (m *ManualMark) Advance(t event.Time) {
	m.bound()
	if err := m.m.Set(t); err != nil {
		m.e.Fail(m.st, nil, fmt.Errorf("the watermark: %w", err))
	}
}

// declare adds the estimator.
func (s *Splitting) estimate(name string, est source.Estimator, opts []EstimatorOption) Watermark {
	if s.estimator {
		panic(fmt.Errorf("%w: a second estimator", ErrBadRestrictions))
	}
	s.estimator = true
	s.declare(name)
	for _, o := range opts {
		if o.idleAfter <= 0 {
			panic(fmt.Errorf("%w: IdleAfter(%v)", ErrBadRestrictions, o.idleAfter))
		}
		if s.x != nil {
			s.x.IdleAfter = max(o.idleAfter.Milliseconds(), 1)
		}
	}
	if s.x != nil {
		s.x.Estimator = est
	}
	return Watermark{s.x, s.step}
}

// ManualWatermark declares an estimator that the DoFn sets. It begins at the element's time. Its value travels with what is left of a restriction.
// (Beam's WatermarkEstimators.Manual.)
func ManualWatermark(s *Splitting, opts ...EstimatorOption) *ManualMark {
	m := &ManualMark{st: s.st}
	m.Watermark = s.estimate("ManualWatermark", &m.m, opts)
	if s.b != nil {
		m.e = s.b.Elem
	}
	return m
}

// MonotonicWatermark declares an estimator that follows the times of the outputs, which must only grow. (Beam's MonotonicallyIncreasing.)
func MonotonicWatermark(s *Splitting, opts ...EstimatorOption) *Watermark {
	w := s.estimate("MonotonicWatermark", &source.MonotonicEstimator{}, opts)
	return &w
}

// AnyFuture is for [BoundedWatermark]: every time counts.
const AnyFuture time.Duration = -1

// BoundedWatermark declares an estimator that stays outOfOrder behind the greatest time of the outputs. Times that are more than maxFuture ahead of
// the clock do not count, so that one wrong clock does not make the rest late; they are counted as ignored_future. Both are in whole milliseconds.
func BoundedWatermark(s *Splitting, outOfOrder, maxFuture time.Duration, opts ...EstimatorOption) *Watermark {
	if outOfOrder < 0 || maxFuture < 0 && maxFuture != AnyFuture {
		panic(fmt.Errorf("%w: BoundedWatermark(%v, %v)", ErrBadRestrictions, outOfOrder, maxFuture))
	}
	est := &source.BoundedEstimator{OutOfOrder: outOfOrder.Milliseconds(), MaxFuture: maxFuture.Milliseconds()}
	if maxFuture == AnyFuture {
		est.MaxFuture = -1
	}
	if s.b != nil {
		ignored := s.b.Counter(s.st, "ignored_future")
		est.Ignored = func() { ignored.Inc(1) }
	}
	w := s.estimate(fmt.Sprintf("BoundedWatermark %v %v", outOfOrder, maxFuture), est, opts)
	return &w
}

// WallTimeWatermark declares an estimator that follows the clock, for outputs that have the time at which they are emitted. (Beam's WallTime.)
func WallTimeWatermark(s *Splitting, opts ...EstimatorOption) *Watermark {
	w := s.estimate("WallTimeWatermark", &source.WallTimeEstimator{}, opts)
	return &w
}
