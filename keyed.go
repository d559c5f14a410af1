package levada

import (
	"fmt"
	"slices"

	"github.com/levadaflow/levada/coder/plan"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/internal/graph"
	"github.com/levadaflow/levada/internal/invariants"
)

// Keyed is the setup of a DoFn with state and timers for each key K and window. See [Setup], which it extends, and [ParDoKeyed].
type Keyed[K comparable] struct {
	*Setup
	state  *exec.State // nil while declaring
	timers []*timer[K]
	expire func(c *Ctx, key K) error
	sorted bool
	strict bool // an element behind the watermark is late, whatever its window; see exec.Calls
	skew   int64
}

// DoFnKeyed is the setup of a DoFn with state and timers. What it returns handles one element, in one window of it.
type DoFnKeyed[K comparable, V, O any] = func(*Keyed[K], *Out[O]) Process[KV[K, V]]

// ParDoKeyed calls a DoFn for every element and each of its windows, with state and timers of the element's key and window: cells
// ([ValueState], [BagState], [CombiningState], [MapState], [SetState], [OrderedListState]), timers ([EventTimer],
// [ProcessingTimer]) and a last call when the window expires ([Keyed.OnWindowExpiration]) are declared in the setup. Calls of one key come one
// after the other. See [GroupByKey] for keys.
//
// State and timers of a window are gone when the watermark is past its expiry, its last instant plus the allowed lateness. What
// comes later is dropped and counted as dropped_late; [LateTo] collects it. Windows that merge are refused with
// ErrStatefulMerging. Outputs of timers and of the last call have the timer's window and no pane. (Beam's stateful DoFn.)
func ParDoKeyed[K comparable, V, O any](in PCollection[KV[K, V]], name string, fn DoFnKeyed[K, V, O],
	opts ...GroupOption[K, V]) PCollection[O] {
	in.owner(name).needs(name, fn != nil)
	s := parDoKeyed(in, name, opts, []graph.Output{exec.OutputOf[O]{}}, func(s *Keyed[K], x outs) Process[KV[K, V]] {
		o := outOf[O](x, 0)
		process := fn(s, o)
		o.skew = s.skew
		return process
	})
	return derived[O](in, s, 0)
}

// ParDoKeyed2 is ParDoKeyed with two outputs.
func ParDoKeyed2[K comparable, V, O1, O2 any](in PCollection[KV[K, V]], name string,
	fn func(*Keyed[K], *Out[O1], *Out[O2]) Process[KV[K, V]], opts ...GroupOption[K, V]) (PCollection[O1], PCollection[O2]) {
	in.owner(name).needs(name, fn != nil)
	types := []graph.Output{exec.OutputOf[O1]{}, exec.OutputOf[O2]{}}
	s := parDoKeyed(in, name, opts, types, func(s *Keyed[K], x outs) Process[KV[K, V]] {
		o1, o2 := outOf[O1](x, 0), outOf[O2](x, 1)
		process := fn(s, o1, o2)
		o1.skew, o2.skew = s.skew, s.skew
		return process
	})
	return derived[O1](in, s, 0), derived[O2](in, s, 1)
}

// OnWindowExpiration declares a function that is called once for each key and window that has state or a timer left when the window
// expires, before they are cleared. Until then it holds the watermark at the window's last instant, which is c.Time(). Timers cannot
// be set in it. (Beam's OnWindowExpiration.)
func (s *Keyed[K]) OnWindowExpiration(f func(c *Ctx, key K) error) {
	s.declareFunc("OnWindowExpiration", f == nil)
	s.expire = f
}

// SortByTime makes elements wait until the watermark has passed their time plus the allowed lateness, or their window expires: the
// DoFn sees those of one key and window in the order of their times. Waiting elements hold the watermark at the first one's time.
// An element whose time plus allowed lateness is behind the watermark when it comes is dropped as late. (Beam's
// RequiresTimeSortedInput.)
func (s *Keyed[K]) SortByTime() {
	s.declare("SortByTime")
	s.sorted = true
}

// AllowSkew lets outputs and output times of timers be before the time of the call; see [AllowedSkew].
func (s *Keyed[K]) AllowSkew(d TimeOption) {
	s.declare(fmt.Sprintf("AllowSkew %v", d.skew))
	ms, err := d.millis()
	if err != nil {
		panic(err)
	}
	s.skew = ms
}

// name declares a cell or timer, whose name must be new.
func (s *Keyed[K]) name(kind, name string) {
	what := fmt.Sprintf("%s %q", kind, name)
	if slices.Contains(s.declared, what) {
		panic(fmt.Errorf("%w: %s", ErrDuplicateState, what))
	}
	s.declare(what)
}

