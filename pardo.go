package levada

import (
	"context"
	"fmt"
	"slices"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/internal/graph"
	"github.com/levadaflow/levada/internal/invariants"
)

// Ctx is what a DoFn is told of the element at hand. It is valid during the call only, in that goroutine only.
type Ctx struct {
	e      *exec.Elem
	st     *exec.Inst
	fire   exec.Firing // the timer whose function is called
	firing bool        // there is one
	over   bool        // with the invariants on: the call has returned
	_      exec.Apart
}

func (c *Ctx) elem() *exec.Elem {
	if invariants.Enabled {
		invariants.Check(!c.over, "step %s uses the context of a call that has returned", c.st.Step.Name)
	}
	return c.e
}

// Time returns the element's event time; at a bundle's start and end event.Min; in a timer's function its output time, and after
// event.Max if it was set without a hold; at a window's expiry the window's last instant.
func (c *Ctx) Time() event.Time { return c.elem().Time }

// Window returns the one window of the element that this call is for; at a bundle's start and end the global one.
func (c *Ctx) Window() event.Window {
	if w := c.elem().Win; len(w) > 0 {
		return w[0]
	}
	return event.Global()
}

// Pane returns the firing that the element came out of, event.NoPane if none.
func (c *Ctx) Pane() event.Pane { return c.elem().Pane }

// FireTime returns, in a timer's function, the time that the timer was set for; else 0.
func (c *Ctx) FireTime() event.Time { c.elem(); return c.fire.At }

// Now returns the processing time, as it was when the bundle began.
func (c *Ctx) Now() event.Time { return c.elem().Now }

// Tag returns, in a timer's function, the tag that the timer was set with; else "".
func (c *Ctx) Tag() string { c.elem(); return c.fire.Tag }

// Context returns a context that is done when the run ends. Whatever may wait should use it.
func (c *Ctx) Context() context.Context { return c.elem().Run.Ctx }

// Out is an output of a DoFn.
//
// Emit never panics and returns nothing: the first failure of a step downstream ends the bundle, and what is emitted
// after it goes nowhere.
type Out[T any] struct {
	sink exec.Sink[T]
	st   *exec.Inst
	step string
	skew int64
	late *exec.Late
}

// Emit emits v with the time, window and pane of the element at hand.
func (o *Out[T]) Emit(c *Ctx, v T) {
	e := c.elem()
	if e.Err == nil {
		sink := o.bound()
		if e.Time > event.Max {
			e.Fail(o.st, v, fmt.Errorf("%w: a timer that was set without a hold has no output time", ErrOutOfRange))
			return
		}
		e.Nested++
		sink(e, v)
		e.Nested--
		e.Enter(o.st)
	}
}

// EmitAt emits v at time t, which must not be before the element's time (less the step's AllowedSkew) and within
// [event.Min, event.Max]; both bounds are allowed. Another time fails the step with ErrSkew or ErrOutOfRange. Window and pane
// stay, even if the window does not contain t.
func (o *Out[T]) EmitAt(c *Ctx, v T, t event.Time) {
	e := c.elem()
	if e.Err == nil {
		sink := o.bound()
		e.Nested++
		retime(e, o.st, sink, v, t, o.skew, o.late)
		e.Nested--
		e.Enter(o.st)
	}
}

// EmitIn emits v at time t in window w with no pane. It is for OnBundleFinish, where there is no element at hand and t may be
// any time within [event.Min, event.Max]; elsewhere the rule of EmitAt holds.
func (o *Out[T]) EmitIn(c *Ctx, v T, t event.Time, w event.Window) {
	e := c.elem()
	if e.Err != nil {
		return
	}
	sink := o.bound()
	old, pane := e.Win, e.Pane
	e.Win, e.Pane = []event.Window{w}, event.NoPane
	e.Nested++
	retime(e, o.st, sink, v, t, o.skew, o.late)
	e.Nested--
	e.Win, e.Pane = old, pane
	e.Enter(o.st)
}

func (o *Out[T]) bound() exec.Sink[T] {
	if o.sink == nil {
		panic(fmt.Errorf("%w: an output of step %s", ErrDeclaring, o.step))
	}
	return o.sink
}

// Counter is a number that a step counts up; it is added up over all tasks. See [Setup.Counter].
type Counter struct {
	c    *exec.Counter
	step string
}

// Inc adds n. It becomes visible at the bundle's end.
func (c *Counter) Inc(n int64) {
	if c.c == nil {
		panic(fmt.Errorf("%w: a counter of step %s", ErrDeclaring, c.step))
	}
	c.c.Inc(n)
}

// Distribution is count, sum, minimum and maximum of values. See [Setup.Distribution].
type Distribution struct {
	d    *exec.Distribution
	step string
}

