package levada

import (
	"fmt"

	"github.com/levadaflow/levada/coder/plan"
	"github.com/levadaflow/levada/internal/exec"
)

// Opt is a value or none: the side of a join that may be missing. It tells a missing value from a zero one. The zero Opt is none.
type Opt[T any] struct {
	Value T // the zero value if there is none
	Ok    bool
}

// Some returns v as an Opt.
func Some[T any](v T) Opt[T] { return Opt[T]{v, true} }

// Or returns the value, or v if there is none.
func (o Opt[T]) Or(v T) T {
	if o.Ok {
		return o.Value
	}
	return v
}

// String is the value's text, or "none".
func (o Opt[T]) String() string {
	if o.Ok {
		return fmt.Sprint(o.Value)
	}
	return "none"
}

// Grouped2 are the values of one key in one pane of two collections. A side without values is empty.
type Grouped2[A, B any] struct {
	A Values[A]
	B Values[B]
}

// JoinOption is an option of the steps that join two collections.
type JoinOption[K, A, B any] struct {
	a *LateOf[K, A]
	b *LateOf[K, B]
}

// LateTo2 sets *a and *b to the collections of those elements of the two inputs that come too late for the join: once per window
// they missed, with that window and their own time. They are counted as dropped_late with or without it.
func LateTo2[K, A, B any](a *LateOf[K, A], b *LateOf[K, B]) JoinOption[K, A, B] {
	return JoinOption[K, A, B]{a, b}
}

// CoGroup2 collects, for each key and window, the values of both collections; a key that only one of them has is there too. It is
// [GroupByKey] of both: windowings, triggers, panes, late elements and memory are as there, and an accumulating pane has all
// values of both again. The two must have the same windows and trigger, as for [Flatten]: ErrIncompatibleFlatten. Its watermark is the
// lesser of the two. It is the scope of the steps name/a, name/b, name/both and name/group. (Beam's CoGroupByKey.)
func CoGroup2[K comparable, A, B any](name string, a PCollection[KV[K, A]], b PCollection[KV[K, B]],
	opts ...JoinOption[K, A, B]) PCollection[KV[K, Grouped2[A, B]]] {
	return joinScope(name, a, b, opts, coGroup[K, A, B])
}

// Join calls fn for every pair of an element of a and one of b that have the same key and are in the same pane of [CoGroup2], and
// emits what it returns, with the pane's time and window. A key with m and n elements gives m times n results, in no order. fn is
// shared by all tasks. (An inner join.)
//
// Where a window fires once, all its pairs come out, once. With a trigger that fires more often a pair comes out if both are in
// one pane: with Discarding those do not meet that fired apart, with Accumulating each later pane gives all its pairs again.
// For elements that are near each other in time use [IntervalJoin], which has no edges of windows.
func Join[K comparable, A, B, O any](name string, a PCollection[KV[K, A]], b PCollection[KV[K, B]], fn func(key K, a A, b B) O,
	opts ...JoinOption[K, A, B]) PCollection[O] {
	a.owner(name).needs(name, fn != nil)
	return joinPanes(name, a, b, opts, func(k K, g Grouped2[A, B], emit func(O) bool) {
		for x := range g.A.All() {
			for y := range g.B.All() {
				if !emit(fn(k, x, y)) {
					return
				}
			}
		}
	})
}

// LeftJoin is [Join] that also calls fn, without a second value, for every element of a whose key has no element of b in the pane.
// With a trigger that fires more than once that means none in that pane: one may come in a later one. (A left outer join; for a
// right one swap the two.)
func LeftJoin[K comparable, A, B, O any](name string, a PCollection[KV[K, A]], b PCollection[KV[K, B]], fn func(key K, a A, b Opt[B]) O,
	opts ...JoinOption[K, A, B]) PCollection[O] {
	a.owner(name).needs(name, fn != nil)
	return joinPanes(name, a, b, opts, func(k K, g Grouped2[A, B], emit func(O) bool) {
		for x := range g.A.All() {
			for y := range orNone(g.B) {
				if !emit(fn(k, x, y)) {
					return
				}
			}
		}
	})
}

// OuterJoin is [LeftJoin] that also calls fn, without a first value, for every element of b whose key has no element of a in the pane.
// (A full outer join.)
func OuterJoin[K comparable, A, B, O any](name string, a PCollection[KV[K, A]], b PCollection[KV[K, B]],
	fn func(key K, a Opt[A], b Opt[B]) O, opts ...JoinOption[K, A, B]) PCollection[O] {
	a.owner(name).needs(name, fn != nil)
	return joinPanes(name, a, b, opts, func(k K, g Grouped2[A, B], emit func(O) bool) {
		for x := range orNone(g.A) {
			for y := range orNone(g.B) {
				if !emit(fn(k, x, y)) {
					return
				}
			}
		}
	})
}

// orNone walks the values, or that there are none.
func orNone[T any](v Values[T]) func(yield func(Opt[T]) bool) {
	return func(yield func(Opt[T]) bool) {
		if v.Len() == 0 {
			yield(Opt[T]{})
			return
		}
		for x := range v.All() {
			if !yield(Some(x)) {
				return
			}
		}
	}
}

