package levada_test

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/levadatest"
	"github.com/levadaflow/levada/window"
)

// givenBy are the two ways in which a user's function gives windows.
var givenBy = map[string]func(in levada.PCollection[int], windows func(t event.Time) []event.Window) levada.PCollection[int]{
	"time": func(in levada.PCollection[int], windows func(t event.Time) []event.Window) levada.PCollection[int] {
		fn := window.Func("own", func(dst []event.Window, t event.Time) []event.Window { return append(dst, windows(t)...) })
		return levada.WindowInto(in, "own", levada.Windowing{Windows: fn})
	},
	"element": func(in levada.PCollection[int], windows func(t event.Time) []event.Window) levada.PCollection[int] {
		return levada.WindowBy(in, "own", func(dst []event.Window, v int, _ event.Time) []event.Window {
			return append(dst, windows(event.Time(v))...)
		}, levada.Windowing{})
	},
}

// TestNotInWindow shows that a window which does not contain its element fails the run, with step, element, time, window and rule,
// and that the boundary is allowed.
func TestNotInWindow(t *testing.T) {
	for name, c := range map[string]struct {
		windows []event.Window
		text    string
	}{
		"after":   {[]event.Window{fixed(0, 20), fixed(11, 20)}, "[1970-01-01T00:00:00.011Z, 1970-01-01T00:00:00.020Z) does not contain"},
		"before":  {[]event.Window{fixed(0, 10)}, "[1970-01-01T00:00:00.000Z, 1970-01-01T00:00:00.010Z) does not contain"},
		"empty":   {[]event.Window{fixed(10, 10)}, "is empty"},
		"label":   {[]event.Window{fixed(0, 20).Labelled("global")}, `label "global"`},
		"allowed": {[]event.Window{fixed(10, 11), fixed(0, 11), fixed(event.Min-5, 11), event.Global()}, ""},
	} {
		for by, give := range givenBy {
			for _, mode := range modes {
				d := levadatest.NewDriver()
				d.Run = mode
				src := levadatest.AddScript[int](d, "src")
				levadatest.Gather(give(src.Out, func(event.Time) []event.Window { return c.windows }), "out")
				err := src.Add(10, 10)
				d.Stop()
				if c.text == "" {
					if err != nil {
						t.Errorf("%s by %s, %+v: %v", name, by, mode, err)
					}
					continue
				}
				var at *levada.StepError
				if !errors.Is(err, levada.ErrNotInWindow) || !errors.As(err, &at) || at.Step != "own" || at.Element != "10" || at.Time != 10 {
					t.Fatalf("%s by %s, %+v: %v", name, by, mode, err)
				}
				for _, part := range []string{"step own, element 10 at 1970-01-01T00:00:00.010Z", c.text} {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("%s by %s: %v does not say %q", name, by, err, part)
					}
				}
			}
		}
	}
}

// TestNoWindow shows that an element ends, and is counted, where a user's function gives it no window, or only one that ends with
// the global one and the element is after that.
func TestNoWindow(t *testing.T) {
	for by, give := range givenBy {
		eachMode(t, func(t *testing.T, h *levadatest.Harness) {
			src := levadatest.Source[int](h, "src")
			counted := levadatest.Collect(h, levada.CountPerKey(levada.KeyBy(give(src.Out, func(at event.Time) []event.Window {
				if at == 5 {
					return nil
				}
				return []event.Window{fixed(0, event.Max)}
			}), "key", id[int]), "count"))
			src.Add(5, 5)
			src.Add(6, 6)
			src.Add(event.EndOfGlobal+1, int(event.EndOfGlobal+1))
			h.Finish()
			want(t, counted, at(levada.KV[int, int64]{Key: 6, Value: 1}, event.EndOfGlobal, fixed(0, event.EndOfGlobal+1), firstLast))
			if n := h.Result().Counter("own", "no_window"); n != 2 {
				t.Errorf("by %s: no_window = %d, want 2", by, n)
			}
		})
	}
}