// Update takes a value. It becomes visible at the bundle's end.
func (d *Distribution) Update(v int64) {
	if d.d == nil {
		panic(fmt.Errorf("%w: a distribution of step %s", ErrDeclaring, d.step))
	}
	d.d.Update(v)
}

// Setup is handed to a DoFn when it is set up: once while the pipeline is built, to declare, and once for each instance, to
// bind. Both times the same must be declared, in the same order. A setup does no I/O: that goes into OnStart.
type Setup struct {
	step       string
	b          *exec.Binder // nil while declaring
	st         *exec.Inst
	declared   []string
	views      []*sideView // its side inputs
	latenessMs int64       // of its main input
}

func (s *Setup) declare(what string) { s.declared = append(s.declared, what) }

// Counter declares a counter.
func (s *Setup) Counter(name string) *Counter {
	s.declare("counter " + name)
	if s.b == nil {
		return &Counter{step: s.step}
	}
	return &Counter{c: s.b.Counter(s.st, name)}
}

// Distribution declares a distribution of values.
func (s *Setup) Distribution(name string) *Distribution {
	s.declare("distribution " + name)
	if s.b == nil {
		return &Distribution{step: s.step}
	}
	return &Distribution{d: s.b.Distribution(s.st, name)}
}

// OnStart declares a function that runs once in each instance before its first bundle, with the run's context. An error
// fails the run.
func (s *Setup) OnStart(f func(ctx context.Context) error) {
	s.declareFunc("OnStart", f == nil)
	if s.b != nil {
		h := s.b.Hooks()
		h.OnStart = append(h.OnStart, exec.Hook{Inst: s.st, Run: func(e *exec.Elem) error { return f(e.Run.Ctx) }})
	}
}

// OnBundleStart declares a function that runs before the first element of each bundle, and of those without elements in which only the watermark
// moves.
func (s *Setup) OnBundleStart(f func(c *Ctx) error) {
	s.declareFunc("OnBundleStart", f == nil)
	if s.b != nil {
		h := s.b.Hooks()
		h.OnBundleStart = append(h.OnBundleStart, s.hook(f))
	}
}

// OnBundleFinish declares a function that runs after the last element of each bundle, before its results go on. It may emit
// with EmitIn.
func (s *Setup) OnBundleFinish(f func(c *Ctx) error) {
	s.declareFunc("OnBundleFinish", f == nil)
	if s.b != nil {
		h := s.b.Hooks()
		h.OnBundleFinish = append(h.OnBundleFinish, s.hook(f))
	}
}

func (s *Setup) hook(f func(c *Ctx) error) exec.Hook {
	c := &Ctx{st: s.st}
	process := Process[struct{}](func(c *Ctx, _ struct{}) error { return f(c) })
	if invariants.Enabled {
		process = mortal(s.st, process)
	}
	return exec.Hook{Inst: s.st, Run: func(e *exec.Elem) error {
		c.e = e
		return process(c, struct{}{})
	}}
}

// OnClose declares a function that runs once in each instance when the run ends, well or not, if it came to a start.
func (s *Setup) OnClose(f func() error) {
	s.declareFunc("OnClose", f == nil)
	if s.b != nil {
		h := s.b.Hooks()
		h.OnClose = append(h.OnClose, exec.Hook{Inst: s.st, Run: func(*exec.Elem) error { return f() }})
	}
}

// Process is what a DoFn does with an element, in one window of it. An error fails the run with the step's path, the
// element and the window.
type Process[I any] func(c *Ctx, v I) error

// ParDo calls a DoFn for every element and each of its windows. fn is the DoFn's setup: see [Setup]. What it returns handles
// one element.
func ParDo[I, O any](in PCollection[I], name string, fn func(*Setup, *Out[O]) Process[I], opts ...TimeOption) PCollection[O] {
	in.owner(name).needs(name, fn != nil)
	s := parDo(in, name, opts, []graph.Output{exec.OutputOf[O]{}}, func(s *Setup, x outs) Process[I] {
		return fn(s, outOf[O](x, 0))
	})
	return derived[O](in, s, 0)
}

// ParDo2 is ParDo with two outputs.
func ParDo2[I, O1, O2 any](in PCollection[I], name string, fn func(*Setup, *Out[O1], *Out[O2]) Process[I],
	opts ...TimeOption) (PCollection[O1], PCollection[O2]) {
	in.owner(name).needs(name, fn != nil)
	types := []graph.Output{exec.OutputOf[O1]{}, exec.OutputOf[O2]{}}
	s := parDo(in, name, opts, types, func(s *Setup, x outs) Process[I] {
		return fn(s, outOf[O1](x, 0), outOf[O2](x, 1))
	})
	return derived[O1](in, s, 0), derived[O2](in, s, 1)
}

