package levada_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/invariants"
	"github.com/levadaflow/levada/levadatest"
	"github.com/levadaflow/levada/trigger"
	"github.com/levadaflow/levada/window"
)

// sideModes are the executions in which side inputs must look the same.
var sideModes = []levada.Embedded{{Parallelism: 1}, {Parallelism: 4}, {Parallelism: 2, MaxBundle: 1}, {Parallelism: 2, Unfused: true}}

// looking is a step that shows what a handle sees for each element.
func looking[H any](in levada.PCollection[string], v levada.View[H], see func(c *levada.Ctx, h H) string) levada.PCollection[string] {
	return levada.ParDo(in, "look", func(s *levada.Setup, out *levada.Out[string]) levada.Process[string] {
		h := levada.Side(s, v)
		return func(c *levada.Ctx, x string) error {
			out.Emit(c, x+" sees "+see(c, h))
			return nil
		}
	})
}

func values[T any](c *levadatest.Collected[T]) string {
	var all []string
	for _, e := range c.Take() {
		all = append(all, fmt.Sprint(e.Value))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// TestViews shows each kind of view on a bounded side input, and on an empty one.
func TestViews(t *testing.T) {
	type kv = levada.KV[string, int]
	sorted := func(h *levada.SideMultimap[string, int], c *levada.Ctx, k string) string {
		return fmt.Sprint(slices.Sorted(h.Get(c, k)))
	}
	for _, c := range []struct {
		name, want string
		err        error
		build      func(main levada.PCollection[string], p *levada.Pipeline) levada.PCollection[string]
	}{
		{"singleton", "x sees 7", nil, func(main levada.PCollection[string], p *levada.Pipeline) levada.PCollection[string] {
			v := levada.AsSingleton(levada.Create(p, "side", 7), "view")
			return looking(main, v, func(c *levada.Ctx, h *levada.Singleton[int]) string { return fmt.Sprint(h.Get(c)) })
		}},
		{"empty singleton with a default", "x sees 3", nil, func(main levada.PCollection[string], p *levada.Pipeline) levada.PCollection[string] {
			v := levada.AsSingleton(levada.Create[int](p, "side"), "view", 3)
			return looking(main, v, func(c *levada.Ctx, h *levada.Singleton[int]) string { return fmt.Sprint(h.Get(c)) })
		}},
		{"empty singleton", "", levada.ErrEmptySingleton, func(main levada.PCollection[string], p *levada.Pipeline) levada.PCollection[string] {
			v := levada.AsSingleton(levada.Create[int](p, "side"), "view")
			return looking(main, v, func(c *levada.Ctx, h *levada.Singleton[int]) string { return fmt.Sprint(h.Get(c)) })
		}},
		{"two in a singleton", "", levada.ErrManySingleton, func(main levada.PCollection[string], p *levada.Pipeline) levada.PCollection[string] {
			v := levada.AsSingleton(levada.Create(p, "side", 1, 2), "view")
			return looking(main, v, func(c *levada.Ctx, h *levada.Singleton[int]) string { return fmt.Sprint(h.Get(c)) })
		}},
		{"iter", "x sees [1 2 3] 3", nil, func(main levada.PCollection[string], p *levada.Pipeline) levada.PCollection[string] {
			v := levada.AsIter(levada.Create(p, "side", 3, 1, 2), "view")
			return looking(main, v, func(c *levada.Ctx, h *levada.Iter[int]) string {
				return fmt.Sprint(slices.Sorted(h.All(c)), h.Len(c))
			})
		}},
		{"empty iter", "x sees [] 0", nil, func(main levada.PCollection[string], p *levada.Pipeline) levada.PCollection[string] {
			v := levada.AsIter(levada.Create[int](p, "side"), "view")
			return looking(main, v, func(c *levada.Ctx, h *levada.Iter[int]) string {
				return fmt.Sprint(slices.Sorted(h.All(c)), h.Len(c))
			})
		}},
		{"map", "x sees 1 true 0 false 2", nil, func(main levada.PCollection[string], p *levada.Pipeline) levada.PCollection[string] {
			v := levada.AsMap(levada.Create(p, "side", kv{Key: "a", Value: 1}, kv{Key: "b", Value: 2}), "view")
			return looking(main, v, func(c *levada.Ctx, h *levada.SideMap[string, int]) string {
				a, ok := h.Get(c, "a")
				none, is := h.Get(c, "z")
				return fmt.Sprint(a, ok, none, is, h.Len(c))
			})
		}},
		{"a key twice", "", levada.ErrManyValues, func(main levada.PCollection[string], p *levada.Pipeline) levada.PCollection[string] {
			v := levada.AsMap(levada.Create(p, "side", kv{Key: "a", Value: 1}, kv{Key: "a", Value: 2}), "view")
			return looking(main, v, func(c *levada.Ctx, h *levada.SideMap[string, int]) string { h.Get(c, "a"); return "" })
		}},
		{"multimap", "x sees [1 2] [] 1", nil, func(main levada.PCollection[string], p *levada.Pipeline) levada.PCollection[string] {
			v := levada.AsMultimap(levada.Create(p, "side", kv{Key: "a", Value: 2}, kv{Key: "a", Value: 1}), "view")
			return looking(main, v, func(c *levada.Ctx, h *levada.SideMultimap[string, int]) string {
				return sorted(h, c, "a") + " " + sorted(h, c, "z") + " " + fmt.Sprint(h.Len(c))
			})
		}},
	} {
		for _, mode := range sideModes {
			h := levadatest.New(t)
			h.Run = mode
			src := levadatest.Source[string](h, "main")
			got := levadatest.Collect(h, c.build(src.Out, h.Pipeline))
			err := errors.Join(h.Driver.Start(), src.Script.Add(0, "x"))
			if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
				t.Errorf("%s: %v, want %v", c.name, err, c.err)
			}
			if err != nil && (!strings.Contains(err.Error(), "step look") || !strings.Contains(err.Error(), "side input view/view, for window global")) {
				t.Errorf("%s: %v", c.name, err)
			}
			if all := values(got); all != c.want {
				t.Errorf("%s: %q, want %q", c.name, all, c.want)
			}
			h.Stop()
		}
	}
}

// TestSlowlyChangingSide shows a view behind a trigger that fires again and again: the latest pane counts, discarding or accumulating.
func TestSlowlyChangingSide(t *testing.T) {
	for accumulation, want := range map[levada.Accumulation]string{levada.Discarding: "b sees [2]", levada.Accumulating: "b sees [1 2]"} {
		for _, mode := range sideModes {
			h := levadatest.New(t)
			h.Run = mode
			main, ref := levadatest.Source[string](h, "main"), levadatest.Source[int](h, "ref")
			w := levada.WindowInto(ref.Out, "w", levada.Windowing{Trigger: trigger.Repeat{Trigger: trigger.AfterCount(1)}, Accumulation: accumulation})
			got := levadatest.Collect(h, looking(main.Out, levada.AsIter(w, "view"), func(c *levada.Ctx, h *levada.Iter[int]) string {
				return fmt.Sprint(slices.Sorted(h.All(c)))
			}))
			main.Add(1, "a")
			if all := values(got); all != "" {
				t.Errorf("before there is a pane: %q", all)
			}
			ref.Add(5, 1)
			if all := values(got); all != "a sees [1]" {
				t.Errorf("the first pane: %q", all)
			}
			ref.Add(6, 2)
			main.Add(2, "b")
			if all := values(got); all != want {
				t.Errorf("the second pane: %q, want %q", all, want)
			}
		}
	}
}

// TestSideOfState shows that timers and expiration callbacks see the side input, and wait for it.
func TestSideOfState(t *testing.T) {
	for _, mode := range sideModes {
		h := levadatest.New(t)
		h.Run = mode
		main, ref := levadatest.Source[keyInt](h, "main"), levadatest.Source[int](h, "ref")
		view := levada.AsSingleton(levada.WindowInto(ref.Out, "rw", fixed10), "view")
		in := levada.WindowInto(main.Out, "w", fixed10)
		got := levadatest.Collect(h, levada.ParDoKeyed(in, "step", func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
			side, seen := levada.Side(s, view), levada.ValueState[int](s, "seen")
			timer := levada.EventTimer(s, "timer")
			timer.OnFire(func(c *levada.Ctx, _ string) error { out.Emit(c, fmt.Sprint("timer ", side.Get(c))); return nil })
			s.OnWindowExpiration(func(c *levada.Ctx, _ string) error { out.Emit(c, fmt.Sprint("expiry ", side.Get(c))); return nil })
			return func(c *levada.Ctx, kv keyInt) error {
				seen.Write(c, 1)
				timer.SetAfter(c, time.Second)
				out.Emit(c, fmt.Sprint("element ", side.Get(c)))
				return nil
			}
		}))
		main.Add(1000, keyInt{Key: "a"})
		main.Watermark(60_000)
		if all := values(got); all != "" {
			t.Errorf("before the side input is ready: %q", all)
		}
		ref.Add(5000, 42)
		ref.Watermark(10_000)
		if all, want := values(got), "element 42, expiry 42, timer 42"; all != want {
			t.Errorf("%q, want %q", all, want)
		}
		for _, s := range h.Result().Steps {
			if strings.Contains(s.Name, "side inputs") {
				t.Errorf("%s is shown", s.Name)
			}
		}
	}
}