// TestOwnMemory shows that a user's function may return memory of its own, which stays as it is.
func TestOwnMemory(t *testing.T) {
	eachMode(t, func(t *testing.T, h *levadatest.Harness) {
		mine := []event.Window{fixed(5, 20), fixed(0, 20), fixed(0, 20), fixed(5, event.Max)}
		before := slices.Clone(mine)
		src := levadatest.Source[int](h, "src")
		out := levadatest.Collect(h, levada.WindowBy(src.Out, "own", func(dst []event.Window, v int, _ event.Time) []event.Window {
			if v == 1 {
				return mine
			}
			return append(dst, fixed(9, 10))
		}, levada.Windowing{}))
		for _, v := range []int{1, 2, 1} {
			src.Add(9, v)
		}
		all := []element[int]{at(2, 9, fixed(9, 10), event.NoPane)}
		for range 2 {
			for _, w := range []event.Window{fixed(0, 20), fixed(5, 20), fixed(5, event.EndOfGlobal+1)} {
				all = append(all, at(1, 9, w, event.NoPane))
			}
		}
		want(t, out, all...)
		if !slices.Equal(mine, before) {
			t.Errorf("it was changed to %v", mine)
		}
	})
}

// TestLabels shows that windows of one span with different labels are different windows, also where they merge, and also in a second
// grouping.
func TestLabels(t *testing.T) {
	for name, kind := range map[string]window.Fn{
		"plain": nil, "merged": window.ByElement("regions").Merged(), "named": window.ByElement("regions"),
	} {
		eachMode(t, func(t *testing.T, h *levadatest.Harness) {
			src := levadatest.Source[string](h, "src")
			regions := levada.WindowBy(src.Out, "regions", func(dst []event.Window, v string, _ event.Time) []event.Window {
				return append(dst, fixed(0, 10).Labelled(v), fixed(0, 10))
			}, levada.Windowing{Windows: kind})
			counts := levada.CountPerKey(levada.KeyBy(regions, "key", func(string) int { return 1 }), "count")
			again := levada.SumPerKey(counts, "again")
			first, second := levadatest.Collect(h, counts), levadatest.Collect(h, again)
			for _, v := range []string{"eu", "us", "eu"} {
				src.Add(5, v)
			}
			src.Watermark(10)
			var all []element[levada.KV[int, int64]]
			for label, n := range map[string]int64{"eu": 2, "us": 1, "": 3} {
				all = append(all, at(levada.KV[int, int64]{Key: 1, Value: n}, 9, fixed(0, 10).Labelled(label), firstLast))
			}
			want(t, first, all...)
			want(t, second, all...)
			if t.Failed() {
				t.Log(name)
			}
		})
	}
}

// TestLabelsInState shows that windows of one span with different labels have states of their own.
func TestLabelsInState(t *testing.T) {
	eachMode(t, func(t *testing.T, h *levadatest.Harness) {
		src := levadatest.Source[string](h, "src")
		regions := levada.WindowBy(src.Out, "regions", func(dst []event.Window, v string, _ event.Time) []event.Window {
			return append(dst, fixed(0, 10).Labelled(v))
		}, levada.Windowing{})
		numbers := levada.ParDoKeyed(levada.KeyBy(regions, "key", func(string) int { return 1 }), "number",
			func(s *levada.Keyed[int], out *levada.Out[int]) levada.Process[levada.KV[int, string]] {
				seen := levada.ValueState[int](s, "seen")
				return func(c *levada.Ctx, _ levada.KV[int, string]) error {
					n, _ := seen.Read(c)
					seen.Write(c, n+1)
					out.Emit(c, n+1)
					return nil
				}
			})
		out := levadatest.Collect(h, numbers)
		var all []element[int]
		for _, x := range []struct {
			label string
			n     int
		}{{"eu", 1}, {"us", 1}, {"eu", 2}, {"us", 2}, {"eu", 3}} {
			src.Add(5, x.label)
			all = append(all, at(x.n, 5, fixed(0, 10).Labelled(x.label), event.NoPane))
		}
		want(t, out, all...)
	})
}

