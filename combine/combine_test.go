package combine_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/levadaflow/levada/combine"
)

// laws checks that fn gives what want says of the values, however they are split and merged.
func laws[I, A, O any](t *testing.T, value *rapid.Generator[I], fn combine.Fn[I, A, O], want func(values []I) O) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOf(value).Draw(t, "values")
		parts := make([]A, rapid.IntRange(1, 5).Draw(t, "parts"))
		for i := range parts {
			parts[i] = fn.Zero()
		}
		shuffled := values
		if len(values) > 0 {
			shuffled = rapid.Permutation(values).Draw(t, "order")
		}
		for _, v := range shuffled {
			part := &parts[rapid.IntRange(0, len(parts)-1).Draw(t, "part")]
			fn.Add(part, v)
			fn.Result(*part) // a look at it changes nothing
		}
		for len(parts) > 1 { // merge any two
			i := rapid.IntRange(1, len(parts)-1).Draw(t, "from")
			j := rapid.IntRange(0, i-1).Draw(t, "to")
			other := fn.Result(parts[i])
			fn.Merge(&parts[j], parts[i])
			if diff := cmp.Diff(other, fn.Result(parts[i]), cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("Merge changes the other:\n%s", diff)
			}
			parts = append(parts[:i], parts[i+1:]...)
		}
		if diff := cmp.Diff(want(values), fn.Result(parts[0]), cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("result of %v (-want +got):\n%s", values, diff)
		}
	})
}

func TestSum(t *testing.T) {
	laws(t, rapid.Int64(), combine.Sum[int64](), total[int64]) // and wraps around
	laws(t, rapid.Uint8(), combine.Sum[uint8](), total[uint8])
	laws(t, rapid.Map(rapid.Int32(), wholeFloat), combine.Sum[float64](), total[float64])
}

func total[N combine.Number](values []N) (sum N) {
	for _, v := range values {
		sum += v
	}
	return sum
}

// wholeFloat is a float whose sums are exact.
func wholeFloat(v int32) float64 { return float64(v) }

func TestCount(t *testing.T) {
	laws(t, rapid.String(), combine.Count[string](), func(values []string) int64 { return int64(len(values)) })
}

func TestMin(t *testing.T) {
	laws(t, rapid.Int64(), combine.Min[int64](), extreme(func(a, b int64) bool { return a < b }))
	laws(t, anyFloat(), combine.Min[float64](), extreme(func(a, b float64) bool { return a < b || math.IsNaN(a) }))
}

func TestMax(t *testing.T) {
	laws(t, rapid.Int64(), combine.Max[int64](), extreme(func(a, b int64) bool { return a > b }))
	laws(t, rapid.Uint64(), combine.Max[uint64](), extreme(func(a, b uint64) bool { return a > b }))
	laws(t, anyFloat(), combine.Max[float64](), extreme(func(a, b float64) bool { return a > b || math.IsNaN(a) }))
}

// extreme returns a function to the value that comes before all others.
func extreme[N combine.Number](before func(a, b N) bool) func(values []N) combine.Extreme[N] {
	return func(values []N) (e combine.Extreme[N]) {
		for _, v := range values {
			if !e.Any || before(v, e.Value) {
				e = combine.Extreme[N]{Value: v, Any: true}
			}
		}
		return e
	}
}

func anyFloat() *rapid.Generator[float64] {
	return rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0}))
}

func TestMean(t *testing.T) {
	laws(t, rapid.Int32(), combine.Mean[int32](), func(values []int32) float64 {
		var sum int64
		for _, v := range values {
			sum += int64(v)
		}
		return float64(sum) / float64(len(values)) // of none, 0/0 is NaN
	})
}

func TestOfNothing(t *testing.T) {
	if got := result(combine.Sum[int]()); got != 0 {
		t.Errorf("Sum = %d", got)
	}
	if got := result(combine.Count[string]()); got != 0 {
		t.Errorf("Count = %d", got)
	}
	if got := result(combine.Min[int]()); got != (combine.Extreme[int]{}) {
		t.Errorf("Min = %v", got)
	}
	if got := result(combine.Max[int]()); got != (combine.Extreme[int]{}) {
		t.Errorf("Max = %v", got)
	}
	if got := result(combine.Mean[int]()); !math.IsNaN(got) {
		t.Errorf("Mean = %v", got)
	}
}

func result[I, A, O any](fn combine.Fn[I, A, O], values ...I) O {
	acc := fn.Zero()
	for _, v := range values {
		fn.Add(&acc, v)
	}
	return fn.Result(acc)
}

// An empty accumulator changes nothing, although the zero that it holds is smaller, or greater, than every value.
func TestMergeOfEmpty(t *testing.T) {
	least, greatest := combine.Min[int](), combine.Max[int]()
	low, high := least.Zero(), greatest.Zero()
	least.Add(&low, 5)
	greatest.Add(&high, -5)
	least.Merge(&low, least.Zero())
	greatest.Merge(&high, greatest.Zero())
	if low.Value != 5 || high.Value != -5 {
		t.Errorf("min = %v, max = %v", low, high)
	}
}

func Example() {
	fn := combine.Mean[int]()
	morning, evening := fn.Zero(), fn.Zero()
	fn.Add(&morning, 10)
	fn.Add(&evening, 20)
	fn.Add(&evening, 60)
	fn.Merge(&morning, evening)
	fmt.Println(fn.Result(morning))
	// Output: 30
}

func ExampleSum() {
	fmt.Println(result(combine.Sum[int](), 1, 2, 3), result(combine.Sum[uint8](), 200, 100))
	// Output: 6 44
}

func ExampleCount() {
	fmt.Println(result(combine.Count[string](), "a", "b"))
	// Output: 2
}

func ExampleMin() {
	fmt.Println(result(combine.Min[int](), 3, 1, 2), result(combine.Min[int]()))
	// Output: {1 true} {0 false}
}

func ExampleMax() {
	fmt.Println(result(combine.Max[float64](), 3, 1, math.NaN()))
	// Output: {NaN true}
}

func ExampleMean() {
	fmt.Println(result(combine.Mean[int](), 1, 2), result(combine.Mean[int]()))
	// Output: 1.5 NaN
}
