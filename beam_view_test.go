package levada_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/combine"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/levadatest"
	"github.com/levadaflow/levada/trigger"
	"github.com/levadaflow/levada/window"
)

func seeOne[T any](c *levada.Ctx, h *levada.Singleton[T]) string { return fmt.Sprint(h.Get(c)) }
func seeAll(c *levada.Ctx, h *levada.Iter[int]) string           { return fmt.Sprint(slices.Sorted(h.All(c))) }

// TestBeamViews shows side inputs in the global window.
func TestBeamViews(t *testing.T) {
	type in = levada.PCollection[string]
	side := func(p *levada.Pipeline, v ...int) levada.PCollection[int] { return levada.Create(p, "side", v...) }
	main := atMin("x")
	beam(t, "testSingletonSideInput", false, atMin("x", "y", "z"), func(in in) levada.PCollection[string] {
		return looking(in, levada.AsSingleton(side(in.Pipeline(), 47), "view"), seeOne[int])
	}, valueOf, "x sees 47", "y sees 47", "z sees 47")
	for name, list := range map[string][]int{
		"testIterableSideInput": {23, 11, 13, 17}, "testListSideInput": {23, 11, 13, 17}, "testEmptyIterableSideInput": nil, "testEmptyListSideInput": nil,
	} {
		beam(t, name, false, main, func(in in) levada.PCollection[string] {
			return looking(in, levada.AsIter(side(in.Pipeline(), list...), "view"), seeAll)
		}, valueOf, fmt.Sprint("x sees ", slices.Sorted(slices.Values(list))))
	}
	for _, name := range []string{"testIterableSideInputIsImmutable", "testListSideInputIsImmutable"} {
		beam(t, name, false, atMin("x", "y"), func(in in) levada.PCollection[string] {
			return looking(in, levada.AsIter(side(in.Pipeline(), 11, 13), "view"), func(c *levada.Ctx, h *levada.Iter[int]) string {
				mine := slices.Sorted(h.All(c))
				text := fmt.Sprint(mine, h.Len(c))
				mine[0] = 29 // is a change of the copy
				return text
			})
		}, valueOf, "x sees [11 13] 2", "y sees [11 13] 2")
	}
	beam(t, "testSideInputWithNestedIterables", false, main, func(in in) levada.PCollection[string] {
		p := in.Pipeline()
		inner := levada.AsIter(side(p, 17), "inner")
		lists := levada.ParDo(levada.Create(p, "one", 0), "lists", func(s *levada.Setup, out *levada.Out[[]int]) levada.Process[int] {
			h := levada.Side(s, inner)
			return func(c *levada.Ctx, _ int) error { out.Emit(c, slices.Collect(h.All(c))); return nil }
		})
		return looking(in, levada.AsIter(lists, "outer"), func(c *levada.Ctx, h *levada.Iter[[]int]) string {
			return fmt.Sprint(slices.Collect(h.All(c)))
		})
	}, valueOf, "x sees [[17]]")
	beam(t, "testSideInputWithNullDefault", false, main, func(in in) levada.PCollection[string] {
		view := levada.AsSingleton(levada.Create[*int](in.Pipeline(), "side"), "view", nil)
		return looking(in, view, seeOne[*int])
	}, valueOf, "x sees <nil>")
	for name, c := range map[string]struct {
		list []int
		err  error
		w    levada.Windowing
	}{
		"testEmptySingletonSideInput": {nil, levada.ErrEmptySingleton, global}, "testNonSingletonSideInput": {[]int{1, 2, 3}, levada.ErrManySingleton, global},
		"testDiscardingNonSingletonSideInput": {[]int{1, 2, 3}, levada.ErrManySingleton, levada.Windowing{Accumulation: levada.Discarding}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, mode := range beamModes {
				p := levada.New()
				looking(levada.Create(p, "main", "x"), levada.AsSingleton(windows(side(p, c.list...), c.w), "view"), seeOne[int])
				if _, err := p.Run(t.Context(), mode); !errors.Is(err, c.err) {
					t.Errorf("%v", err)
				}
			}
		})
	}
}