// absorb is the rule of Beam's CustomWindowFn: a big window takes in the windows that it covers.
func absorb(windows []event.Window, merge func(parts []event.Window, into event.Window)) {
	taken := make([]bool, len(windows))
	for i, big := range windows {
		if big.Label() != "big" || taken[i] {
			continue
		}
		var parts []event.Window
		for j, w := range windows {
			if !taken[j] && big.Covers(w) {
				parts = append(parts, w)
				taken[j] = true
			}
		}
		merge(parts, big)
	}
}

// TestBigWindowsAbsorb is WindowTest.testMergingCustomWindows of Beam's: a big window absorbs the small one that it covers and not
// the one outside.
func TestBigWindowsAbsorb(t *testing.T) {
	eachMode(t, func(t *testing.T, h *levadatest.Harness) {
		src := levadatest.Source[string](h, "src")
		windows := levada.WindowBy(src.Out, "own", func(dst []event.Window, v string, at event.Time) []event.Window {
			if v == "big" {
				return append(dst, fixed(at, at+30_000).Labelled("big"))
			}
			return append(dst, fixed(at, at+5_000))
		}, levada.Windowing{Windows: window.ByElement("own").MergedBy(absorb)})
		counts := levadatest.Collect(h, levada.CountPerKey(levada.KeyBy(windows, "key", func(string) int { return 1 }), "count"))
		src.Add(10_000, "small")
		src.Add(0, "big")
		src.Add(39_000, "small")
		src.Add(20_000, "small")
		h.Finish()
		pane := func(n int64, w event.Window) element[levada.KV[int, int64]] {
			return at(levada.KV[int, int64]{Key: 1, Value: n}, w.Last(), w, firstLast)
		}
		want(t, counts, pane(3, fixed(0, 30_000).Labelled("big")), pane(1, fixed(39_000, 44_000)))
	})
}

// TestOddAndEvenMerge is WindowTest.testMergingCustomWindowsWithoutCustomWindowTypes of Beam's: windows that overlap stay apart if
// the rule says so.
func TestOddAndEvenMerge(t *testing.T) {
	rule := func(windows []event.Window, merge func(parts []event.Window, into event.Window)) {
		for parity := range event.Time(2) {
			var parts []event.Window
			for _, w := range windows {
				if w.Start%2 == parity {
					parts = append(parts, w)
				}
			}
			if len(parts) > 0 {
				merge(parts, fixed(parts[0].Start, parts[len(parts)-1].End))
			}
		}
	}
	fn := window.Func("parity", func(dst []event.Window, t event.Time) []event.Window {
		return append(dst, fixed(t, t+30_000))
	}).MergedBy(rule)
	eachMode(t, func(t *testing.T, h *levadatest.Harness) {
		src := levadatest.Source[int](h, "src")
		windows := levada.WindowInto(src.Out, "own", levada.Windowing{Windows: fn})
		lists := levada.Map(levada.GroupByKey(levada.KeyBy(windows, "key", func(int) int { return 1 }), "group"), "list",
			func(kv levada.KV[int, levada.Values[int]]) string { return fmt.Sprint(slices.Sorted(kv.Value.All())) })
		out := levadatest.Collect(h, lists)
		for _, v := range []int{3, 1, 4, 5, 2} {
			src.Add(event.Time(v), v)
		}
		h.Finish()
		want(t, out, at("[1 3 5]", 30_004, fixed(1, 30_005), firstLast), at("[2 4]", 30_003, fixed(2, 30_004), firstLast))
	})
}