// either is an element of one of two collections.
type either[A, B any] struct {
	second bool
	a      A
	b      B
}

// String is how an error shows it.
func (x either[A, B]) String() string {
	if x.second {
		return fmt.Sprintf("%+v", x.b)
	}
	return fmt.Sprintf("%+v", x.a)
}

// sides is both collections of a join in one.
type sides[K comparable, A, B any] = PCollection[KV[K, either[A, B]]]

// joinScope adds the steps of a join: those that make one collection of two, what add makes of it, and what becomes of late
// elements.
func joinScope[K comparable, A, B, R any](name string, a PCollection[KV[K, A]], b PCollection[KV[K, B]], opts []JoinOption[K, A, B],
	add func(sides[K, A, B], ...GroupOption[K, either[A, B]]) PCollection[R]) PCollection[R] {
	p := a.owner(name)
	other := b.owner(name) != p
	return Scope(p, name, func() PCollection[R] {
		both := Map(a, "a", func(kv KV[K, A]) KV[K, either[A, B]] {
			return KV[K, either[A, B]]{Key: kv.Key, Value: either[A, B]{a: kv.Value}}
		})
		if other {
			p.problem(p.path("b"), ErrOtherPipeline)
		} else {
			both = Flatten("both", both, Map(b, "b", func(kv KV[K, B]) KV[K, either[A, B]] {
				return KV[K, either[A, B]]{Key: kv.Key, Value: either[A, B]{second: true, b: kv.Value}}
			}))
		}
		if len(opts) == 0 {
			return add(both)
		}
		late := both // until it is set
		out := add(both, LateTo(&late))
		lateA, lateB := ParDo2(late, "late", tell[K, A, B])
		for _, o := range opts {
			*o.a, *o.b = lateA, lateB
		}
		return out
	})
}

// tell tells the elements of both collections apart.
func tell[K comparable, A, B any](_ *Setup, a *Out[KV[K, A]], b *Out[KV[K, B]]) Process[KV[K, either[A, B]]] {
	return func(c *Ctx, kv KV[K, either[A, B]]) error {
		if kv.Value.second {
			b.Emit(c, KV[K, B]{Key: kv.Key, Value: kv.Value.b})
		} else {
			a.Emit(c, KV[K, A]{Key: kv.Key, Value: kv.Value.a})
		}
		return nil
	}
}

// coGroup adds the grouping of both.
func coGroup[K comparable, A, B any](both sides[K, A, B], opts ...GroupOption[K, either[A, B]]) PCollection[KV[K, Grouped2[A, B]]] {
	values, err := plan.For[either[A, B]]()
	as, errA := plan.For[A]()
	bs, errB := plan.For[B]()
	if err != nil || errA != nil || errB != nil { // reported by the Flatten
		return broken[KV[K, Grouped2[A, B]]](both, "group")
	}
	fn := collect2[A, B]{collect[A]{as}, collect[B]{bs}}
	return group(both, "group", exec.Group[K, either[A, B], lists[A, B], Grouped2[A, B]]{Fn: fn, Values: values}, opts)
}

// collect2 gathers the values of both collections.
type collect2[A, B any] struct {
	a collect[A]
	b collect[B]
}

// lists are the values of a key of both collections.
type lists[A, B any] struct {
	a []A
	b []B
}

func (collect2[A, B]) Zero() lists[A, B] { return lists[A, B]{} }

func (c collect2[A, B]) Add(acc *lists[A, B], v either[A, B]) {
	if v.second {
		c.b.Add(&acc.b, v.b)
	} else {
		c.a.Add(&acc.a, v.a)
	}
}

func (c collect2[A, B]) Merge(acc *lists[A, B], o lists[A, B]) {
	c.a.Merge(&acc.a, o.a)
	c.b.Merge(&acc.b, o.b)
}

func (c collect2[A, B]) Result(acc lists[A, B]) Grouped2[A, B] {
	return Grouped2[A, B]{c.a.Result(acc.a), c.b.Result(acc.b)}
}

// joinPanes adds a join of what is in one pane. each gives emit its results; emit returns false when it is to stop.
func joinPanes[K comparable, A, B, O any](name string, a PCollection[KV[K, A]], b PCollection[KV[K, B]], opts []JoinOption[K, A, B],
	each func(k K, g Grouped2[A, B], emit func(O) bool)) PCollection[O] {
	return joinScope(name, a, b, opts, func(both sides[K, A, B], opts ...GroupOption[K, either[A, B]]) PCollection[O] {
		return ParDo(coGroup(both, opts...), "pairs", func(_ *Setup, out *Out[O]) Process[KV[K, Grouped2[A, B]]] {
			var at *Ctx
			emit := func(v O) bool { // one for all panes
				out.Emit(at, v)
				return goesOn(at.e)
			}
			return func(c *Ctx, kv KV[K, Grouped2[A, B]]) error {
				at = c
				each(kv.Key, kv.Value, emit)
				return nil
			}
		})
	})
}
