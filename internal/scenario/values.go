package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/combine"
)

// value is what the elements of a scenario's pipeline are: a number, a list (group), or none (min and max of nothing).
type value struct {
	N    int64
	None bool
	List []int64
}

// pair is an element of every collection of a scenario.
type pair = levada.KV[string, value]

func (v value) String() string {
	switch {
	case v.None:
		return "none"
	case v.List != nil:
		return strings.ReplaceAll(fmt.Sprint(v.List), ",", "")
	}
	return fmt.Sprint(v.N)
}

// numbers makes a combining function of numbers one of values.
type numbers[A, O any] struct {
	fn   combine.Fn[int64, A, O]
	show func(O) value
}

func (f numbers[A, O]) Zero() A             { return f.fn.Zero() }
func (f numbers[A, O]) Add(acc *A, v value) { f.fn.Add(acc, v.N) }
func (f numbers[A, O]) Merge(acc *A, o A)   { f.fn.Merge(acc, o) }
func (f numbers[A, O]) Result(acc A) value  { return f.show(f.fn.Result(acc)) }

func number(n int64) value { return value{N: n} }

func extreme(x combine.Extreme[int64]) value { return value{N: x.Value, None: !x.Any} }

// list is a group's values, sorted.
func list(vs levada.Values[value]) value {
	all := make([]int64, 0, vs.Len())
	for v := range vs.All() {
		all = append(all, v.N)
	}
	slices.Sort(all)
	return value{List: all}
}
