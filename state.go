package levada

import (
	"fmt"
	"iter"
	"slices"

	"github.com/levadaflow/levada/coder/plan"
	"github.com/levadaflow/levada/combine"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/exec"
)

// Cells are the state of a DoFn's key and window at hand. What is put in is cloned; what is read out belongs to the cell: it must
// not be changed, and not be used after the call. A cell may be used only in calls of its step: elsewhere the run fails with
// ErrForeignState. A cell that was never written, or was cleared, costs nothing.

// access is what every cell and timer knows of where it belongs.
type access struct {
	state      *exec.State
	step, name string
}

func newAccess[K comparable](s *Keyed[K], name string) access { return access{s.state, s.step, name} }

// usable reports whether c is a call of the cell's own step, and fails the run if not.
func (a *access) usable(c *Ctx) bool {
	if a.state == nil {
		panic(fmt.Errorf("%w: %q of step %s", ErrDeclaring, a.name, a.step))
	}
	e := c.elem()
	if a.state.At(c.st) {
		return e.Err == nil
	}
	e.Fail(c.st, nil, fmt.Errorf("%w: %q of step %s", ErrForeignState, a.name, a.step))
	return false
}

// cell is a kind of state whose contents are a T.
type cell[T any] struct {
	access
	col *exec.Cell[T]
}

func newCell[T any, K comparable](s *Keyed[K], kind, name string) cell[T] {
	s.name(kind, name)
	x := cell[T]{access: newAccess(s, name)}
	if s.state != nil {
		x.col = exec.NewCell[T](s.state)
	}
	return x
}

// get returns the contents for the key and window at hand, nil if there are none.
func (x *cell[T]) get(c *Ctx) *T {
	if !x.usable(c) {
		return nil
	}
	return x.col.Get()
}

// Clear empties the cell.
func (x *cell[T]) Clear(c *Ctx) {
	if x.usable(c) {
		x.col.Clear()
	}
}

// planOf returns the plan of a state's type; a type that has none is a problem of building.
func planOf[T any](name string) *plan.Plan[T] {
	p, err := plan.For[T]()
	if err != nil {
		panic(fmt.Errorf("state %q: %w", name, err))
	}
	return p
}

// ValueCell has one value, or none. Its methods are for the key and window at hand.
type ValueCell[T any] struct {
	cell[T]
	vals *plan.Plan[T]
}

// ValueState declares a cell with one value. (Beam's ValueState.)
func ValueState[T any, K comparable](s *Keyed[K], name string) *ValueCell[T] {
	return &ValueCell[T]{newCell[T](s, "value", name), planOf[T](name)}
}

// Read returns the value; ok is false, and v the zero value, if there is none.
func (x *ValueCell[T]) Read(c *Ctx) (v T, ok bool) {
	if p := x.get(c); p != nil {
		return *p, true
	}
	return v, false
}

// Write sets the value.
func (x *ValueCell[T]) Write(c *Ctx, v T) {
	if x.usable(c) {
		*x.col.Put() = x.vals.Clone(v)
	}
}

// BagCell has any number of values, in the order in which they were added.
type BagCell[T any] struct {
	cell[[]T]
	vals *plan.Plan[T]
}

// BagState declares a cell with any number of values. (Beam's BagState.)
func BagState[T any, K comparable](s *Keyed[K], name string) *BagCell[T] {
	return &BagCell[T]{newCell[[]T](s, "bag", name), planOf[T](name)}
}

// Add adds a value.
func (x *BagCell[T]) Add(c *Ctx, v T) {
	if x.usable(c) {
		p := x.col.Put()
		*p = append(*p, x.vals.Clone(v))
	}
}

// All walks the values that are there when it is called.
func (x *BagCell[T]) All(c *Ctx) iter.Seq[T] {
	if p := x.get(c); p != nil {
		return slices.Values(*p)
	}
	return func(func(T) bool) {}
}

// Len returns the number of values.
func (x *BagCell[T]) Len(c *Ctx) int {
	if p := x.get(c); p != nil {
		return len(*p)
	}
	return 0
}

// CombiningCell combines values I, without keeping them, to a result O.
type CombiningCell[I, A, O any] struct {
	cell[A]
	fn combine.Fn[I, A, O]
}