// TestLateRule shows that a merge rule sees windows that wait for late elements, and that what it makes of them starts anew.
func TestLateRule(t *testing.T) {
	eachMode(t, func(t *testing.T, h *levadatest.Harness) {
		src := levadatest.Source[string](h, "src")
		windows := levada.WindowBy(src.Out, "own", func(dst []event.Window, v string, at event.Time) []event.Window {
			if v == "big" {
				return append(dst, fixed(0, 100).Labelled("big"))
			}
			return append(dst, fixed(at, at+10))
		}, levada.Windowing{
			Windows: window.ByElement("own").MergedBy(absorb), AllowedLateness: time.Second, Accumulation: levada.Accumulating,
		})
		counts := levadatest.Collect(h, levada.CountPerKey(levada.KeyBy(windows, "key", func(string) int { return 1 }), "count"))
		pane := func(n int64, w event.Window, p event.Pane) element[levada.KV[int, int64]] {
			return at(levada.KV[int, int64]{Key: 1, Value: n}, w.Last(), w, p)
		}
		src.Add(20, "small")
		src.Watermark(50)
		want(t, counts, pane(1, fixed(20, 30), event.Pane{Timing: event.OnTime, First: true}))
		src.Add(60, "big")
		want(t, counts)
		src.Watermark(100)
		want(t, counts, pane(2, fixed(0, 100).Labelled("big"), event.Pane{Timing: event.OnTime, First: true}))
		src.Add(70, "small")
		want(t, counts, pane(3, fixed(0, 100).Labelled("big"), event.Pane{Timing: event.Late, Index: 1, OnTimeIndex: 1}))
	})
}

// TestBadMerge shows that a merge rule which breaks the rules fails the run, with step, element and window.
func TestBadMerge(t *testing.T) {
	for name, rule := range map[string]func(windows []event.Window, merge func(parts []event.Window, into event.Window)){
		"small": func(all []event.Window, merge func(parts []event.Window, into event.Window)) { merge(all, fixed(0, 1)) },
		"twice": func(all []event.Window, merge func(parts []event.Window, into event.Window)) {
			merge(all, all[0])
			merge(all, all[0])
		},
		"panics": func([]event.Window, func(parts []event.Window, into event.Window)) {
			panic(fmt.Errorf("%w: on purpose", levada.ErrBadMerge))
		},
	} {
		for _, mode := range modes {
			d := levadatest.NewDriver()
			d.Run = mode
			src := levadatest.AddScript[int](d, "src")
			fn := window.Func("own", func(dst []event.Window, t event.Time) []event.Window { return append(dst, fixed(t, t+10)) })
			own := levada.WindowInto(src.Out, "own", levada.Windowing{Windows: fn.MergedBy(rule)})
			levada.CountPerKey(levada.KeyBy(own, "key", id[int]), "count")
			err := src.Add(10, 7)
			d.Stop()
			var at *levada.StepError
			if !errors.As(err, &at) {
				t.Fatalf("%s, %+v: %v", name, mode, err)
			}
			// A panic is told with the element that entered the stage.
			if !errors.Is(err, levada.ErrBadMerge) || at.Step != "count" || !strings.HasPrefix(at.Element, "7") || at.Time != 10 ||
				at.Window != fixed(10, 20).String() || (at.Stack != "") != (name == "panics") {
				t.Errorf("%s, %+v: %v, element %q in %q", name, mode, err, at.Element, at.Window)
			}
		}
	}
}

// TestWindowFnPanics shows that a panic of a user's window function names its step.
func TestWindowFnPanics(t *testing.T) {
	boom := errors.New("boom")
	for by, give := range givenBy {
		for _, mode := range modes {
			d := levadatest.NewDriver()
			d.Run = mode
			src := levadatest.AddScript[int](d, "src")
			levada.Map(give(src.Out, func(event.Time) []event.Window { panic(boom) }), "after", id[int])
			err := src.Add(10, 10)
			d.Stop()
			var at *levada.StepError
			if !errors.Is(err, boom) || !errors.As(err, &at) || at.Step != "own" || at.Stack == "" {
				t.Errorf("by %s, %+v: %v", by, mode, err)
			}
		}
	}
}

// list is a window function of a type that cannot be compared.
type list struct {
	window.Fn
	sizes []int
}

func (list) Compatible(o window.Fn) bool { _, ok := o.(list); return ok }

