package levada_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/combine"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/levadatest"
	"github.com/levadaflow/levada/source"
	"github.com/levadaflow/levada/trigger"
	"github.com/levadaflow/levada/window"
)

type dofn[I, O any] = func(s *levada.Setup, out *levada.Out[O]) levada.Process[I]

// lifecycle is a DoFn that checks the order of its calls. It emits "processing: ELEMENT", with what is in the side inputs, and
// "finished" at a bundle's end.
func lifecycle(t *testing.T, sides ...levada.SingletonView[int]) dofn[int, string] {
	return func(s *levada.Setup, out *levada.Out[string]) levada.Process[int] {
		var handles []*levada.Singleton[int]
		for _, v := range sides {
			handles = append(handles, levada.Side(s, v))
		}
		move := moves(t)
		s.OnStart(func(context.Context) error { move("started", "new"); return nil })
		s.OnBundleStart(func(*levada.Ctx) error { move("in a bundle", "started", "bundle finished"); return nil })
		s.OnBundleFinish(func(c *levada.Ctx) error {
			move("bundle finished", "in a bundle")
			out.EmitIn(c, "finished", event.Min, event.Global())
			return nil
		})
		s.OnClose(func() error { move("closed", "started", "bundle finished"); return nil })
		return func(c *levada.Ctx, v int) error {
			move("in a bundle", "in a bundle")
			text := fmt.Sprint("processing: ", v)
			for _, h := range handles {
				text += fmt.Sprint(" ", h.Get(c))
			}
			out.Emit(c, text)
			return nil
		}
	}
}

// views are one view of a single element for each number.
func views(p *levada.Pipeline, numbers ...int) []levada.SingletonView[int] {
	var all []levada.SingletonView[int]
	for _, n := range numbers {
		name := fmt.Sprint("side", n)
		all = append(all, levada.AsSingleton(levada.Create(p, name, n), "view-"+name))
	}
	return all
}

// TestBeamParDo shows the life of a DoFn, with and without side inputs.
func TestBeamParDo(t *testing.T) {
	inputs := atMin(3, -42, 666)
	for _, c := range []struct {
		name  string
		in    []levada.Timed[int]
		sides []int // the one that is negative is not read
		want  []string
	}{
		{"testParDo", inputs, nil, []string{"finished", "processing: -42", "processing: 3", "processing: 666"}},
		{"testParDoEmpty", nil, nil, nil},
		{"testParDoInCustomTransform", inputs, nil, []string{"finished", "processing: -42", "processing: 3", "processing: 666"}},
		{"testParDoWithSideInputs", inputs, []int{11, -3333, 222},
			[]string{"finished", "processing: -42 11 222", "processing: 3 11 222", "processing: 666 11 222"}},
	} {
		eachBeamMode(t, c.name, func(t *testing.T, h *levadatest.Harness) {
			got := through(h, false, c.in, func(in levada.PCollection[int]) levada.PCollection[string] {
				return levada.Scope(h.Pipeline, "custom", func() levada.PCollection[string] {
					read := slices.DeleteFunc(slices.Clone(c.sides), func(n int) bool { return n < 0 })
					fn := lifecycle(t, views(h.Pipeline, read...)...)
					unread := views(h.Pipeline, slices.DeleteFunc(slices.Clone(c.sides), func(n int) bool { return n > 0 })...)
					return levada.ParDo(in, "step", func(s *levada.Setup, out *levada.Out[string]) levada.Process[int] {
						for _, v := range unread {
							levada.Side(s, v)
						}
						return fn(s, out)
					})
				})
			}, valueOf)
			same(t, slices.Compact(slices.DeleteFunc(got, func(s string) bool { return len(c.in) == 0 && s == "finished" })), c.want...)
		})
	}
	beam(t, "testParDoEmptyOutputs", false, nil, func(in levada.PCollection[int]) levada.PCollection[string] {
		return levada.ParDo(in, "step", func(*levada.Setup, *levada.Out[string]) levada.Process[int] {
			return func(*levada.Ctx, int) error { return nil }
		})
	}, valueOf)
}

