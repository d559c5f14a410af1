package levada_test

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/combine"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/levadatest"
	"github.com/levadaflow/levada/trigger"
	"github.com/levadaflow/levada/window"
)

// lists are the values of each key and window, sorted.
func lists(w levada.Windowing) func(in levada.PCollection[keyInt]) levada.PCollection[string] {
	return func(in levada.PCollection[keyInt]) levada.PCollection[string] {
		return levada.Map(levada.GroupByKey(windows(in, w), "group"), "list", func(kv levada.KV[string, levada.Values[int]]) string {
			return fmt.Sprint(kv.Key, slices.Sorted(kv.Value.All()))
		})
	}
}

// TestBeamGroupByKey shows groupings in all kinds of windows.
func TestBeamGroupByKey(t *testing.T) {
	in := []levada.Timed[keyInt]{el(1, pair("k1", 3)), el(2, pair("k5", math.MaxInt32)), el(3, pair("k5", math.MinInt32)), el(4, pair("k2", 66)),
		el(5, pair("k1", 4)), el(6, pair("k2", -33)), el(7, pair("k3", 0))}
	beam(t, "testGroupByKey", false, in, lists(global), valueOf, "k1[3 4]", "k5[-2147483648 2147483647]", "k2[-33 66]", "k3[0]")
	beam(t, "testGroupByKeyEmpty", false, nil, lists(global), valueOf)
	beam(t, "testGroupByKeyAndWindows", false, in, lists(levada.Windowing{Windows: window.Fixed(5 * time.Millisecond)}), windowed,
		"k1[3]@4 [0,5)", "k5[-2147483648 2147483647]@4 [0,5)", "k2[66]@4 [0,5)", "k1[4]@9 [5,10)", "k2[-33]@9 [5,10)", "k3[0]@9 [5,10)")
	in = []levada.Timed[keyInt]{el(1, pair("foo", 1)), el(4, pair("foo", 4)), el(3, pair("bar", 3))}
	beam(t, "testGroupByKeyMultipleWindows", false, in, lists(levada.Windowing{Windows: window.Sliding(5*time.Millisecond, 3*time.Millisecond)}), windowed,
		"foo[1]@1 [-3,2)", "foo[1 4]@4 [0,5)", "bar[3]@4 [0,5)", "foo[4]@7 [3,8)", "bar[3]@7 [3,8)")
	in = append(in, el(9, pair("foo", 9)))
	beam(t, "testGroupByKeyMergingWindows", false, in, lists(levada.Windowing{Windows: window.Sessions(4 * time.Millisecond)}), windowed,
		"foo[1 4]@7 [1,8)", "bar[3]@6 [3,7)", "foo[9]@12 [9,13)")
	beam(t, "testRewindowWithTimestampCombiner", false, in, func(in levada.PCollection[keyInt]) levada.PCollection[keyInt] {
		sums := levada.SumPerKey(windows(in, levada.Windowing{OutputTime: levada.Latest}), "sum")
		return levada.WindowInto(sums, "millis", levada.Windowing{Windows: window.Fixed(time.Millisecond)})
	}, windowed, "foo: 14@9 [9,10)", "bar: 3@3 [3,4)")
	in = []levada.Timed[keyInt]{el(0, pair("k", 1)), el(10, pair("k", 2))}
	for name, c := range map[string]struct {
		of   levada.OutputTime
		want event.Time
	}{
		"testTimestampCombinerEarliest": {levada.Earliest, 0}, "testTimestampCombinerLatest": {levada.Latest, 10},
		"testTimestampCombinerDefault": {0, 599_999}, "testTimestampCombinerEndOfWindow": {levada.EndOfWindow, 599_999},
	} {
		beam(t, name, false, in, lists(levada.Windowing{Windows: window.Fixed(10 * time.Minute), OutputTime: c.of}), timed, fmt.Sprint("k[1 2]@", c.want.Millis()))
	}
}

// TestBeamLargeKeys shows keys of up to 100 MB.
func TestBeamLargeKeys(t *testing.T) {
	for _, c := range []struct {
		name string
		size int
	}{
		{"testLargeKeys10KB", 10 << 10}, {"testLargeKeys100KB", 100 << 10}, {"testLargeKeys1MB", 1 << 20}, {"testLargeKeys10MB", 10 << 20},
		{"testLargeKeys100MB", 100 << 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.size > 1<<20 {
				t.Skip("takes memory")
			}
			h := levadatest.New(t)
			h.Run.Parallelism = 2
			keyed := levada.KeyBy(levada.Create(h.Pipeline, "in", 0, 1, 0, 1, 1), "key", func(v int) string { return strings.Repeat("x", c.size) + fmt.Sprint(v) })
			counts := levadatest.Collect(h, levada.Map(levada.CountPerKey(keyed, "count"), "short", func(kv levada.KV[string, int64]) string {
				return fmt.Sprint(len(kv.Key), " ", kv.Key[c.size:], ": ", kv.Value)
			}))
			h.Finish()
			same(t, shown(counts, valueOf), fmt.Sprint(c.size+1, " 0: 2"), fmt.Sprint(c.size+1, " 1: 3"))
		})
	}
}

