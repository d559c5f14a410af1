package levada_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/combine"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/levadatest"
	"github.com/levadaflow/levada/trigger"
	"github.com/levadaflow/levada/window"
)

// digits combines numbers to a text of all their digits, sorted; unique to the different ones.
type digits struct{}

func (digits) Zero() string                { return "" }
func (digits) Add(acc *string, v int)      { *acc += strconv.Itoa(v) }
func (digits) Merge(acc *string, o string) { *acc += o }
func (digits) Result(acc string) string {
	all := []byte(acc)
	slices.Sort(all)
	return string(all)
}

type unique struct{}

func (unique) Zero() []int               { return nil }
func (unique) Add(acc *[]int, v int)     { *acc = append(*acc, v) }
func (unique) Merge(acc *[]int, o []int) { *acc = append(slices.Clone(*acc), o...) }
func (unique) Result(acc []int) string {
	return fmt.Sprint(slices.Compact(slices.Sorted(slices.Values(acc))))
}

// reducer combines with a function of two values.
type reducer func(a, b int) int

func (reducer) Zero() int               { return 0 }
func (f reducer) Add(acc *int, v int)   { *acc = f(*acc, v) }
func (f reducer) Merge(acc *int, o int) { *acc = f(*acc, o) }
func (reducer) Result(acc int) int      { return acc }

// adder has a method that adds.
type adder struct{}

func (adder) add(a, b int) int { return a + b }

// allAndKeyed shows the elements of two collections, one after the other.
func allAndKeyed[A, B any](a levada.PCollection[A], b levada.PCollection[B]) levada.PCollection[string] {
	return levada.Flatten("texts", levada.Map(a, "a", func(v A) string { return fmt.Sprint("all ", v) }),
		levada.Map(b, "b", func(v B) string { return fmt.Sprint(v) }))
}

// valuesOf drops the keys.
func valuesOf(in levada.PCollection[keyInt]) levada.PCollection[int] {
	return levada.Map(in, "values", func(kv keyInt) int { return kv.Value })
}

var combineTable = atMin(pair("a", 1), pair("a", 1), pair("a", 4), pair("b", 1), pair("b", 13))