// TestBeamOutputs shows DoFns with two outputs.
func TestBeamOutputs(t *testing.T) {
	type process = levada.Process[int]
	// twice shows both outputs of a DoFn.
	twice := func(fn func(s *levada.Setup, a, b *levada.Out[string]) process) func(in levada.PCollection[int]) levada.PCollection[string] {
		return func(in levada.PCollection[int]) levada.PCollection[string] {
			a, b := levada.ParDo2(in, "step", fn)
			a = levada.Map(a, "main", func(s string) string { return "main " + s })
			return levada.Flatten("both", a, levada.Map(b, "other", func(s string) string { return "other " + s }))
		}
	}
	both := func(_ *levada.Setup, a, b *levada.Out[string]) process {
		return func(c *levada.Ctx, v int) error {
			a.Emit(c, fmt.Sprint(v))
			b.Emit(c, fmt.Sprint(v))
			return nil
		}
	}
	none := func(*levada.Setup, *levada.Out[string], *levada.Out[string]) process {
		return func(*levada.Ctx, int) error { return nil }
	}
	second := func(_ *levada.Setup, _, b *levada.Out[string]) process {
		return func(c *levada.Ctx, v int) error { b.Emit(c, fmt.Sprint(v)); return nil }
	}
	inputs := atMin(3, -42, 666)
	beam(t, "testParDoWithTaggedOutput", false, inputs, twice(both), valueOf, "main -42", "main 3", "main 666", "other -42", "other 3", "other 666")
	beam(t, "testParDoEmptyWithTaggedOutput", false, nil, twice(both), valueOf)
	beam(t, "testParDoWithEmptyTaggedOutput", false, nil, twice(none), valueOf)
	beam(t, "testParDoWithOnlyTaggedOutput", false, inputs, twice(second), valueOf, "other -42", "other 3", "other 666")
	for _, name := range []string{"testMultiOutputParDoWithSideInputs", "testMultiOutputParDoWithSideInputsIsCumulative"} {
		beam(t, name, false, inputs, func(in levada.PCollection[int]) levada.PCollection[string] {
			sides := views(in.Pipeline(), 11, -3333, 222)
			return twice(func(s *levada.Setup, a, b *levada.Out[string]) process {
				one, _, two := levada.Side(s, sides[0]), levada.Side(s, sides[1]), levada.Side(s, sides[2])
				return func(c *levada.Ctx, v int) error {
					a.Emit(c, fmt.Sprint(v, one.Get(c), two.Get(c)))
					return nil
				}
			})(in)
		}, valueOf, "main -42 11 222", "main 3 11 222", "main 666 11 222")
	}
	// filters gives the numbers that can be divided by 2, and those by 3.
	filters := func(in levada.PCollection[int]) (by2, by3 levada.PCollection[int]) {
		return levada.ParDo2(in, "filters", func(_ *levada.Setup, by2, by3 *levada.Out[int]) process {
			return func(c *levada.Ctx, v int) error {
				if v%2 == 0 {
					by2.Emit(c, v)
				}
				if v%3 == 0 {
					by3.Emit(c, v)
				}
				return nil
			}
		})
	}
	beam(t, "testMultiOutputChaining", false, atMin(3, 4, 5, 6), func(in levada.PCollection[int]) levada.PCollection[int] {
		by2, by3 := filters(in)
		by2then3 := levada.Filter(by2, "by3-again", func(v int) bool { return v%3 == 0 })
		by3then2 := levada.Map(levada.Filter(by3, "by2-again", func(v int) bool { return v%2 == 0 }), "ten", func(v int) int { return 10 * v })
		return levada.Flatten("both", by2then3, by3then2)
	}, valueOf, "6", "60")
}

// TestBeamSideInputs shows what a DoFn sees in side inputs.
func TestBeamSideInputs(t *testing.T) {
	for _, name := range []string{"testParDoWithSideInputsIsCumulative", "testSameSideInputReadTwice", "testSideInputAnnotation"} {
		eachBeamMode(t, name, func(t *testing.T, h *levadatest.Harness) {
			sides := views(h.Pipeline, 11, -3333, 222)
			step := func(in levada.PCollection[int], name string) levada.PCollection[string] {
				return levada.ParDo(in, name, func(s *levada.Setup, out *levada.Out[string]) levada.Process[int] {
					one, _, two := levada.Side(s, sides[0]), levada.Side(s, sides[1]), levada.Side(s, sides[2])
					return func(c *levada.Ctx, v int) error { out.Emit(c, fmt.Sprint(v, one.Get(c), two.Get(c))); return nil }
				})
			}
			same(t, through(h, false, atMin(3, -42, 66), func(in levada.PCollection[int]) levada.PCollection[string] {
				return levada.Flatten("both", step(in, "first"), step(in, "second"))
			}, valueOf), "-42 11 222", "-42 11 222", "3 11 222", "3 11 222", "66 11 222", "66 11 222")
		})
	}
	beam(t, "testSideInputAnnotationWithMultipleSideInputs", false, atMin(2), func(in levada.PCollection[int]) levada.PCollection[string] {
		p := in.Pipeline()
		list := levada.AsIter(levada.Create(p, "1", 2, 0), "list")
		one := levada.AsSingleton(levada.Create(p, "2", 5), "one")
		all := levada.AsIter(levada.Create(p, "3", 1, 3), "all")
		table := levada.AsMap(levada.Create(p, "4", pair(1, 2), pair(2, 3), pair(3, 4)), "table")
		multi := levada.AsMultimap(levada.Create(p, "5", pair(1, 2), pair(1, 3), pair(3, 4)), "multi")
		return levada.ParDo(in, "step", func(s *levada.Setup, out *levada.Out[string]) levada.Process[int] {
			h1, h2, h3, h4, h5 := levada.Side(s, list), levada.Side(s, one), levada.Side(s, all), levada.Side(s, table), levada.Side(s, multi)
			return func(c *levada.Ctx, _ int) error {
				out.Emit(c, fmt.Sprint(slices.Sorted(h1.All(c)), h2.Get(c), slices.Sorted(h3.All(c))))
				for k := range 4 {
					v, ok := h4.Get(c, k)
					out.Emit(c, fmt.Sprint(k, v, ok, slices.Sorted(h5.Get(c, k))))
				}
				return nil
			}
		})
	}, valueOf, "[0 2] 5 [1 3]", "0 0 false []", "1 2 true [2 3]", "2 3 true []", "3 4 true [4]")
	beam(t, "testSideInputsWithMultipleWindows", false, []levada.Timed[string]{el(60_000, "a")},
		func(in levada.PCollection[string]) levada.PCollection[string] {
			view := levada.AsSingleton(levada.Create(in.Pipeline(), "side", 1), "view")
			w := windows(in, levada.Windowing{Windows: window.Sliding(5*time.Second, time.Second)})
			return looking(w, view, func(c *levada.Ctx, h *levada.Singleton[int]) string { return fmt.Sprint(h.Get(c)) })
		}, windowed, "a sees 1@60000 [56000,61000)", "a sees 1@60000 [57000,62000)", "a sees 1@60000 [58000,63000)",
		"a sees 1@60000 [59000,64000)", "a sees 1@60000 [60000,65000)")
}

