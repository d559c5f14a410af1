package levada

import (
	"fmt"
	"iter"

	"github.com/levadaflow/levada/coder/plan"
	"github.com/levadaflow/levada/combine"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/internal/graph"
	"github.com/levadaflow/levada/trigger"
	"github.com/levadaflow/levada/window"
)

// Values are the values of one key in one pane. They may be walked any number of times, but only during the call that they were
// handed to, and are in no order.
type Values[V any] struct{ all []V }

// Len returns their number.
func (v Values[V]) Len() int { return len(v.all) }

// All walks the values.
func (v Values[V]) All() iter.Seq[V] {
	return func(yield func(V) bool) {
		for _, x := range v.all {
			if !yield(x) {
				return
			}
		}
	}
}

// LateOf is the collection of the elements that a grouping dropped because they came too late: once per window they missed, with
// that window and their own time. Declare one and hand it to [LateTo].
type LateOf[K, V any] = PCollection[KV[K, V]]

// GroupOption is an option of the grouping steps.
type GroupOption[K, V any] struct{ late *LateOf[K, V] }

// LateTo sets *to to the collection of the elements that come too late for the grouping. They are counted as dropped_late
// with or without it.
func LateTo[K, V any](to *LateOf[K, V]) GroupOption[K, V] { return GroupOption[K, V]{to} }

// GroupByKey collects the values of each key and window. A key must be of a type for which == means equal encodings:
// booleans, integers, strings, arrays and structs of these; others are refused with ErrKeyType. Values are kept in memory
// until their window's pane comes out: where they can be combined, CombinePerKey needs far less.
func GroupByKey[K comparable, V any](in PCollection[KV[K, V]], name string, opts ...GroupOption[K, V]) PCollection[KV[K, Values[V]]] {
	p := in.owner(name)
	values, err := plan.For[V]()
	if err != nil {
		p.problem(p.path(name), err)
		return broken[KV[K, Values[V]]](in, name)
	}
	g := exec.Group[K, V, []V, Values[V]]{Fn: collect[V]{values}, Values: values}
	return group(in, name, g, opts)
}

// CombinePerKey combines the values of each key and window with fn, without keeping them. See [GroupByKey] for keys.
func CombinePerKey[K comparable, I, A, O any](in PCollection[KV[K, I]], name string, fn combine.Fn[I, A, O],
	opts ...GroupOption[K, I]) PCollection[KV[K, O]] {
	p := in.owner(name)
	p.needs(name, fn != nil)
	accs, err := plan.For[A]()
	if err != nil {
		p.problem(p.path(name), fmt.Errorf("the accumulator: %w", err))
	}
	values, err2 := plan.For[I]()
	if err2 != nil {
		p.problem(p.path(name), err2)
	}
	if err != nil || err2 != nil {
		return broken[KV[K, O]](in, name)
	}
	if !accs.Fixed() && !values.Fixed() { // what the accumulator keeps must not pin foreign memory
		fn = cloning[I, A, O]{fn, values}
	}
	g := exec.Group[K, I, A, O]{Fn: fn, Values: values, Combines: true}
	return group(in, name, g, opts)
}

// CountPerKey counts the elements of each key and window.
func CountPerKey[K comparable, V any](in PCollection[KV[K, V]], name string, opts ...GroupOption[K, V]) PCollection[KV[K, int64]] {
	return CombinePerKey(in, name, combine.Count[V](), opts...)
}

// SumPerKey adds up the values of each key and window. Integers wrap around on overflow.
func SumPerKey[K comparable, N combine.Number](in PCollection[KV[K, N]], name string, opts ...GroupOption[K, N]) PCollection[KV[K, N]] {
	return CombinePerKey(in, name, combine.Sum[N](), opts...)
}

// CombineGlobally combines all elements of each window with fn. A window without elements has no result. It is the scope of
// three steps: name/key, name/combine, name/value.
func CombineGlobally[I, A, O any](in PCollection[I], name string, fn combine.Fn[I, A, O]) PCollection[O] {
	p := in.owner(name)
	p.needs(name, fn != nil)
	return Scope(p, name, func() PCollection[O] {
		keyed := KeyBy(in, "key", func(I) bool { return false })
		combined := CombinePerKey(keyed, "combine", fn)
		return Map(combined, "value", func(kv KV[bool, O]) O { return kv.Value })
	})
}

// collect gathers values.
type collect[V any] struct{ values *plan.Plan[V] }

func (collect[V]) Zero() []V                { return nil }
func (c collect[V]) Add(acc *[]V, v V)      { *acc = append(*acc, c.values.Clone(v)) }
func (collect[V]) Merge(acc *[]V, o []V)    { *acc = append((*acc)[:len(*acc):len(*acc)], o...) }
func (collect[V]) Result(acc []V) Values[V] { return Values[V]{acc[:len(acc):len(acc)]} }

// cloning is a combining function whose values are cloned first.
type cloning[I, A, O any] struct {
	combine.Fn[I, A, O]
	values *plan.Plan[I]
}

