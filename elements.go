package levada

import (
	"iter"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/internal/graph"
)

// chain adds a step that is fused into its input's stage.
func chain[I, O any](in PCollection[I], name string, bind func(*exec.Binder, *exec.Inst, exec.Sink[O]) exec.Sink[I]) PCollection[O] {
	op := &exec.ChainOp{Bind: func(b *exec.Binder, st *exec.Inst, outs []any) any {
		return bind(b, st, outs[0].(exec.Sink[O]))
	}}
	s := in.owner(name).add(&graph.Step{
		Kind: graph.Chain, Op: op, Inputs: []graph.Port{in.port}, Outputs: []graph.Output{exec.OutputOf[O]{}},
	}, name)
	return derived[O](in, s, 0)
}

// blind says of a step that it neither looks at windows nor changes times.
func blind[O any](out PCollection[O]) PCollection[O] {
	out.port.Step.Op.(*exec.ChainOp).Blind = true
	return out
}

// Map calls fn for every element and emits what it returns, at the same time and in the same windows. fn is shared by all
// tasks. For results of more than four words ParDo with out.Emit(c, T{...}) is several times cheaper.
func Map[I, O any](in PCollection[I], name string, fn func(I) O) PCollection[O] {
	in.owner(name).needs(name, fn != nil)
	return blind(chain(in, name, func(_ *exec.Binder, st *exec.Inst, out exec.Sink[O]) exec.Sink[I] {
		return func(e *exec.Elem, v I) {
			e.Enter(st)
			out(e, fn(v))
		}
	}))
}

// Failed is an element for which a function returned an error.
type Failed[I any] struct {
	Value I
	Err   string // the error's text
}

// FailedOf is the collection of the elements for which the function of a TryMap or MapConcurrent failed. Declare one and hand it to [FailedTo].
type FailedOf[I any] = PCollection[Failed[I]]

// TryOption is an option of [TryMap] and [MapConcurrent].
type TryOption[I any] struct{ failed *FailedOf[I] }

// FailedTo sets *to to the collection of those elements for which the function returned an error; the run goes on.
func FailedTo[I any](to *FailedOf[I]) TryOption[I] { return TryOption[I]{to} }

// TryMap is Map with a function that may return an error. Without [FailedTo] an error fails the run.
func TryMap[I, O any](in PCollection[I], name string, fn func(I) (O, error), opts ...TryOption[I]) PCollection[O] {
	in.owner(name).needs(name, fn != nil)
	keep := len(opts) > 0
	op := &exec.ChainOp{Bind: func(_ *exec.Binder, st *exec.Inst, outs []any) any {
		out, failed := outs[0].(exec.Sink[O]), outs[1].(exec.Sink[Failed[I]])
		return exec.Sink[I](func(e *exec.Elem, v I) {
			e.Enter(st)
			o, err := fn(v)
			switch {
			case err == nil:
				out(e, o)
			case keep:
				failed(e, Failed[I]{v, err.Error()})
			default:
				e.Fail(st, v, err)
			}
		})
	}}
	s := in.owner(name).add(&graph.Step{
		Kind: graph.Chain, Op: op, Inputs: []graph.Port{in.port},
		Outputs: []graph.Output{exec.OutputOf[O]{}, exec.OutputOf[Failed[I]]{}},
	}, name)
	for _, o := range opts {
		*o.failed = derived[Failed[I]](in, s, 1)
	}
	return derived[O](in, s, 0)
}

// Filter passes on the elements for which keep returns true. keep is shared by all tasks.
func Filter[T any](in PCollection[T], name string, keep func(T) bool) PCollection[T] {
	in.owner(name).needs(name, keep != nil)
	return blind(chain(in, name, func(_ *exec.Binder, st *exec.Inst, out exec.Sink[T]) exec.Sink[T] {
		return func(e *exec.Elem, v T) {
			if e.Enter(st); keep(v) {
				out(e, v)
			}
		}
	}))
}

// FlatMap emits all that the sequence yields which fn returns for an element, at the same time and in the same windows. fn is
// shared by all tasks; the sequence is used once.
func FlatMap[I, O any](in PCollection[I], name string, fn func(I) iter.Seq[O]) PCollection[O] {
	in.owner(name).needs(name, fn != nil)
	return blind(chain(in, name, func(b *exec.Binder, st *exec.Inst, out exec.Sink[O]) exec.Sink[I] {
		e := b.Elem
		yield := func(o O) bool { // one for all elements: a range over fn(v) would allocate one each
			if e.Err == nil {
				e.Nested++
				out(e, o)
				e.Nested--
				e.Enter(st)
			}
			return goesOn(e)
		}
		return func(e *exec.Elem, v I) {
			e.Enter(st)
			nested := e.Nested
			if fn(v)(yield); e.Nested != nested {
				e.Fail(st, v, exec.ErrSwallowed)
			}
		}
	}))
}

// goesOn reports whether code that emits much for one element should emit more: neither has a step failed nor is the run ending.
func goesOn(e *exec.Elem) bool {
	if e.Err == nil && e.Run.Stopped() {
		e.Err = exec.ErrStopped
	}
	return e.Err == nil
}

// KeyBy gives every element a key.
func KeyBy[K comparable, V any](in PCollection[V], name string, key func(V) K) PCollection[KV[K, V]] {
	in.owner(name).needs(name, key != nil)
	return keyed[V, K, V](in, name, func(st *exec.Inst, out exec.Sink2[K, V]) exec.Sink[V] {
		return func(e *exec.Elem, v V) {
			e.Enter(st)
			out(e, key(v), v)
		}
	})
}

// KeyValue makes a key and a value of every element.
func KeyValue[T any, K comparable, V any](in PCollection[T], name string, fn func(T) (K, V)) PCollection[KV[K, V]] {
	in.owner(name).needs(name, fn != nil)
	return keyed[T, K, V](in, name, func(st *exec.Inst, out exec.Sink2[K, V]) exec.Sink[T] {
		return func(e *exec.Elem, v T) {
			e.Enter(st)
			k, x := fn(v)
			out(e, k, x)
		}
	})
}

// keyed adds a step whose output is passed on as two arguments.
func keyed[T any, K comparable, V any](in PCollection[T], name string,
	bind func(*exec.Inst, exec.Sink2[K, V]) exec.Sink[T]) PCollection[KV[K, V]] {
	op := &exec.ChainOp{Blind: true, Bind: func(_ *exec.Binder, st *exec.Inst, outs []any) any {
		return bind(st, outs[0].(exec.Sink2[K, V]))
	}}
	s := in.owner(name).add(&graph.Step{
		Kind: graph.Chain, Op: op, Inputs: []graph.Port{in.port}, Outputs: []graph.Output{exec.OutputOf2[K, V]{}},
	}, name)
	return derived[KV[K, V]](in, s, 0)
}

// Timed is a value with an event time, for [CreateTimed].
type Timed[T any] struct {
	Value T
	Time  event.Time
}