// TestBeamBundles shows what comes from the end of a bundle.
func TestBeamBundles(t *testing.T) {
	fn := window.Fixed(time.Millisecond)
	eachBeamMode(t, "testWindowingInStartAndFinishBundle", func(t *testing.T, h *levadatest.Harness) {
		got := through(h, false, []levada.Timed[string]{el(1, "elem")}, func(in levada.PCollection[string]) levada.PCollection[string] {
			return levada.ParDo(windows(in, levada.Windowing{Windows: fn}), "step", func(s *levada.Setup, out *levada.Out[string]) levada.Process[string] {
				s.OnBundleFinish(func(c *levada.Ctx) error {
					out.EmitIn(c, "finish", 3, fn.Assign(nil, 3)[0])
					return nil
				})
				return func(c *levada.Ctx, v string) error { out.Emit(c, v); return nil }
			})
		}, windowed)
		same(t, slices.Compact(got), "elem@1 [1,2)", "finish@3 [3,4)") // tasks without an element have a bundle, too
	})
	t.Run("testWatermarkUpdateMidBundle", func(t *testing.T) {
		for _, mode := range []levada.Embedded{{Parallelism: 1}, {Parallelism: 1, MaxBundle: 7}, {Parallelism: 4}, {Parallelism: 4, MaxBundle: 7}} {
			p := levada.New()
			total := int64(0)
			sums := levada.CombineGlobally(levada.WindowInto(buffered(p, 200), "all", levada.Windowing{
				Windows: window.Global(), Trigger: trigger.AfterWatermark{}, Accumulation: levada.Discarding,
			}), "sum", combine.Sum[int64]())
			levada.Do(sums, "out", func(_ *levada.Ctx, n int64) error { total += n; return nil })
			r, err := p.Run(t.Context(), mode)
			if err != nil || total != 200*201/2 || r.Counter("count/combine", "dropped_late") != 0 {
				t.Errorf("%+v: %d elements, %v", mode, total, err)
			}
		}
	})
}

// buffered counts in windows of a millisecond what a DoFn keeps until its bundle's end, behind a source that gives i+1 elements at
// the time i and then moves its watermark to i+1, for every i below n.
func buffered(p *levada.Pipeline, n int64) levada.PCollection[int64] {
	ranges := source.OffsetRanges(func(context.Context, []byte) (offsets, error) { return offsets{To: n}, nil })
	ranges.Unbounded = true
	src := levada.ParDoSplit(levada.Impulse(p, "impulse"), "src", ranges, func(s *levada.Splitting, out *levada.Out[int64]) polling {
		wm := levada.ManualWatermark(s)
		return func(c *levada.Ctx, _ []byte, claim *claim) (levada.Resume, error) {
			for i := claim.Restriction().From; claim.TryClaim(i); i++ {
				for range i + 1 {
					out.EmitAt(c, i, event.Time(i))
				}
				wm.Advance(event.Time(i + 1))
			}
			return levada.Done, nil
		}
	})
	kept := levada.ParDo(src, "buffer", func(s *levada.Setup, out *levada.Out[int64]) levada.Process[int64] {
		var buffer []int64
		s.OnBundleFinish(func(c *levada.Ctx) error {
			for _, v := range buffer {
				out.EmitIn(c, v, event.Time(v), event.Global())
			}
			buffer = nil
			return nil
		})
		return func(_ *levada.Ctx, v int64) error { buffer = append(buffer, v); return nil }
	})
	millis := levada.WindowInto(kept, "millis", levada.Windowing{Windows: window.Fixed(time.Millisecond)})
	return levada.CombineGlobally(millis, "count", combine.Count[int64]())
}