// TestBeamDelays shows groupings by the clock, and a second one behind them.
func TestBeamDelays(t *testing.T) {
	delayed := levada.Windowing{
		Trigger: trigger.Repeat{Trigger: trigger.AfterDelay(time.Millisecond)}, Accumulation: levada.Accumulating, OnTime: levada.NonEmpty,
	}
	twice := func(in levada.PCollection[int]) levada.PCollection[int] {
		first := levada.CombineGlobally(windows(in, delayed), "first", combine.Sum[int]())
		return levada.CombineGlobally(first, "second", combine.Sum[int]())
	}
	early := func(c *levadatest.Collected[int]) []string {
		all := slices.DeleteFunc(c.Take(), func(e element[int]) bool { return e.Pane.Timing != event.Early })
		return strings.Fields(strings.Trim(fmt.Sprint(slices.Collect(func(yield func(int) bool) {
			for _, e := range all {
				if !yield(e.Value) {
					return
				}
			}
		})), "[]"))
	}
	eachBeamMode(t, "testAfterProcessingTimeContinuationTriggerEarly", func(t *testing.T, h *levadatest.Harness) {
		src := levadatest.Source[int](h, "src")
		got := levadatest.Collect(h, twice(src.Out))
		src.Watermark(0)
		src.Add(0, 42)
		h.Clock(10 * time.Millisecond)
		h.Clock(500 * time.Millisecond)
		h.Finish()
		same(t, early(got), "42")
	})
	eachBeamMode(t, "testAfterProcessingTimeContinuationTriggerUsingState", func(t *testing.T, h *levadatest.Harness) {
		src := levadatest.Source[keyInt](h, "src")
		held := levada.ParDoKeyed(src.Out, "hold", func(s *levada.Keyed[string], out *levada.Out[int]) levada.Process[keyInt] {
			timer := levada.EventTimer(s, "timer")
			timer.OnFire(func(*levada.Ctx, string) error { return nil })
			return func(c *levada.Ctx, _ keyInt) error {
				out.Emit(c, 42)
				timer.Set(c, c.Window().Last()-10)
				return nil
			}
		})
		got := levadatest.Collect(h, twice(held))
		src.Add(0, pair("dummy", 0))
		src.Watermark(event.EndOfGlobal - 20)
		h.Clock(500 * time.Millisecond)
		h.Finish()
		same(t, early(got), "42")
	})
	eachBeamMode(t, "testCombiningAccumulatingProcessingTime", func(t *testing.T, h *levadatest.Harness) {
		src := levadatest.Source[int](h, "src")
		got := levadatest.Collect(h, levada.CombineGlobally(windows(src.Out, levada.Windowing{
			Windows: window.Fixed(100 * time.Millisecond), OutputTime: levada.Earliest, Accumulation: levada.Accumulating,
			Trigger: trigger.Repeat{Trigger: trigger.AfterDelay(10 * time.Millisecond)},
		}), "sum", combine.Sum[int]()))
		src.Watermark(0)
		src.Add(2, 2)
		src.Add(5, 5)
		src.Watermark(100)
		h.Clock(10 * time.Millisecond)
		h.Finish()
		want(t, got, at(7, 2, fixed(0, 100), firstLast))
	})
}