// TestBeamCombine shows results for each key and for all. Where there is nothing there is no result, not that of nothing as in Beam; a
// view has it with a default.
func TestBeamCombine(t *testing.T) {
	type in = levada.PCollection[keyInt]
	for _, c := range []struct {
		name, empty string
		build       func(in in) levada.PCollection[string]
		want        []string
	}{
		{"testSimpleCombine", "testSimpleCombineEmpty", func(in in) levada.PCollection[string] {
			return allAndKeyed(levada.CombineGlobally(valuesOf(in), "sum", combine.Sum[int]()), levada.CombinePerKey(in, "digits", digits{}))
		}, []string{"all 20", "a: 114", "b: 113"}},
		{"testBasicCombine", "testBasicCombineEmpty", func(in in) levada.PCollection[string] {
			return allAndKeyed(levada.CombineGlobally(valuesOf(in), "unique", unique{}), levada.CombinePerKey(in, "unique-per-key", unique{}))
		}, []string{"all [1 4 13]", "a: [1 4]", "b: [1 13]"}},
		{"testAccumulatingCombine", "testAccumulatingCombineEmpty", func(in in) levada.PCollection[string] {
			return allAndKeyed(levada.CombineGlobally(valuesOf(in), "mean", combine.Mean[int]()), levada.CombinePerKey(in, "mean-per-key", combine.Mean[int]()))
		}, []string{"all 4", "a: 2", "b: 7"}},
	} {
		beam(t, c.name, false, combineTable, c.build, valueOf, c.want...)
		beam(t, c.empty, false, nil, c.build, valueOf)
	}
	for name, f := range map[string]reducer{
		"testBinaryCombinePerKeyLambda": func(a, b int) int { return a + b }, "testBinaryCombinePerKeyInstanceMethodReference": adder{}.add,
		"testCombinePerKeyLambda": func(a, b int) int { return a + b }, "testCombinePerKeyInstanceMethodReference": adder{}.add,
		"testCombineGloballyLambda": func(a, b int) int { return a + b }, "testCombineGloballyInstanceMethodReference": adder{}.add,
	} {
		beam(t, name, false, atMin(pair("a", 1), pair("b", 2), pair("a", 3), pair("c", 4)), func(in in) levada.PCollection[string] {
			return allAndKeyed(levada.CombineGlobally(valuesOf(in), "all", f), levada.CombinePerKey(in, "per-key", f))
		}, valueOf, "all 10", "a: 4", "b: 2", "c: 4")
	}
	beam(t, "testWindowedCombineEmpty", false, nil, func(in levada.PCollection[int]) levada.PCollection[float64] {
		return levada.CombineGlobally(windows(in, levada.Windowing{Windows: window.Fixed(time.Millisecond)}), "mean", combine.Mean[int]())
	}, valueOf)
	beam(t, "testCombineGloballyAsSingletonView", false, atMin("x"), func(in levada.PCollection[string]) levada.PCollection[string] {
		sum := levada.CombineGlobally(levada.Create[int](in.Pipeline(), "side"), "sum", combine.Sum[int]())
		return looking(in, levada.AsSingleton(sum, "view", 0), seeOne[int])
	}, valueOf, "x sees 0")
	minute := levada.Windowing{Windows: window.Fixed(time.Minute)}
	beam(t, "testWindowedCombineGloballyAsSingletonView", false, []levada.Timed[string]{el(100, "x"), el(event.Min, "y")},
		func(in levada.PCollection[string]) levada.PCollection[string] {
			side := levada.WindowInto(levada.CreateTimed(in.Pipeline(), "side", el(100, 1), el(100, 3)), "side-windows", minute)
			return looking(windows(in, minute), levada.AsSingleton(levada.CombineGlobally(side, "sum", combine.Sum[int]()), "view", 0), seeOne[int])
		}, timed, "x sees 4@100", fmt.Sprint("y sees 0@", event.Min.Millis()))
	var copies []levada.Timed[keyInt]
	for range 10 {
		copies = append(copies, combineTable...)
	}
	beam(t, "testHotKeyCombining", false, copies, func(in in) levada.PCollection[levada.KV[string, float64]] {
		return levada.CombinePerKey(levada.Reshuffle(in, "spread"), "mean", combine.Mean[int]())
	}, valueOf, "a: 2", "b: 7")
}