// parDoKeyed adds the step of a DoFn with state, whose setup has been reduced to one form for any number of outputs. The output
// after these has the late elements.
func parDoKeyed[K comparable, V any](in PCollection[KV[K, V]], name string, opts []GroupOption[K, V], types []graph.Output,
	setup func(*Keyed[K], outs) Process[KV[K, V]]) *graph.Step {
	p := in.owner(name)
	path := p.path(name)
	op := exec.Stateful[K, V]{LatenessMillis: in.windowing.latenessMs}
	var err error
	if op.Keys, err = plan.ForKey[K](); err != nil {
		p.problem(path, err)
	}
	if op.Values, err = plan.For[V](); err != nil {
		p.problem(path, err)
	} else if elements, err := plan.For[KV[K, V]](); err == nil {
		op.Sum = elements.Hash
	}
	if s := in.windowing; s.windows.Merging() && !s.merged {
		p.problem(path, fmt.Errorf("%w: %v have no one window for a key's state. Use a grouping, or windows that do not merge",
			ErrStatefulMerging, s.windows))
	}
	var views []*sideView
	declared := p.declare(name, func(s *Setup) {
		k := &Keyed[K]{Setup: s}
		if setup(k, outs{s: s}) == nil {
			panic(errNilProcess)
		}
		views = s.views
		if err := k.check(); err != nil {
			panic(err)
		}
	})
	op.Bind = func(b *exec.Binder, st *exec.Inst, sinks []any, state *exec.State) exec.Calls[K, V] {
		s := &Keyed[K]{Setup: &Setup{step: st.Step.Name, b: b, st: st, latenessMs: in.windowing.latenessMs}, state: state}
		var process Process[KV[K, V]]
		x := outs{sinks, s.Setup, 0, b.Late(st, exec.EmittedLate)}
		guard(b.Elem, st, func() { process = setup(s, x) })
		if !slices.Equal(s.declared, declared) {
			b.Elem.Fail(st, nil, fmt.Errorf("the setup declared %q while the pipeline was built and %q now", declared, s.declared))
		}
		return calls(s, process)
	}
	in = gate(in, name, views)
	s := p.add(&graph.Step{
		Kind: graph.Exchange, Op: op.Op(), Inputs: []graph.Port{in.port}, Outputs: append(types, exec.OutputOf2[K, V]{}),
	}, name)
	for _, o := range opts {
		*o.late = derived[KV[K, V]](in, s, len(types))
	}
	return s
}

// check returns what is missing in a declared setup.
func (s *Keyed[K]) check() error {
	for _, t := range s.timers {
		if t.fn == nil {
			return fmt.Errorf("%w: timer %q has no OnFire", ErrBadTimer, t.name)
		}
	}
	if len(s.timers) > exec.MaxTimers {
		return fmt.Errorf("%w: more than %d timers; use tags", ErrBadTimer, exec.MaxTimers)
	}
	return nil
}

// calls returns the functions of a stateful step as the engine calls them.
func calls[K comparable, V any](s *Keyed[K], process Process[KV[K, V]]) exec.Calls[K, V] {
	sink := processSink(s.st, process)
	x := exec.Calls[K, V]{Sorted: s.sorted, Strict: s.strict, Element: func(e *exec.Elem, k K, v V) { sink(e, KV[K, V]{Key: k, Value: v}) }}
	c := &Ctx{st: s.st}
	fire := call(s.st, c, func(c *Ctx, f firing[K]) error { return s.timers[f.ID].fn(c, f.key) })
	x.Timer = func(e *exec.Elem, k K, f exec.Firing) {
		c.fire, c.firing = f, true
		fire(e, firing[K]{f, k})
		c.fire, c.firing = exec.Firing{}, false
	}
	if s.expire != nil {
		expire := call(s.st, c, s.expire)
		x.Expire = func(e *exec.Elem, k K) { expire(e, k) }
	}
	return x
}

// firing is a timer of a key whose time has come.
type firing[K comparable] struct {
	exec.Firing
	key K
}

// String is how an error shows it: by the key.
func (f firing[K]) String() string { return fmt.Sprintf("%v", f.key) }

// call returns f as the engine calls it: in one window.
func call[T any](st *exec.Inst, c *Ctx, f Process[T]) exec.Sink[T] {
	if invariants.Enabled {
		f = mortal(st, f)
	}
	return func(e *exec.Elem, v T) {
		c.e = e
		nested := e.Nested
		e.Enter(st)
		if err := f(c, v); err != nil {
			e.Fail(st, v, err)
		}
		if e.Nested != nested {
			e.Fail(st, v, exec.ErrSwallowed)
		}
	}
}