// Do calls fn for every element and each of its windows. fn is shared by all tasks; [ForEach] has an instance for each. An error
// fails the run.
func Do[I any](in PCollection[I], name string, fn func(c *Ctx, v I) error) {
	in.owner(name).needs(name, fn != nil)
	ForEach(in, name, func(*Setup) Process[I] { return fn })
}

// ForEach is ParDo without an output.
func ForEach[I any](in PCollection[I], name string, fn func(*Setup) Process[I]) {
	in.owner(name).needs(name, fn != nil)
	parDo(in, name, nil, nil, func(s *Setup, _ outs) Process[I] { return fn(s) })
}

// outs are a step's outputs, not yet typed.
type outs struct {
	sinks []any // empty while declaring
	s     *Setup
	skew  int64
	late  *exec.Late
}

func outOf[T any](x outs, i int) *Out[T] {
	o := &Out[T]{step: x.s.step, st: x.s.st, skew: x.skew, late: x.late}
	if len(x.sinks) > 0 {
		o.sink = x.sinks[i].(exec.Sink[T])
	}
	return o
}

// parDo adds the step of a DoFn, whose setup has been reduced to one form for any number of outputs.
func parDo[I any](in PCollection[I], name string, opts []TimeOption, types []graph.Output,
	setup func(*Setup, outs) Process[I]) *graph.Step {
	p := in.owner(name)
	skew := p.skewOf(name, opts)
	var views []*sideView
	declared := p.declare(name, func(s *Setup) {
		if setup(s, outs{s: s, skew: skew}) == nil {
			panic(errNilProcess)
		}
		views = s.views
	})
	in = gate(in, name, views)
	op := &exec.ChainOp{Bind: func(b *exec.Binder, st *exec.Inst, sinks []any) any {
		s := &Setup{step: st.Step.Name, b: b, st: st, latenessMs: in.windowing.latenessMs}
		x := outs{sinks, s, skew, b.Late(st, exec.EmittedLate)}
		var process Process[I]
		guard(b.Elem, st, func() { process = setup(s, x) })
		if !slices.Equal(s.declared, declared) {
			b.Elem.Fail(st, nil, fmt.Errorf("the setup declared %q while the pipeline was built and %q now", declared, s.declared))
		}
		return exec.Sink[I](processSink(st, process))
	}}
	return p.add(&graph.Step{Kind: graph.Chain, Op: op, Inputs: []graph.Port{in.port}, Outputs: types}, name)
}

// declareFunc declares a function, which must not be nil.
func (s *Setup) declareFunc(what string, isNil bool) {
	if isNil {
		panic(fmt.Errorf("%w: that of %s", ErrNilFunction, what))
	}
	s.declare(what)
}

// errNilProcess is the panic of a declaration whose setup returns nil.
var errNilProcess = fmt.Errorf("%w: the setup returned nil for it", ErrNilFunction)

// declare runs a setup while the pipeline is built and returns what it declared.
func (p *Pipeline) declare(name string, setup func(*Setup)) []string {
	s := &Setup{step: p.path(name)}
	at := site() // a panic has other frames
	defer func() {
		if r := recover(); r != nil {
			err, ok := r.(error)
			if !ok {
				err = fmt.Errorf("panic in the setup: %v", r)
			}
			p.problems = append(p.problems, &BuildError{Step: s.step, Site: at, Err: err})
		}
	}()
	setup(s)
	return s.declared
}

// guard runs user code and makes its panic the failure of the step.
func guard(e *exec.Elem, st *exec.Inst, f func()) {
	defer func() {
		if r := recover(); r != nil {
			e.Panicked(st, nil, r)
		}
	}()
	f()
}

// processSink calls process for each of the element's windows.
func processSink[I any](st *exec.Inst, process Process[I]) exec.Sink[I] {
	c := &Ctx{st: st}
	if invariants.Enabled {
		process = mortal(st, process)
	}
	return func(e *exec.Elem, v I) {
		c.e = e
		nested := e.Nested
		all := e.Win
		for i := range all {
			if len(all) > 1 {
				e.Win = all[i : i+1 : i+1]
			}
			e.Enter(st)
			if err := process(c, v); err != nil {
				e.Fail(st, v, err)
			}
			if e.Nested != nested {
				e.Fail(st, v, exec.ErrSwallowed)
			}
			if e.Err != nil {
				return
			}
		}
		if len(all) > 1 {
			e.Win = all
		}
	}
}

// mortal gives each call a context of its own, which is over when the call has returned.
func mortal[I any](st *exec.Inst, process Process[I]) Process[I] {
	return func(c *Ctx, v I) error {
		own := &Ctx{e: c.e, st: st, fire: c.fire, firing: c.firing}
		defer func() { own.over = true }()
		return process(own, v)
	}
}
