package levada_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/levadatest"
	"github.com/levadaflow/levada/trigger"
	"github.com/levadaflow/levada/window"
)

// windowedCount counts equal elements of each window, at the earliest time.
func windowedCount(fn window.Fn) func(in levada.PCollection[string]) levada.PCollection[levada.KV[string, int64]] {
	return func(in levada.PCollection[string]) levada.PCollection[levada.KV[string, int64]] {
		w := windows(in, levada.Windowing{Windows: fn, OutputTime: levada.Earliest})
		return levada.CountPerKey(levada.KeyBy(w, "key", id[string]), "count")
	}
}

// TestBeamWindowing shows counts in windows of each kind.
func TestBeamWindowing(t *testing.T) {
	beam(t, "testPartitioningWindowing", false, []levada.Timed[string]{el(1, "a"), el(2, "b"), el(3, "b"), el(11, "c"), el(11, "d")},
		windowedCount(window.Fixed(10*time.Millisecond)), windowed, "a: 1@1 [0,10)", "b: 2@2 [0,10)", "c: 1@11 [10,20)", "d: 1@11 [10,20)")
	beam(t, "testNonPartitioningWindowing", false, []levada.Timed[string]{el(1, "a"), el(7, "a"), el(8, "b")},
		windowedCount(window.Sliding(10*time.Millisecond, 5*time.Millisecond)), windowed, "a: 1@1 [-5,5)", "a: 2@1 [0,10)", "a: 1@7 [5,15)",
		"b: 1@8 [0,10)", "b: 1@8 [5,15)")
	beam(t, "testMergingWindowing", false, []levada.Timed[string]{el(1, "a"), el(5, "a"), el(20, "a")},
		windowedCount(window.Sessions(10*time.Millisecond)), windowed, "a: 2@1 [1,15)", "a: 1@20 [20,30)")
	beam(t, "testWindowPreservation", false, []levada.Timed[string]{el(1, "a"), el(2, "b")},
		func(in levada.PCollection[string]) levada.PCollection[levada.KV[string, int64]] {
			more := levada.CreateTimed(in.Pipeline(), "more", el(3, "a"), el(4, "b"))
			return windowedCount(window.Fixed(5 * time.Millisecond))(levada.Flatten("both", in, more))
		}, windowed, "a: 2@1 [0,5)", "b: 2@2 [0,5)")
}

// TestBeamNoWindowFn shows that a window step without windows leaves elements in those they have, which depend on a value that is gone.
func TestBeamNoWindowFn(t *testing.T) {
	var in []levada.Timed[int]
	var want []string
	for i := range 10 {
		in = append(in, el(1, i))
		want = append(want, fmt.Sprintf("%v@1 [%d,10)", i%2 == 0, i%2))
	}
	beam(t, "testNoWindowFnDoesNotReassignWindows", false, in, func(in levada.PCollection[int]) levada.PCollection[bool] {
		own := levada.WindowBy(in, "own", func(dst []event.Window, v int, _ event.Time) []event.Window {
			return append(dst, fixed(event.Time(v%2), 10))
		}, levada.Windowing{})
		return windows(levada.Map(own, "even", func(v int) bool { return v%2 == 0 }), levada.Windowing{Trigger: trigger.Never{}, Accumulation: levada.Accumulating})
	}, windowed, want...)
}

// TestBeamReshuffle shows that time, window and pane stay, and that a grouping behind it gives what it would give without.
func TestBeamReshuffle(t *testing.T) {
	in := []levada.Timed[keyInt]{el(event.Min, pair("k1", 3)), el(0, pair("k5", 1)), el(33, pair("k5", 2)), el(33, pair("k2", 66)),
		el(600_001, pair("k1", 4)), el(event.EndOfGlobal, pair("k3", 0))}
	full := func(e element[string]) string { return windowed(e) + " " + e.Pane.String() }
	plainly := func(w levada.Windowing) func(in levada.PCollection[keyInt]) levada.PCollection[string] {
		return func(in levada.PCollection[keyInt]) levada.PCollection[string] {
			return levada.Map(windows(in, w), "text", func(kv keyInt) string { return kv.String() })
		}
	}
	ten := levada.Windowing{Windows: window.Fixed(10 * time.Minute)}
	sliding := levada.Windowing{Windows: window.Sliding(10*time.Minute, 5*time.Minute)}
	sessions := levada.Windowing{Windows: window.Sessions(10 * time.Minute)}
	for name, step := range map[string]func(in levada.PCollection[keyInt]) levada.PCollection[string]{
		"testJustReshuffle": plainly(global), "testReshufflePreservesTimestamps": plainly(global), "testReshuffleAfterFixedWindows": plainly(ten),
		"testReshuffleAfterSlidingWindows": plainly(sliding), "testReshuffleAfterFixedWindowsAndGroupByKey": lists(ten),
		"testReshuffleAfterSlidingWindowsAndGroupByKey": lists(sliding), "testReshuffleAfterSessionsAndGroupByKey": lists(sessions),
	} {
		eachBeamMode(t, name, func(t *testing.T, h *levadatest.Harness) {
			before := step(levada.CreateTimed(h.Pipeline, "in", in...))
			after := levada.Reshuffle(before, "spread")
			a, b := levadatest.Collect(h, before), levadatest.Collect(h, after)
			var counts []*levadatest.Collected[levada.KV[string, int64]]
			for i, c := range []levada.PCollection[string]{before, after} {
				counts = append(counts, levadatest.Collect(h, levada.CountPerKey(levada.KeyBy(c, fmt.Sprint("key", i), id[string]), fmt.Sprint("count", i))))
			}
			h.Finish()
			direct := shown(a, full)
			same(t, shown(b, full), direct...)
			same(t, shown(counts[1], windowed), shown(counts[0], windowed)...)
			if len(direct) == 0 || !strings.Contains(strings.Join(direct, " "), "k5") {
				t.Errorf("%q", direct)
			}
		})
	}
	eachBeamMode(t, "testReshuffleWithTimestampsStreaming", func(t *testing.T, h *levadatest.Harness) {
		const days48 = 48 * 24 * 3600 * 1000
		src := levadatest.Source[int](h, "src")
		got := levadatest.Collect(h, levada.Reshuffle(windows(src.Out, ten), "spread"))
		src.Watermark(days48)
		src.Add(0, 0)
		src.Add(days48, 1)
		src.Add(event.Max-days48, 2)
		h.Finish()
		same(t, shown(got, timed), "0@0", fmt.Sprint("1@", days48), fmt.Sprint("2@", event.Max.Millis()-days48))
	})
}