// TestBeamFlatten shows collections put together. A Flatten has one input at least, so where Beam has none here is an empty one.
func TestBeamFlatten(t *testing.T) {
	lines := []string{"a", "b", "c", "d"}
	double := func(in levada.PCollection[string]) levada.PCollection[string] {
		return levada.Map(in, "double", func(s string) string { return s + s })
	}
	type in = levada.PCollection[string]
	for name, c := range map[string]struct {
		in   []string
		then func(in in) levada.PCollection[string]
		want []string
	}{
		"testFlattenPCollections":               {lines, id[in], []string{"a", "b", "c", "d", "other"}},
		"testFlattenPCollectionsThenParDo":      {lines, double, []string{"aa", "bb", "cc", "dd", "otherother"}},
		"testFlattenPCollectionsSingletonList":  {lines, id[in], lines},
		"testFlattenPCollectionsEmpty":          {nil, id[in], nil},
		"testFlattenPCollectionsEmptyThenParDo": {nil, double, nil},
	} {
		beam(t, name, false, atMin(c.in...), func(in in) levada.PCollection[string] {
			if len(c.want) > len(c.in) {
				return c.then(levada.Flatten("flat", in, levada.Create(in.Pipeline(), "more", "other")))
			}
			return c.then(levada.Flatten("flat", in))
		}, valueOf, c.want...)
	}
	beam(t, "testEmptyFlattenAsSideInput", false, atMin("x"), func(in in) levada.PCollection[string] {
		return looking(in, levada.AsIter(levada.Flatten("flat", levada.Create[int](in.Pipeline(), "none")), "view"), seeAll)
	}, valueOf, "x sees []")
	beam(t, "testFlattenInputMultipleCopies", false, atMin(0, 1, 2, 3, 4), func(in levada.PCollection[int]) levada.PCollection[int] {
		return levada.Flatten("flat", in, in, levada.Map(in, "bigger", func(v int) int { return v + 10 }))
	}, valueOf, "0", "0", "1", "1", "2", "2", "3", "3", "4", "4", "10", "11", "12", "13", "14")
	beam(t, "testFlattenMultiplePCollectionsHavingMultipleConsumers", false, atMin("AA", "BBB", "CC"), func(in in) levada.PCollection[string] {
		even, odd := levada.ParDo2(in, "lengths", func(_ *levada.Setup, even, odd *levada.Out[string]) levada.Process[string] {
			return func(c *levada.Ctx, s string) error {
				if len(s)%2 == 0 {
					even.Emit(c, s)
				} else {
					odd.Emit(c, s)
				}
				return nil
			}
		})
		merged := levada.Map(levada.Flatten("merged", even, odd), "of-merged", func(s string) string { return "merged " + s })
		return levada.Flatten("all", merged, levada.Map(even, "of-even", func(s string) string { return "even " + s }),
			levada.Map(odd, "of-odd", func(s string) string { return "odd " + s }))
	}, valueOf, "merged AA", "merged BBB", "merged CC", "even AA", "even CC", "odd BBB")
	set := map[string]bool{}
	for _, s := range lines {
		set[s] = true
	}
	beam(t, "testFlattenIterablesSets", false, atMin(set), func(in levada.PCollection[map[string]bool]) levada.PCollection[string] {
		return levada.FlatMap(in, "flat", func(s map[string]bool) iter.Seq[string] { return maps.Keys(s) })
	}, valueOf, lines...)
	for name, list := range map[string][]string{
		"testFlattenIterables": lines, "testFlattenIterablesLists": lines, "testFlattenIterablesCollections": lines, "testFlattenIterablesEmpty": {},
	} {
		beam(t, name, false, atMin(list), func(in levada.PCollection[[]string]) levada.PCollection[string] {
			return levada.FlatMap(in, "flat", func(s []string) iter.Seq[string] { return slices.Values(s) })
		}, valueOf, list...)
	}
}

// TestBeamCreate shows what a collection can be made of.
func TestBeamCreate(t *testing.T) {
	create := func(t *testing.T, name string, build func(p *levada.Pipeline) levada.PCollection[string], want ...string) {
		eachBeamMode(t, name, func(t *testing.T, h *levadatest.Harness) {
			got := levadatest.Collect(h, build(h.Pipeline))
			h.Finish()
			same(t, shown(got, timed), want...)
		})
	}
	ended := fmt.Sprint("@", event.Min.Millis())
	create(t, "testCreate", func(p *levada.Pipeline) levada.PCollection[string] { return levada.Create(p, "in", "a", "b", "c") }, "a"+ended, "b"+ended, "c"+ended)
	create(t, "testCreateEmpty", func(p *levada.Pipeline) levada.PCollection[string] { return levada.Create[string](p, "in") })
	create(t, "testCreateWithVoidType", func(p *levada.Pipeline) levada.PCollection[string] {
		return levada.Map(levada.Create(p, "in", struct{}{}, struct{}{}), "show", func(v struct{}) string { return fmt.Sprint(v) })
	}, "{}"+ended, "{}"+ended)
	create(t, "testCreateWithKVVoidType", func(p *levada.Pipeline) levada.PCollection[string] {
		nothing := pair(struct{}{}, struct{}{})
		return levada.Map(levada.CountPerKey(levada.Create(p, "in", nothing, nothing), "count"), "show", func(kv levada.KV[struct{}, int64]) string { return fmt.Sprint(kv) })
	}, fmt.Sprint("{}: 2@", event.EndOfGlobal.Millis()))
	create(t, "testCreateWithNullsAndValues", func(p *levada.Pipeline) levada.PCollection[string] {
		one, two := "test1", "test2"
		texts := levada.Reshuffle(levada.Create(p, "in", nil, &one, nil, &two, nil), "spread")
		return levada.Map(texts, "show", func(s *string) string {
			if s == nil {
				return "nil"
			}
			return *s
		})
	}, "nil"+ended, "nil"+ended, "nil"+ended, "test1"+ended, "test2"+ended)
}
