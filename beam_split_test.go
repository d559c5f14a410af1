package levada_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/levadatest"
	"github.com/levadaflow/levada/source"
	"github.com/levadaflow/levada/window"
)

// rangesOf are the offsets below a size that follows from the element, bounded or not.
func rangesOf[I any](unbounded bool, size func(v I) int64) source.Restrictions[I, offsets, int64] {
	r := source.OffsetRanges(func(_ context.Context, v I) (offsets, error) { return offsets{To: size(v)}, nil })
	r.Unbounded = unbounded
	return r
}

// indexed emits each text with the numbers below its length, and gives the rest back after each one. Its restrictions are halved at first.
func indexed(in levada.PCollection[string], unbounded bool) levada.PCollection[keyInt] {
	ranges := rangesOf(unbounded, func(s string) int64 { return int64(len(s)) })
	ranges.Split = func(_ context.Context, _ string, r offsets) ([]offsets, error) {
		middle := (r.From + r.To) / 2
		return []offsets{{From: r.From, To: middle}, {From: middle, To: r.To}}, nil
	}
	type process = levada.ProcessSplit[string, offsets, int64]
	return levada.ParDoSplit(in, "index", ranges, func(_ *levada.Splitting, out *levada.Out[keyInt]) process {
		return func(c *levada.Ctx, s string, claim *claim) (levada.Resume, error) {
			i := claim.Restriction().From
			if !claim.TryClaim(i) {
				return levada.Done, nil
			}
			out.Emit(c, pair(s, int(i)))
			return levada.ResumeAfter(0), nil
		}
	})
}

// TestBeamSplits shows splittable DoFns, bounded ones and others.
func TestBeamSplits(t *testing.T) {
	pairs := []string{"a: 0", "bb: 0", "bb: 1", "ccccc: 0", "ccccc: 1", "ccccc: 2", "ccccc: 3", "ccccc: 4"}
	for name, unbounded := range map[string]bool{"testPairWithIndexBasicBounded": false, "testPairWithIndexBasicUnbounded": true} {
		beam(t, name, false, atMin("a", "bb", "ccccc"), func(in levada.PCollection[string]) levada.PCollection[keyInt] { return indexed(in, unbounded) },
			valueOf, pairs...)
	}
	for name, unbounded := range map[string]bool{"testPairWithIndexWindowedTimestampedBounded": false, "testPairWithIndexWindowedTimestampedUnbounded": true} {
		sliding := window.Sliding(5*time.Second, time.Second)
		var in []levada.Timed[string]
		var want []string
		for i, s := range []string{"a", "bb", "ccccc"} {
			now := event.Time(60_000 + i*1000)
			in = append(in, el(now, s))
			for _, w := range sliding.Assign(nil, now) {
				for n := range s {
					want = append(want, fmt.Sprintf("%s: %d@%d [%d,%d)", s, n, now, w.Start, w.End))
				}
			}
		}
		beam(t, name, false, in, func(in levada.PCollection[string]) levada.PCollection[keyInt] {
			return indexed(windows(in, levada.Windowing{Windows: sliding}), unbounded)
		}, windowed, want...)
	}
	for name, unbounded := range map[string]bool{"testAdditionalOutputBounded": false, "testAdditionalOutputUnbounded": true} {
		beam(t, name, false, atMin(0, 1, 2), func(in levada.PCollection[int]) levada.PCollection[string] {
			type process = levada.ProcessSplit[int, offsets, int64]
			main, more := levada.ParDoSplit2(in, "split", rangesOf(unbounded, func(int) int64 { return 1 }),
				func(_ *levada.Splitting, main, more *levada.Out[string]) process {
					return func(c *levada.Ctx, v int, claim *claim) (levada.Resume, error) {
						if claim.TryClaim(claim.Restriction().From) {
							main.Emit(c, fmt.Sprint("main:", v))
							more.Emit(c, fmt.Sprint("additional:", v))
						}
						return levada.Done, nil
					}
				})
			return levada.Flatten("both", main, levada.Map(more, "more", func(s string) string { return "second " + s }))
		}, valueOf, "main:0", "main:1", "main:2", "second additional:0", "second additional:1", "second additional:2")
	}
	for name, unbounded := range map[string]bool{"testLifecycleMethodsBounded": false, "testLifecycleMethodsUnbounded": true} {
		beam(t, name, false, atMin("a", "b", "c"), func(in levada.PCollection[string]) levada.PCollection[string] {
			return levada.ParDoSplit(in, "split", rangesOf(unbounded, func(string) int64 { return 1 }), living(t))
		}, valueOf, "a", "b", "c")
	}
}