// TestBeamStreams shows what comes of an input step by step.
func TestBeamStreams(t *testing.T) {
	second := levada.Windowing{Windows: window.Fixed(time.Second), AllowedLateness: 5 * time.Second, Accumulation: levada.Discarding}
	group := func(in levada.PCollection[string]) levada.PCollection[string] {
		return levada.Map(levada.GroupByKey(levada.KeyBy(in, "key", func(string) int { return 1 }), "group"), "list",
			func(kv levada.KV[int, levada.Values[string]]) string {
				return fmt.Sprint(slices.Sorted(kv.Value.All()))
			})
	}
	eachBeamMode(t, "testDiscardingMode", func(t *testing.T, h *levadatest.Harness) {
		src := levadatest.Source[string](h, "src")
		w := second
		w.Trigger = trigger.AfterWatermark{Early: trigger.AfterCount(2), Late: trigger.Never{}}
		got := levadatest.Collect(h, group(windows(src.Out, w)))
		src.Watermark(0)
		src.Add(100, "first")
		src.Add(200, "also-first")
		src.Add(500, "on-time")
		src.Watermark(1000)
		src.Add(750, "late")
		src.Add(250, "also-late")
		h.Finish()
		want(t, got, at("[also-first first]", 999, fixed(0, 1000), event.Pane{Timing: event.Early, First: true, OnTimeIndex: -1}),
			at("[on-time]", 999, fixed(0, 1000), event.Pane{Timing: event.OnTime, Index: 1}),
			at("[also-late late]", 999, fixed(0, 1000), event.Pane{Timing: event.Late, Index: 2, OnTimeIndex: 1, Last: true}))
	})
	eachBeamMode(t, "testFirstElementLate", func(t *testing.T, h *levadatest.Harness) {
		src := levadatest.Source[string](h, "src")
		got := levadatest.Collect(h, group(windows(src.Out, second)))
		src.Watermark(0)
		src.Add(-1_000_000, "late")
		src.Add(100, "on-time")
		h.Finish()
		same(t, shown(got, windowed), "[on-time]@999 [0,1000)")
	})
	eachBeamMode(t, "testElementsAtAlmostPositiveInfinity", func(t *testing.T, h *levadatest.Harness) {
		src := levadatest.Source[string](h, "src")
		six := window.Fixed(6 * time.Hour)
		got := levadatest.Collect(h, group(windows(src.Out, levada.Windowing{Windows: six})))
		src.Add(event.EndOfGlobal, "foo")
		src.Add(event.EndOfGlobal, "bar")
		h.Finish()
		want(t, got, at("[bar foo]", event.EndOfGlobal, six.Assign(nil, event.EndOfGlobal)[0], firstLast))
	})
	eachBeamMode(t, "testMultipleStreams", func(t *testing.T, h *levadatest.Harness) {
		texts, numbers := levadatest.Source[string](h, "texts"), levadatest.Source[int](h, "numbers")
		a := levadatest.Collect(h, levada.WindowInto(texts.Out, "w-texts", levada.Windowing{Trigger: trigger.AfterCount(2), Accumulation: levada.Accumulating}))
		b := levadatest.Collect(h, levada.WindowInto(numbers.Out, "w-numbers", levada.Windowing{Trigger: trigger.AfterCount(4), Accumulation: levada.Accumulating}))
		texts.Add(event.Min, "foo")
		texts.Add(event.Min, "bar")
		for i := range 4 {
			numbers.Add(event.Min, i)
		}
		h.Finish()
		same(t, shown(a, valueOf), "foo", "bar")
		same(t, shown(b, valueOf), "0", "1", "2", "3")
	})
}