// TestIncomparable shows that a window function need not be comparable: not where it is flattened, and not where it is grouped.
func TestIncomparable(t *testing.T) {
	eachMode(t, func(t *testing.T, h *levadatest.Harness) {
		fn := list{Fn: window.Fixed(10 * time.Millisecond), sizes: []int{10}}
		src := levadatest.Source[int](h, "src")
		a := levada.WindowInto(src.Out, "a", levada.Windowing{Windows: fn, AllowedLateness: time.Hour, Accumulation: levada.Discarding})
		b := levada.WindowInto(src.Out, "b", levada.Windowing{Windows: fn})
		counts := levada.CountPerKey(levada.KeyBy(levada.Flatten("both", a, b), "key", id[int]), "count")
		out := levadatest.Collect(h, counts)
		src.Add(15, 1)
		src.Watermark(20)
		want(t, out, at(levada.KV[int, int64]{Key: 1, Value: 2}, 19, fixed(10, 20), event.Pane{Timing: event.OnTime, First: true}))
	})
	p := levada.New()
	in := levada.Create(p, "in", 1)
	a := levada.WindowInto(in, "a", levada.Windowing{Windows: list{Fn: window.Fixed(time.Second)}})
	levada.Flatten("both", a, levada.WindowInto(in, "b", levada.Windowing{Windows: window.Fixed(time.Second)}))
	levada.Flatten("again", in, a)
	if err := p.Err(); !errors.Is(err, levada.ErrIncompatibleFlatten) || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("%v", err)
	}
}

// TestFlattenByElement shows which WindowBys go together: those of one name that merge in the same way.
func TestFlattenByElement(t *testing.T) {
	kinds := []window.Fn{nil, nil, window.ByElement("a"), window.ByElement("a").Merged(), window.ByElement("b")}
	for i, x := range kinds {
		for j, y := range kinds {
			p := levada.New()
			in := levada.Create(p, "in", 1)
			fn := func(dst []event.Window, _ int, t event.Time) []event.Window { return append(dst, fixed(t, t+1)) }
			a := levada.WindowBy(in, fmt.Sprint("step", i), fn, levada.Windowing{Windows: x})
			b := a
			if i != j {
				b = levada.WindowBy(in, fmt.Sprint("step", j), fn, levada.Windowing{Windows: y})
			}
			levada.Flatten("both", a, b)
			if err := p.Err(); i == j && err != nil || i != j && !errors.Is(err, levada.ErrIncompatibleFlatten) {
				t.Errorf("%v with %v: %v", x, y, err)
			}
		}
	}
	p := levada.New()
	in := levada.Create(p, "in", 1)
	none := func(dst []event.Window, _ int, _ event.Time) []event.Window { return dst }
	levada.Flatten("both", levada.WindowBy(in, "a", none, levada.Windowing{Windows: window.ByElement("own")}),
		levada.WindowBy(in, "b", none, levada.Windowing{Windows: window.ByElement("own")}))
	if err := p.Err(); err != nil {
		t.Errorf("two of one name: %v", err)
	}
}