func (c cloning[I, A, O]) Add(acc *A, v I) { c.Fn.Add(acc, c.values.Clone(v)) }

// broken adds a step that cannot run, so that building can go on after its problem has been reported.
func broken[O, I any](in PCollection[I], name string) PCollection[O] {
	out := chain(in, name, func(*exec.Binder, *exec.Inst, exec.Sink[O]) exec.Sink[I] { return nil })
	out.windowing = in.windowing.grouped()
	return out
}

// group adds a grouping step. g lacks what comes from the types of keys and from the windowing.
func group[K comparable, V, A, R any](in PCollection[KV[K, V]], name string, g exec.Group[K, V, A, R],
	opts []GroupOption[K, V]) PCollection[KV[K, R]] {
	p := in.owner(name)
	path := p.path(name)
	var err error
	if g.Keys, err = plan.ForKey[K](); err != nil {
		p.problem(path, err)
	}
	if in.windowing.losesData() {
		p.problem(path, fmt.Errorf("%w: %v can finish, and what comes later would be dropped. Use trigger.Repeat, a late part, or"+
			" trigger.MayLoseData if it is meant", ErrUnsafeTrigger, in.windowing.trigger))
	}
	if _, ok := in.windowing.trigger.(trigger.Default); ok && in.unbounded && in.windowing.windows == window.Global() &&
		!in.windowing.broken {
		p.problem(path, fmt.Errorf("%w: no pane would ever come. Use WindowInto before it", ErrUnboundedGlobal))
	}
	if g.Panes, err = in.windowing.panes(); err != nil {
		in.p.problem(path, err)
	}
	g.Lazy, g.Disjoint = exec.GridOf(in.windowing.windows), exec.Disjoint(in.windowing.windows)
	g.Merger, _ = in.windowing.windows.(window.Merger)
	if elements, err := plan.For[KV[K, V]](); err == nil {
		g.Sum = elements.Hash
	}
	op := g.Op()
	if op.Remote != nil {
		op.Remote.Windowing = in.windowing.data()
	}
	s := p.add(&graph.Step{
		Kind: graph.Exchange, Op: op, Inputs: []graph.Port{in.port},
		Outputs: []graph.Output{exec.OutputOf2[K, R]{}, exec.OutputOf2[K, V]{}},
	}, name)
	for _, o := range opts {
		*o.late = derived[KV[K, V]](in, s, 1)
	}
	out := derived[KV[K, R]](in, s, 0)
	out.windowing = in.windowing.grouped()
	return out
}

// Flatten gives the elements of all its inputs, which must have the same window function (sessions may differ in their gaps)
// and the same trigger. The greatest allowed lateness counts; the rest of the windowing is the first input's. Its watermark
// is the least of its inputs'.
func Flatten[T any](name string, first PCollection[T], more ...PCollection[T]) PCollection[T] {
	p := first.owner(name)
	ins := []graph.Port{first.port}
	out := derived[T](first, nil, 0)
	s := *first.windowing
	for _, in := range more {
		if in.owner(name) != p {
			p.problem(p.path(name), ErrOtherPipeline)
			continue
		}
		if !first.windowing.compatible(in.windowing) {
			p.problem(p.path(name), fmt.Errorf("%w: %v with %v, and %v with %v: use WindowInto on each", ErrIncompatibleFlatten,
				first.windowing.windows, first.windowing.trigger, in.windowing.windows, in.windowing.trigger))
		}
		s.latenessMs = max(s.latenessMs, in.windowing.latenessMs)
		out.unbounded = out.unbounded || in.unbounded
		ins = append(ins, in.port)
	}
	out.windowing = &s
	op := exec.FlattenOp(exchanged[T](p, name))
	op.Remote.Windowing = s.data()
	out.port.Step = p.add(&graph.Step{Kind: graph.Merge, Op: op, Inputs: ins, Outputs: []graph.Output{exec.OutputOf[T]{}}}, name)
	return out
}

// Reshuffle spreads the elements evenly over the tasks, so that what follows runs in parallel. Times, windows and panes stay,
// and nothing waits.
func Reshuffle[T any](in PCollection[T], name string) PCollection[T] {
	p := in.owner(name)
	op := exec.ReshuffleOp(exchanged[T](p, name))
	s := p.add(&graph.Step{Kind: graph.Exchange, Op: op, Inputs: []graph.Port{in.port}, Outputs: []graph.Output{exec.OutputOf[T]{}}}, name)
	return derived[T](in, s, 0)
}

// exchanged returns the plan of elements that go from task to task. If there is none it reports that, and the plan is empty.
func exchanged[T any](p *Pipeline, name string) *plan.Plan[T] {
	values, err := plan.For[T]()
	if err != nil {
		p.problem(p.path(name), err)
		return new(plan.Plan[T])
	}
	return values
}

// data is what a foreign runner must know of the windowing.
func (s *strategy) data() exec.Windowing {
	panes, _ := s.panes() // a trigger that is wrong has been reported
	return exec.Windowing{Windows: s.windows, Merged: s.merged, Trigger: s.trigger, Panes: panes}
}