// TestSideDiamond shows that a step may have as a side input what is made of its own main input.
func TestSideDiamond(t *testing.T) {
	for _, mode := range sideModes {
		h := levadatest.New(t)
		h.Run = mode
		src := levadatest.Source[int](h, "src")
		w := levada.WindowInto(src.Out, "w", fixed10)
		total := levada.AsSingleton(levada.CombineGlobally(w, "sum", sumInts{}), "total")
		got := levadatest.Collect(h, levada.ParDo(w, "share", func(s *levada.Setup, out *levada.Out[string]) levada.Process[int] {
			sum := levada.Side(s, total)
			return func(c *levada.Ctx, v int) error { out.Emit(c, fmt.Sprint(v, " of ", sum.Get(c))); return nil }
		}))
		for i := range 300 {
			src.Add(event.Time(i), 1)
		}
		src.Add(15_000, 5)
		if all := values(got); all != "" {
			t.Errorf("%q", all)
		}
		src.Watermark(10_000)
		if all := got.Take(); len(all) != 300 || all[0].Value != "1 of 300" {
			t.Errorf("%d elements, %v", len(all), all[:min(1, len(all))])
		}
		h.Finish()
		if all := values(got); all != "5 of 5" {
			t.Errorf("%q", all)
		}
	}
}