// TestBeamWindowedViews shows side inputs in windows.
func TestBeamWindowedViews(t *testing.T) {
	type in = levada.PCollection[string]
	ten := levada.Windowing{Windows: window.Fixed(10 * time.Millisecond)}
	side := func(p *levada.Pipeline, w levada.Windowing, all ...levada.Timed[int]) levada.PCollection[int] {
		return levada.WindowInto(levada.CreateTimed(p, "side", all...), "side-windows", w)
	}
	beam(t, "testWindowedSingletonSideInput", false, []levada.Timed[string]{el(4, "a"), el(8, "b"), el(12, "c")}, func(in in) levada.PCollection[string] {
		view := levada.AsSingleton(side(in.Pipeline(), ten, el(1, 47), el(11, 48)), "view")
		return looking(windows(in, ten), view, seeOne[int])
	}, windowed, "a sees 47@4 [0,10)", "b sees 47@8 [0,10)", "c sees 48@12 [10,20)")
	for _, name := range []string{"testWindowedIterableSideInput", "testWindowedListSideInput"} {
		beam(t, name, false, []levada.Timed[string]{el(1, "a"), el(11, "b")}, func(in in) levada.PCollection[string] {
			view := levada.AsIter(side(in.Pipeline(), ten, el(1, 11), el(1, 13), el(1, 17), el(1, 23), el(11, 31), el(11, 33), el(11, 37), el(11, 43)), "view")
			return looking(windows(in, ten), view, seeAll)
		}, valueOf, "a sees [11 13 17 23]", "b sees [31 33 37 43]")
	}
	mains := []levada.Timed[string]{el(4, "A"), el(15, "B"), el(7, "C")}
	numbers := []levada.Timed[int]{el(1, 1), el(11, 2), el(13, 3)}
	for name, c := range map[string]struct {
		numbers []levada.Timed[int]
		w       levada.Windowing
		def     []int
		want    []string
	}{
		"testWindowedSideInputFixedToFixed":            {numbers, ten, nil, []string{"A sees 1", "B sees 5", "C sees 1"}},
		"testWindowedSideInputFixedToFixedWithDefault": {numbers[1:], ten, []int{0}, []string{"A sees 0", "B sees 5", "C sees 0"}},
		"testWindowedSideInputFixedToGlobal":           {numbers, global, nil, []string{"A sees 6", "B sees 6", "C sees 6"}},
	} {
		beam(t, name, false, mains, func(in in) levada.PCollection[string] {
			sum := levada.CombineGlobally(side(in.Pipeline(), c.w, c.numbers...), "sum", combine.Sum[int]())
			return looking(windows(in, ten), levada.AsSingleton(sum, "view", c.def...), seeOne[int])
		}, valueOf, c.want...)
	}
	eachBeamMode(t, "testWindowedSideInputNotPresent", func(t *testing.T, h *levadatest.Harness) {
		src := levadatest.Source[levada.KV[int, int]](h, "src")
		hundred := levada.WindowInto(levada.Map(src.Out, "values", func(kv levada.KV[int, int]) int { return kv.Value }), "100s", levada.Windowing{Windows: window.Fixed(100 * time.Second)})
		sum := levada.WindowInto(levada.CombineGlobally(hundred, "sum", combine.Sum[int]()), "again", fixed10)
		grouped := levada.GroupByKey(levada.WindowInto(src.Out, "10s", fixed10), "group")
		main := levada.Map(grouped, "main", func(levada.KV[int, levada.Values[int]]) string { return "x" })
		got := levadatest.Collect(h, looking(main, levada.AsSingleton(sum, "view", 0), seeOne[int]))
		src.Watermark(0)
		src.Add(1000, pair(1000, 1000))
		src.Watermark(20_000)
		h.Finish()
		same(t, shown(got, windowed), "x sees 0@9999 [0,10000)")
	})
	eachBeamMode(t, "testTriggeredLatestSingleton", func(t *testing.T, h *levadatest.Harness) {
		src := levadatest.Source[int](h, "src")
		second := levada.Windowing{Windows: window.Fixed(time.Second), Trigger: trigger.Repeat{Trigger: trigger.AfterCount(1)}, Accumulation: levada.Discarding, OnTime: levada.NonEmpty}
		main := levada.WindowInto(levada.CreateTimed(h.Pipeline, "main", el(0, "x")), "main-windows", levada.Windowing{Windows: window.Fixed(time.Second)})
		late := levadatest.Source[string](h, "late")
		both := levada.Flatten("both", main, levada.WindowInto(late.Out, "late-windows", levada.Windowing{Windows: window.Fixed(time.Second)}))
		got := levadatest.Collect(h, looking(both, levada.AsSingleton(windows(src.Out, second), "view"), seeOne[int]))
		h.Start()
		same(t, shown(got, valueOf))
		src.Add(0, 1)
		same(t, shown(got, windowed), "x sees 1@0 [0,1000)")
		src.Add(event.Time(100), 2)
		src.Add(event.Time(200), 3)
		late.Add(0, "y")
		same(t, shown(got, windowed), "y sees 3@0 [0,1000)")
		h.Finish()
		same(t, shown(got, windowed))
	})
}