// TestCustomBuildErrors shows what is refused while building.
func TestCustomBuildErrors(t *testing.T) {
	fn := func(dst []event.Window, t event.Time) []event.Window { return append(dst, fixed(t, t+1)) }
	by := func(dst []event.Window, _ int, t event.Time) []event.Window { return fn(dst, t) }
	for name, c := range map[string]struct {
		w   levada.Windowing
		err error
	}{
		"by element in WindowInto": {levada.Windowing{Windows: window.ByElement("x")}, levada.ErrBadWindow},
		"merged by element":        {levada.Windowing{Windows: window.ByElement("x").Merged()}, levada.ErrBadWindow},
		"no name":                  {levada.Windowing{Windows: window.Func("", fn)}, levada.ErrBadWindow},
		"no function":              {levada.Windowing{Windows: window.Func("x", nil)}, levada.ErrBadWindow},
		"good":                     {levada.Windowing{Windows: window.Func("x", fn)}, nil},
		"lateness": {levada.Windowing{Windows: window.Func("x", fn), AllowedLateness: time.Second},
			levada.ErrAccumulationUnset},
	} {
		p := levada.New()
		out := levada.WindowInto(levada.Create(p, "in", 1), "own", c.w)
		levada.CountPerKey(levada.KeyBy(out, "key", id[int]), "count")
		if err := p.Err(); !errors.Is(err, c.err) || err != nil && strings.Count(err.Error(), "\n") > 0 {
			t.Errorf("%s: %v, want %v", name, err, c.err)
		}
	}
	for name, c := range map[string]struct {
		w   levada.Windowing
		err error
	}{
		"built in": {levada.Windowing{Windows: window.Fixed(time.Second)}, levada.ErrBadWindow},
		"global":   {levada.Windowing{Windows: window.Global()}, levada.ErrBadWindow},
		"by time":  {levada.Windowing{Windows: window.Func("x", fn)}, levada.ErrBadWindow},
		"a type":   {levada.Windowing{Windows: list{Fn: window.Global()}}, levada.ErrBadWindow},
		"no name":  {levada.Windowing{Windows: window.ByElement("").Merged()}, levada.ErrBadWindow},
		"lateness": {levada.Windowing{AllowedLateness: time.Second}, levada.ErrAccumulationUnset},
		"negative": {levada.Windowing{AllowedLateness: -time.Second}, levada.ErrBadLateness},
		"good":     {levada.Windowing{Windows: window.ByElement("x").MergedBy(absorb)}, nil},
		"nothing":  {levada.Windowing{}, nil},
	} {
		p := levada.New()
		out := levada.WindowBy(levada.Create(p, "in", 1), "own", by, c.w)
		levada.CountPerKey(levada.KeyBy(out, "key", id[int]), "count")
		if err := p.Err(); !errors.Is(err, c.err) || err != nil && strings.Count(err.Error(), "\n") > 0 {
			t.Errorf("WindowBy, %s: %v, want %v", name, err, c.err)
		}
	}
}

// TestCustomAllocatesNothing shows that windows of a user's function cost no allocation for each element.
func TestCustomAllocatesNothing(t *testing.T) {
	const n = 20_000
	perElement := func(step func(levada.PCollection[int]) levada.PCollection[int]) float64 {
		few := testing.AllocsPerRun(2, func() { runWindows(t, n, step) })
		many := testing.AllocsPerRun(2, func() { runWindows(t, 2*n, step) })
		return (many - few) / n
	}
	tens := func(dst []event.Window, t event.Time) []event.Window {
		s := t.Floor(10, 0)
		return append(dst, fixed(s-10, s+10), fixed(s, s+10), fixed(s, s+20))
	}
	plain := perElement(func(in levada.PCollection[int]) levada.PCollection[int] { return in })
	for name, step := range map[string]func(levada.PCollection[int]) levada.PCollection[int]{
		"by time": func(in levada.PCollection[int]) levada.PCollection[int] {
			return levada.WindowInto(in, "own", levada.Windowing{Windows: window.Func("tens", tens)})
		},
		"by element": func(in levada.PCollection[int]) levada.PCollection[int] {
			return levada.WindowBy(in, "own", func(dst []event.Window, v int, t event.Time) []event.Window { return tens(dst, t) },
				levada.Windowing{})
		},
	} {
		if got := perElement(step) - plain; got > 0.1 {
			t.Errorf("%s: %.2f allocations an element", name, got)
		}
	}
}

func runWindows(t *testing.T, n int, step func(levada.PCollection[int]) levada.PCollection[int]) {
	p := levada.New()
	in := levada.FlatMap(levada.Create(p, "in", n), "many", func(n int) iter.Seq[int] {
		return func(yield func(int) bool) {
			for i := 0; i < n && yield(i); i++ {
			}
		}
	})
	levada.Map(step(in), "after", id[int])
	if _, err := p.Run(t.Context(), levada.Embedded{Parallelism: 1}); err != nil {
		t.Fatal(err)
	}
}