// sumInts adds up.
type sumInts struct{}

func (sumInts) Zero() int           { return 0 }
func (sumInts) Add(a *int, v int)   { *a += v }
func (sumInts) Merge(a *int, b int) { *a += b }
func (sumInts) Result(a int) int    { return a }

// TestSideRefusals shows what is refused while building.
func TestSideRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		main, side levada.Windowing
		err        error
	}{
		"sessions":             {fixed10, levada.Windowing{Windows: window.Sessions(time.Second)}, levada.ErrSideMerging},
		"global into windows":  {levada.Windowing{}, fixed10, levada.ErrSideWindows},
		"windows into global":  {fixed10, levada.Windowing{}, nil},
		"windows into windows": {fixed10, levada.Windowing{Windows: window.Sliding(time.Minute, time.Second)}, nil},
	} {
		p := levada.New()
		main := levada.WindowInto(levada.Create(p, "main", "x"), "mw", c.main)
		side := levada.WindowInto(levada.Create(p, "side", 1), "sw", c.side)
		looking(main, levada.AsIter(side, "view"), func(*levada.Ctx, *levada.Iter[int]) string { return "" })
		if err := p.Err(); !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%s: %v, want %v", name, err, c.err)
		}
	}
	p := levada.New()
	other := levada.AsIter(levada.Create(levada.New(), "side", 1), "view")
	looking(levada.Create(p, "main", "x"), other, func(*levada.Ctx, *levada.Iter[int]) string { return "" })
	looking2 := levada.Create(p, "main2", "x")
	levada.ParDo(looking2, "zero", func(s *levada.Setup, _ *levada.Out[int]) levada.Process[string] {
		levada.Side(s, levada.IterView[int]{})
		return func(*levada.Ctx, string) error { return nil }
	})
	if err := p.Err(); !errors.Is(err, levada.ErrOtherPipeline) || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("another pipeline's view, and none: %v", err)
	}
}

// TestSideMemory shows that windows of a view are forgotten when nobody can ask for them.
func TestSideMemory(t *testing.T) {
	if invariants.Enabled {
		t.Skip("the invariants keep memory")
	}
	h := levadatest.New(t)
	h.Run.Parallelism = 2
	main, ref := levadatest.Source[string](h, "main"), levadatest.Source[string](h, "ref")
	view := levada.AsIter(levada.WindowInto(ref.Out, "rw", fixed10), "view")
	levadatest.Collect(h, looking(levada.WindowInto(main.Out, "mw", fixed10), view, func(c *levada.Ctx, h *levada.Iter[string]) string {
		return fmt.Sprint(h.Len(c))
	}))
	h.Start()
	before := heapNow()
	const n, size = 200, 100_000
	for i := range event.Time(n) {
		ref.Add(i*10_000, strings.Repeat("x", size))
		ref.Watermark((i + 1) * 10_000)
		main.Add(i*10_000, "m")
		main.Watermark((i + 1) * 10_000)
	}
	if left := heapNow() - before; left > n*size/10 {
		t.Errorf("%d bytes are left of %d", left, n*size)
	}
}

// TestSideKeepsOrder shows that elements which wait for a side input are not overtaken by those of their window that come when it is
// ready.
func TestSideKeepsOrder(t *testing.T) {
	const n = 50
	for range 300 {
		p := levada.New()
		view := levada.AsSingleton(levada.Create(p, "side", 1), "view")
		var values [n]int
		for i := range values {
			values[i] = i
		}
		var got []int
		levada.ForEach(levada.Create(p, "in", values[:]...), "step", func(s *levada.Setup) levada.Process[int] {
			side := levada.Side(s, view)
			return func(c *levada.Ctx, v int) error {
				got = append(got, v*side.Get(c))
				return nil
			}
		})
		if _, err := p.Run(t.Context(), levada.Embedded{Parallelism: 1}); err != nil || !slices.Equal(got, values[:]) {
			t.Fatalf("%v, %v", got, err)
		}
	}
}
