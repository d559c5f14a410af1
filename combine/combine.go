// Package combine has combining functions: what a window's elements are reduced to, without keeping them.
package combine

// Fn combines values of type I in an accumulator of type A to a result of type O.
//
// A Fn is shared by all tasks and used by them at once: it keeps no state of its own. The order of Adds and Merges is not
// defined, so the function must be associative and commutative. (Beam's CombineFn.)
type Fn[I, A, O any] interface {
	// Zero returns a new, empty accumulator.
	Zero() A
	// Add takes one value into *acc, which the caller owns. v is only lent where it has slices or pointers.
	Add(acc *A, v I)
	// Merge takes other into *acc. It is pure: other is not changed and not kept.
	Merge(acc *A, other A)
	// Result returns the outcome. It does not change acc, which may get more values afterwards.
	Result(acc A) O
}

// Number is what can be added up.
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

type sum[N Number] struct{}

// Sum adds the values up; of none it is 0. Integers wrap around on overflow.
func Sum[N Number]() Fn[N, N, N] { return (*sum[N])(nil) }

func (*sum[N]) Zero() N           { return 0 }
func (*sum[N]) Add(acc *N, v N)   { *acc += v }
func (*sum[N]) Merge(acc *N, o N) { *acc += o }
func (*sum[N]) Result(acc N) N    { return acc }

type count[I any] struct{}

// Count counts the values.
func Count[I any]() Fn[I, int64, int64] { return (*count[I])(nil) }

func (*count[I]) Zero() int64               { return 0 }
func (*count[I]) Add(acc *int64, _ I)       { *acc++ }
func (*count[I]) Merge(acc *int64, o int64) { *acc += o }
func (*count[I]) Result(acc int64) int64    { return acc }

// Extreme is the accumulator of [Min] and [Max].
type Extreme[N Number] struct {
	Value N
	Any   bool // whether there was a value
}

type least[N Number] struct{}

// Min keeps the smallest value; of none it is {0, false}. Floats: NaN is smaller than everything.
func Min[N Number]() Fn[N, Extreme[N], Extreme[N]] { return (*least[N])(nil) }

func (*least[N]) Zero() Extreme[N] { return Extreme[N]{} }
func (*least[N]) Add(acc *Extreme[N], v N) {
	if !acc.Any {
		*acc = Extreme[N]{v, true}
		return
	}
	acc.Value = min(acc.Value, v)
}
func (f *least[N]) Merge(acc *Extreme[N], o Extreme[N]) {
	if o.Any {
		f.Add(acc, o.Value)
	}
}
func (*least[N]) Result(acc Extreme[N]) Extreme[N] { return acc }

type greatest[N Number] struct{}

// Max keeps the greatest value; of none it is {0, false}. Floats: NaN is greater than everything.
func Max[N Number]() Fn[N, Extreme[N], Extreme[N]] { return (*greatest[N])(nil) }

func (*greatest[N]) Zero() Extreme[N] { return Extreme[N]{} }
func (*greatest[N]) Add(acc *Extreme[N], v N) {
	if !acc.Any {
		*acc = Extreme[N]{v, true}
		return
	}
	acc.Value = max(acc.Value, v)
}
func (f *greatest[N]) Merge(acc *Extreme[N], o Extreme[N]) {
	if o.Any {
		f.Add(acc, o.Value)
	}
}
func (*greatest[N]) Result(acc Extreme[N]) Extreme[N] { return acc }

// Average is the accumulator of [Mean].
type Average struct {
	Sum   float64
	Count int64
}

type mean[N Number] struct{}

// Mean is the arithmetic mean, computed in float64; of none it is NaN.
func Mean[N Number]() Fn[N, Average, float64] { return (*mean[N])(nil) }

func (*mean[N]) Zero() Average                 { return Average{} }
func (*mean[N]) Add(acc *Average, v N)         { acc.Sum += float64(v); acc.Count++ }
func (*mean[N]) Merge(acc *Average, o Average) { acc.Sum += o.Sum; acc.Count += o.Count }
func (*mean[N]) Result(acc Average) float64    { return acc.Sum / float64(acc.Count) }