// living is a splittable DoFn that checks the order of its calls.
func living(t *testing.T) func(s *levada.Splitting, out *levada.Out[string]) levada.ProcessSplit[string, offsets, int64] {
	return func(s *levada.Splitting, out *levada.Out[string]) levada.ProcessSplit[string, offsets, int64] {
		move := moves(t)
		s.OnStart(func(context.Context) error { move("outside", "new"); return nil })
		s.OnBundleStart(func(*levada.Ctx) error { move("inside", "outside"); return nil })
		s.OnBundleFinish(func(*levada.Ctx) error { move("outside", "inside"); return nil })
		s.OnClose(func() error { move("closed", "outside"); return nil })
		return func(c *levada.Ctx, v string, claim *claim) (levada.Resume, error) {
			move("inside", "inside")
			if claim.TryClaim(0) {
				out.Emit(c, v)
			}
			return levada.Done, nil
		}
	}
}

// blocks are the positions of a source whose elements are found only from block to block.
var blocks = []int64{-1, 0, 12, 123, 1234, 12345, 34567, 98765}

// inBlocks emits the numbers of each block that it claims, with what a side input has, and gives the rest back after three of them.
func inBlocks[I any](in levada.PCollection[I], unbounded bool, view *levada.SingletonView[string]) levada.PCollection[keyInt] {
	last := blocks[len(blocks)-1]
	type process = levada.ProcessSplit[I, offsets, int64]
	return levada.ParDoSplit(in, "blocks", rangesOf(unbounded, func(I) int64 { return last }), func(s *levada.Splitting, out *levada.Out[keyInt]) process {
		var side *levada.Singleton[string]
		if view != nil {
			side = levada.Side(s, *view)
		}
		return func(c *levada.Ctx, v I, claim *claim) (levada.Resume, error) {
			key := fmt.Sprint(v)
			if side != nil {
				key = side.Get(c) + ":" + key
			}
			from := claim.Restriction().From
			i := slices.IndexFunc(blocks, func(b int64) bool { return from <= b })
			for n := 1; claim.TryClaim(blocks[i]); i, n = i+1, n+1 {
				for x := blocks[i]; x < blocks[i+1]; x++ {
					out.Emit(c, pair(key, int(x)))
				}
				if n == 3 {
					return levada.ResumeAfter(0), nil
				}
			}
			return levada.Done, nil
		}
	})
}

// TestBeamCheckpoints shows that everything comes once, though the rest of a restriction is given back again and again.
func TestBeamCheckpoints(t *testing.T) {
	for name, unbounded := range map[string]bool{"testOutputAfterCheckpointBounded": false, "testOutputAfterCheckpointUnbounded": true} {
		eachBeamMode(t, name, func(t *testing.T, h *levadatest.Harness) {
			got := levadatest.Collect(h, inBlocks(levada.Create(h.Pipeline, "in", "foo"), unbounded, nil))
			h.Finish()
			eachNumberOnce(t, got.Take(), "foo")
		})
	}
	for name, unbounded := range map[string]bool{"testWindowedSideInputWithCheckpointsBounded": false, "testWindowedSideInputWithCheckpointsUnbounded": true} {
		eachBeamMode(t, name, func(t *testing.T, h *levadatest.Harness) {
			in := levada.CreateTimed(h.Pipeline, "in", el(0, 0), el(1, 1), el(2, 2), el(3, 3))
			side := levada.CreateTimed(h.Pipeline, "side", el(0, "a"), el(2, "b"))
			view := levada.AsSingleton(levada.WindowInto(side, "two", levada.Windowing{Windows: window.Fixed(2 * time.Millisecond)}), "view")
			got := levadatest.Collect(h, inBlocks(windows(in, levada.Windowing{Windows: window.Fixed(time.Millisecond)}), unbounded, &view))
			h.Finish()
			byKey := map[string][]element[keyInt]{}
			for _, e := range got.Take() {
				byKey[e.Value.Key] = append(byKey[e.Value.Key], e)
			}
			for _, key := range []string{"a:0", "a:1", "b:2", "b:3"} {
				eachNumberOnce(t, byKey[key], key)
			}
			if len(byKey) != 4 {
				t.Errorf("%d keys", len(byKey))
			}
		})
	}
}