// TestBeamCombineWindows shows results for each window.
func TestBeamCombineWindows(t *testing.T) {
	type in = levada.PCollection[keyInt]
	at := func(times ...event.Time) []levada.Timed[keyInt] {
		in := slices.Clone(combineTable)
		for i, t := range times {
			in[i].Time = t
		}
		return in
	}
	sums := func(w levada.Windowing) func(in in) levada.PCollection[string] {
		return func(in in) levada.PCollection[string] {
			in = windows(in, w)
			return allAndKeyed(levada.CombineGlobally(valuesOf(in), "sum", combine.Sum[int]()), levada.CombinePerKey(in, "digits", digits{}))
		}
	}
	two, five := levada.Windowing{Windows: window.Fixed(2 * time.Millisecond)}, levada.Windowing{Windows: window.Fixed(5 * time.Millisecond)}
	sessions := levada.Windowing{Windows: window.Sessions(5 * time.Millisecond)}
	beam(t, "testFixedWindowsCombine", false, at(0, 1, 6, 7, 8), sums(two), valueOf, "all 2", "all 5", "all 13", "a: 11", "a: 4", "b: 1", "b: 13")
	beam(t, "testSessionsCombine", false, at(0, 4, 7, 10, 16), sums(sessions), windowed, "all 7@14 [0,15)", "all 13@20 [16,21)",
		"a: 114@11 [0,12)", "b: 1@14 [10,15)", "b: 13@20 [16,21)")
	letters := []levada.Timed[keyInt]{el(1, pair("", 1)), el(2, pair("", 2)), el(3, pair("", 3))}
	beam(t, "testSlidingWindowsCombine", false, letters, func(in in) levada.PCollection[string] {
		return levada.CombineGlobally(valuesOf(windows(in, levada.Windowing{Windows: window.Sliding(3*time.Millisecond, time.Millisecond)})), "list", unique{})
	}, windowed, "[1]@1 [-1,2)", "[1 2]@2 [0,3)", "[1 2 3]@3 [1,4)", "[2 3]@4 [2,5)", "[3]@5 [3,6)")
	// What combines with a side input in Beam is followed here by a step that sees it, in the window of the result.
	with := func(side levada.PCollection[int], w levada.Windowing, def ...int) func(in in) levada.PCollection[string] {
		return func(in in) levada.PCollection[string] {
			view := levada.AsSingleton(side, "view", def...)
			in = windows(in, w)
			return looking(allAndKeyed(levada.CombineGlobally(valuesOf(in), "digits", digits{}), levada.CombinePerKey(in, "digits-per-key", digits{})), view, seeOne[int])
		}
	}
	// sum is the side input: the sum of all in windows of its own.
	sum := func(in in, w levada.Windowing) levada.PCollection[int] {
		all := levada.Map(in, "numbers", func(kv keyInt) int { return kv.Value })
		return levada.CombineGlobally(levada.WindowInto(all, "side-windows", w), "side-sum", combine.Sum[int]())
	}
	for name, c := range map[string]struct {
		in      []levada.Timed[keyInt]
		w, side levada.Windowing
		def     []int
		want    []string
	}{
		"testSimpleCombineWithContext":      {combineTable, global, global, nil, []string{"all 111134 sees 20", "a: 114 sees 20", "b: 113 sees 20"}},
		"testSimpleCombineWithContextEmpty": {nil, global, global, nil, nil},
		"testHotKeyCombineWithSideInputs":   {combineTable, global, global, nil, []string{"all 111134 sees 20", "a: 114 sees 20", "b: 113 sees 20"}},
		"testFixedWindowsCombineWithContext": {at(0, 1, 6, 7, 8), two, two, nil, []string{"all 11 sees 2", "all 14 sees 5", "all 13 sees 13",
			"a: 11 sees 2", "a: 4 sees 5", "b: 1 sees 5", "b: 13 sees 13"}},
		"testSessionsCombineWithContext": {at(0, 4, 7, 10, 16), sessions, five, []int{0},
			[]string{"all 1114 sees 1", "all 13 sees 0", "a: 114 sees 1", "b: 1 sees 1", "b: 13 sees 0"}},
		"testSlidingWindowsCombineWithContext": {at(2, 3, 8, 9, 10), levada.Windowing{Windows: window.Sliding(2*time.Millisecond, time.Millisecond)},
			levada.Windowing{Windows: window.Sliding(2*time.Millisecond, time.Millisecond)}, nil, []string{"all 1 sees 1", "all 11 sees 2", "all 1 sees 1",
				"all 4 sees 4", "all 14 sees 5", "all 113 sees 14", "all 13 sees 13", "a: 1 sees 1", "a: 11 sees 2", "a: 1 sees 1", "a: 4 sees 4", "a: 4 sees 5",
				"b: 1 sees 5", "b: 113 sees 14", "b: 13 sees 13"}},
	} {
		beam(t, name, false, c.in, func(in in) levada.PCollection[string] { return with(sum(in, c.side), c.w, c.def...)(in) }, valueOf, c.want...)
	}
}

// TestBeamCombinePanes shows that the last pane of an accumulating window has everything.
func TestBeamCombinePanes(t *testing.T) {
	w := levada.Windowing{Windows: window.Global(), Trigger: trigger.Repeat{Trigger: trigger.AfterCount(1)}, Accumulation: levada.Accumulating, Closing: levada.Always}
	for name, in := range map[string][]int{"testGlobalCombineWithDefaultsAndTriggers": {1, 1}, "testHotKeyCombiningWithAccumulationMode": {1, 2, 3, 4, 5}} {
		eachBeamMode(t, name, func(t *testing.T, h *levadatest.Harness) {
			sums := levadatest.Collect(h, levada.CombineGlobally(windows(levada.Reshuffle(levada.Create(h.Pipeline, "in", in...), "spread"), w), "sum", combine.Sum[int]()))
			h.Finish()
			want, last := 0, 0
			for _, v := range in {
				want += v
			}
			for _, e := range sums.Take() {
				if e.Pane.Last {
					last += e.Value
				}
			}
			if last != want {
				t.Errorf("the last pane has %d, want %d", last, want)
			}
		})
	}
}