// CombiningState declares a cell that combines what is added with fn. (Beam's CombiningState.)
func CombiningState[K comparable, I, A, O any](s *Keyed[K], name string, fn combine.Fn[I, A, O]) *CombiningCell[I, A, O] {
	if fn == nil {
		panic(fmt.Errorf("%w: that of CombiningState %q", ErrNilFunction, name))
	}
	accs, values := planOf[A](name), planOf[I](name)
	if !accs.Fixed() && !values.Fixed() {
		fn = cloning[I, A, O]{fn, values}
	}
	return &CombiningCell[I, A, O]{newCell[A](s, "combining", name), fn}
}

// Add adds a value.
func (x *CombiningCell[I, A, O]) Add(c *Ctx, v I) {
	if !x.usable(c) {
		return
	}
	p := x.col.Get()
	if p == nil {
		p = x.col.Put()
		*p = x.fn.Zero()
	}
	x.fn.Add(p, v)
}

// Read returns the result of all that was added; ok is false if nothing was, and the result is then that of nothing.
func (x *CombiningCell[I, A, O]) Read(c *Ctx) (v O, ok bool) {
	if p := x.get(c); p != nil {
		return x.fn.Result(*p), true
	}
	return x.fn.Result(x.fn.Zero()), false
}

// OrderedListCell has values with times, in the order of these, and of one time in the order in which they were added.
type OrderedListCell[T any] struct {
	cell[[]Timed[T]]
	vals *plan.Plan[T]
}

// OrderedListState declares a cell with values in the order of times. (Beam's OrderedListState.)
func OrderedListState[T any, K comparable](s *Keyed[K], name string) *OrderedListCell[T] {
	return &OrderedListCell[T]{newCell[[]Timed[T]](s, "ordered list", name), planOf[T](name)}
}

// Add adds a value at a time, which may be any.
func (x *OrderedListCell[T]) Add(c *Ctx, t event.Time, v T) {
	if !x.usable(c) {
		return
	}
	p := x.col.Put()
	i := len(*p)
	if i > 0 && (*p)[i-1].Time > t {
		i = from(*p, t+1)
	}
	*p = slices.Insert(*p, i, Timed[T]{x.vals.Clone(v), t})
}

// from returns the place of the first value at t or later.
func from[T any](all []Timed[T], t event.Time) int {
	i, _ := slices.BinarySearchFunc(all, t, func(x Timed[T], t event.Time) int {
		if x.Time < t {
			return -1
		}
		return 1
	})
	return i
}

// All walks all values with their times.
func (x *OrderedListCell[T]) All(c *Ctx) iter.Seq2[event.Time, T] {
	return x.walk(c, func(all []Timed[T]) []Timed[T] { return all })
}

// Range walks the values at start <= t < end.
func (x *OrderedListCell[T]) Range(c *Ctx, start, end event.Time) iter.Seq2[event.Time, T] {
	return x.walk(c, func(all []Timed[T]) []Timed[T] { return all[from(all, start):max(from(all, start), from(all, end))] })
}

// view returns what is in the cell; it is good until that changes.
func (x *OrderedListCell[T]) view(c *Ctx) []Timed[T] {
	if p := x.get(c); p != nil {
		return *p
	}
	return nil
}

func (x *OrderedListCell[T]) walk(c *Ctx, part func([]Timed[T]) []Timed[T]) iter.Seq2[event.Time, T] {
	all := slices.Clone(part(x.view(c))) // an Add during the walk would move them
	return func(yield func(event.Time, T) bool) {
		for _, v := range all {
			if !yield(v.Time, v.Value) {
				return
			}
		}
	}
}

// ClearRange takes out the values at start <= t < end.
func (x *OrderedListCell[T]) ClearRange(c *Ctx, start, end event.Time) {
	if p := x.get(c); p != nil && start < end {
		x.remove(p, from(*p, start), from(*p, end))
	}
}

// remove takes out the values at the places i <= n < j of the cell's contents p.
func (x *OrderedListCell[T]) remove(p *[]Timed[T], i, j int) {
	switch {
	case i == 0 && j == len(*p):
		x.col.Clear()
	case i == 0: // the usual case: what is old goes, and nothing else is moved
		clear((*p)[:j])
		*p = (*p)[j:]
	default:
		*p = slices.Delete(*p, i, j)
	}
}