// eachNumberOnce fails the test if the numbers of a key are not all there, each of them once.
func eachNumberOnce(t *testing.T, all []element[keyInt], key string) {
	t.Helper()
	seen := make([]bool, blocks[len(blocks)-1])
	for _, e := range all {
		if e.Value.Key != key || seen[e.Value.Value] {
			t.Fatalf("%v again, or of another key than %s", e.Value, key)
		}
		seen[e.Value.Value] = true
	}
	if len(all) != len(seen) {
		t.Errorf("%d numbers of %s, want %d", len(all), key, len(seen))
	}
}

// TestBeamSplitSideInputs shows side inputs of splittable DoFns.
func TestBeamSplitSideInputs(t *testing.T) {
	seen := func(in levada.PCollection[int], unbounded bool, view levada.SingletonView[string]) levada.PCollection[string] {
		type process = levada.ProcessSplit[int, offsets, int64]
		return levada.ParDoSplit(in, "split", rangesOf(unbounded, func(int) int64 { return 1 }), func(s *levada.Splitting, out *levada.Out[string]) process {
			levada.MonotonicWatermark(s)
			side := levada.Side(s, view)
			return func(c *levada.Ctx, v int, claim *claim) (levada.Resume, error) {
				if claim.TryClaim(claim.Restriction().From) {
					out.Emit(c, fmt.Sprint(side.Get(c), ":", v))
				}
				return levada.Done, nil
			}
		})
	}
	for name, unbounded := range map[string]bool{"testSideInputBounded": false, "testSideInputUnbounded": true} {
		beam(t, name, false, atMin(0, 1, 2), func(in levada.PCollection[int]) levada.PCollection[string] {
			return seen(in, unbounded, levada.AsSingleton(levada.Create(in.Pipeline(), "side", "foo"), "view"))
		}, valueOf, "foo:0", "foo:1", "foo:2")
	}
	for name, unbounded := range map[string]bool{"testWindowedSideInputBounded": false, "testWindowedSideInputUnbounded": true} {
		var in []levada.Timed[int]
		for i := range 8 {
			in = append(in, el(event.Time(i), i))
		}
		beam(t, name, false, in, func(in levada.PCollection[int]) levada.PCollection[string] {
			side := levada.WindowInto(levada.CreateTimed(in.Pipeline(), "side", el(0, "a"), el(4, "b")), "four", levada.Windowing{Windows: window.Fixed(4 * time.Millisecond)})
			return seen(windows(in, levada.Windowing{Windows: window.Fixed(2 * time.Millisecond)}), unbounded, levada.AsSingleton(side, "view"))
		}, valueOf, "a:0", "a:1", "a:2", "a:3", "b:4", "b:5", "b:6", "b:7")
	}
}

// TestBeamSplitLateData shows that a splittable DoFn passes late elements on, and that the grouping behind it drops them.
func TestBeamSplitLateData(t *testing.T) {
	eachBeamMode(t, "testLateData", func(t *testing.T, h *levadatest.Harness) {
		const base = 100 * 3600 * 1000
		src := levadatest.Source[string](h, "src")
		w := windows(src.Out, levada.Windowing{Windows: window.Fixed(time.Minute), AllowedLateness: time.Minute, Accumulation: levada.Discarding})
		split := indexed(w, true)
		all := levadatest.Collect(h, split)
		grouped := levadatest.Collect(h, levada.Map(levada.GroupByKey(split, "group"), "key", func(kv levada.KV[string, levada.Values[int]]) string { return kv.Key }))
		src.Watermark(base)
		src.Add(base, "aa")
		src.Watermark(base + 5000)
		src.Add(base-3600*1000, "bb")
		h.Clock(time.Hour)
		h.Finish()
		same(t, shown(all, valueOf), "aa: 0", "aa: 1", "bb: 0", "bb: 1")
		same(t, shown(grouped, valueOf), "aa")
	})
}