// panes shows sums with their pane.
func panes(e element[keyInt]) string {
	return fmt.Sprintf("%d %v %v", e.Value.Value, e.Pane.Timing, e.Pane.Last)
}

// TestBeamPanes shows panes by the clock and by the watermark.
func TestBeamPanes(t *testing.T) {
	early := func(delay time.Duration, w levada.Windowing) levada.Windowing {
		w.Trigger, w.Accumulation = trigger.AfterWatermark{Early: trigger.AfterDelay(delay)}, levada.Accumulating
		return w
	}
	eachBeamMode(t, "testEarlyPanesOfWindow", func(t *testing.T, h *levadatest.Harness) {
		src := levadatest.Source[keyInt](h, "src")
		got := levadatest.Collect(h, levada.SumPerKey(windows(src.Out, early(5*time.Minute, levada.Windowing{Windows: window.Fixed(30 * time.Minute)})), "sum"))
		for i, want := range []string{"1 early false", "3 early false", "6 early false"} {
			src.Add(event.Time(1000*(i+1)), pair("key", i+1))
			same(t, shown(got, panes))
			h.Clock(6 * time.Minute)
			same(t, shown(got, panes), want)
		}
		h.Finish()
		same(t, shown(got, panes), "6 on-time true")
	})
	eachBeamMode(t, "testProcessingTimeTrigger", func(t *testing.T, h *levadatest.Harness) {
		src := levadatest.Source[keyInt](h, "src")
		got := levadatest.Collect(h, levada.SumPerKey(windows(src.Out, early(5*time.Minute, global)), "sum"))
		src.Add(1000, pair("key", 1))
		src.Add(2000, pair("key", 2))
		h.Clock(12 * time.Minute)
		src.Add(3000, pair("key", 3))
		h.Clock(6 * time.Minute)
		same(t, shown(got, panes), "3 early false", "6 early false")
		h.Finish()
		same(t, shown(got, panes), "6 on-time true")
	})
	eachBeamMode(t, "testLateDataAccumulating", func(t *testing.T, h *levadatest.Harness) {
		src := levadatest.Source[keyInt](h, "src")
		w := windows(src.Out, levada.Windowing{
			Windows: window.Fixed(5 * time.Minute), AllowedLateness: 5 * time.Minute, Accumulation: levada.Accumulating, Closing: levada.Always,
			Trigger: trigger.AfterWatermark{Early: trigger.AfterDelay(2 * time.Minute), Late: trigger.AfterCount(1)},
		})
		sums, counts := levadatest.Collect(h, levada.SumPerKey(w, "sum")), levadatest.Collect(h, levada.CountPerKey(w, "count"))
		add := func(numbers ...int) {
			for _, n := range numbers {
				src.Add(0, pair("key", n))
			}
		}
		add(1, 2, 3)
		src.Watermark(6 * 60_000)
		same(t, shown(sums, panes), "6 on-time false")
		add(4, 5)
		src.Watermark(20 * 60_000)
		same(t, shown(sums, panes), "10 late false", "15 late false", "15 late true")
		add(-1, -2, -3)
		h.Finish()
		same(t, shown(sums, panes))
		same(t, shown(counts, valueOf), "key: 3", "key: 4", "key: 5", "key: 5")
	})
	eachBeamMode(t, "testMultiStage", func(t *testing.T, h *levadatest.Harness) {
		src := levadatest.Source[string](h, "src")
		seconds := levada.KeyBy(levada.WindowInto(src.Out, "seconds", levada.Windowing{Windows: window.Fixed(time.Second)}), "key", id[string])
		upper := levada.Map(levada.GroupByKey(seconds, "group"), "upper", func(kv levada.KV[string, levada.Values[string]]) string { return strings.ToUpper(kv.Key) })
		all := levada.Flatten("all", src.Out, levada.WindowInto(upper, "global", levada.Windowing{Windows: window.Global()}))
		got := levadatest.Collect(h, levada.ParDoKeyed(levada.KeyBy(all, "one", func(string) string { return "key" }), "join", inOrder))
		src.Add(event.Min, "before")
		src.Watermark(0)
		src.Add(10_000, "after")
		h.Finish()
		same(t, shown(got, timed), "before,BEFORE,after,AFTER@100000")
	})
}

// inOrder emits, at 100 s, all texts of a key in the order in which they have come.
func inOrder(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[levada.KV[string, string]] {
	seen, emit := levada.BagState[string](s, "seen"), levada.EventTimer(s, "emit")
	emit.OnFire(func(c *levada.Ctx, _ string) error {
		out.Emit(c, strings.Join(slices.Collect(seen.All(c)), ","))
		return nil
	})
	return func(c *levada.Ctx, kv levada.KV[string, string]) error {
		seen.Add(c, kv.Value)
		emit.Set(c, 100_000)
		return nil
	}
}
