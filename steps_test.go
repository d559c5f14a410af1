package levada_test

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/combine"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/levadatest"
	"github.com/levadaflow/levada/window"
)

type element[T any] = levadatest.Element[T]

// eachMode runs a test in every mode.
func eachMode(t *testing.T, f func(t *testing.T, h *levadatest.Harness)) {
	for _, mode := range modes {
		t.Run(fmt.Sprintf("p%d-b%d-%v", mode.Parallelism, mode.MaxBundle, mode.GeneralPath), func(t *testing.T) {
			h := levadatest.New(t)
			h.Run = mode
			f(t, h)
		})
	}
}

// want compares what has come, whatever the order.
func want[T any](t *testing.T, c *levadatest.Collected[T], all ...element[T]) {
	t.Helper()
	order := func(a, b element[T]) bool { return fmt.Sprint(a) < fmt.Sprint(b) }
	got := c.Take()
	opts := []gocmp.Option{cmpopts.EquateEmpty(), cmpopts.SortSlices(order), gocmp.AllowUnexported(event.Window{})}
	if d := gocmp.Diff(all, got, opts...); d != "" {
		t.Errorf("- want, + got:\n%s", d)
	}
}

func plain[T any](v T, t event.Time) element[T] {
	return element[T]{Value: v, Time: t, Window: event.Global(), Pane: event.NoPane}
}

// at is an element of any window and pane.
func at[T any](v T, t event.Time, w event.Window, p event.Pane) element[T] {
	return element[T]{Value: v, Time: t, Window: w, Pane: p}
}

func fixed(start, end event.Time) event.Window { return event.Window{Start: start, End: end} }

// firstLast is the pane of a window that fires once.
var firstLast = event.Pane{Timing: event.OnTime, First: true, Last: true}

func TestElementSteps(t *testing.T) {
	eachMode(t, func(t *testing.T, h *levadatest.Harness) {
		src := levadatest.Source[int](h, "src")
		mapped := levadatest.Collect(h, levada.Map(src.Out, "map", strconv.Itoa))
		even := levadatest.Collect(h, levada.Filter(src.Out, "even", func(v int) bool { return v%2 == 0 }))
		flat := levadatest.Collect(h, levada.FlatMap(src.Out, "flat", func(v int) iter.Seq[int] {
			return func(yield func(int) bool) { _ = yield(v) && yield(-v) }
		}))
		keyed := levadatest.Collect(h, levada.KeyBy(src.Out, "key", func(v int) bool { return v > 2 }))
		pairs := levadatest.Collect(h, levada.KeyValue(src.Out, "pair", func(v int) (string, int) { return "k", 10 * v }))
		var bad levada.FailedOf[int]
		tried := levadatest.Collect(h, levada.TryMap(src.Out, "try", func(v int) (int, error) {
			if v > 2 {
				return 0, errors.New("too big")
			}
			return v, nil
		}, levada.FailedTo(&bad)))
		failed := levadatest.Collect(h, bad)
		src.Add(5, 2)
		src.Add(7, 3)
		want(t, mapped, plain("2", 5), plain("3", 7))
		want(t, even, plain(2, 5))
		want(t, flat, plain(2, 5), plain(-2, 5), plain(3, 7), plain(-3, 7))
		want(t, keyed, plain(levada.KV[bool, int]{Key: false, Value: 2}, 5), plain(levada.KV[bool, int]{Key: true, Value: 3}, 7))
		want(t, pairs, plain(levada.KV[string, int]{Key: "k", Value: 20}, 5), plain(levada.KV[string, int]{Key: "k", Value: 30}, 7))
		want(t, tried, plain(2, 5))
		want(t, failed, plain(levada.Failed[int]{Value: 3, Err: "too big"}, 7))
	})
}

// TestOncePerWindow shows that a DoFn is called for each window of an element, a plain function once.
func TestOncePerWindow(t *testing.T) {
	eachMode(t, func(t *testing.T, h *levadatest.Harness) {
		src := levadatest.Source[int](h, "src")
		w := levada.WindowInto(src.Out, "w", levada.Windowing{Windows: window.Sliding(10*time.Millisecond, 5*time.Millisecond)})
		type call struct {
			W event.Window
			T event.Time
			P event.Pane
		}
		did := levadatest.Collect(h, levada.ParDo(w, "do", func(s *levada.Setup, out *levada.Out[call]) levada.Process[int] {
			calls := s.Counter("calls")
			return func(c *levada.Ctx, v int) error {
				calls.Inc(1)
				out.Emit(c, call{c.Window(), c.Time(), c.Pane()})
				return nil
			}
		}))
		once := levadatest.Collect(h, levada.Map(w, "plain", id[int]))
		src.Add(7, 1)
		did1 := func(w event.Window) element[call] { return at(call{w, 7, event.NoPane}, 7, w, event.NoPane) }
		want(t, did, did1(fixed(0, 10)), did1(fixed(5, 15)))
		want(t, once, at(1, 7, fixed(0, 10), event.NoPane), at(1, 7, fixed(5, 15), event.NoPane))
		if n := h.Result().Counter("do", "calls"); n != 2 {
			t.Errorf("%d calls", n)
		}
	})
}

func TestParDo2AndMetrics(t *testing.T) {
	eachMode(t, func(t *testing.T, h *levadatest.Harness) {
		src := levadatest.Source[int](h, "src")
		small, big := levada.ParDo2(src.Out, "split", func(s *levada.Setup, small *levada.Out[int], big *levada.Out[string]) levada.Process[int] {
			sizes := s.Distribution("sizes")
			return func(c *levada.Ctx, v int) error {
				sizes.Update(int64(v))
				if v < 10 {
					small.Emit(c, v)
				} else {
					big.EmitAt(c, fmt.Sprint(v), c.Time()+5)
				}
				return nil
			}
		})
		smalls, bigs := levadatest.Collect(h, small), levadatest.Collect(h, big)
		for _, v := range []int{1, 20, 3} {
			src.Add(event.Time(v), v)
		}
		want(t, smalls, plain(1, 1), plain(3, 3))
		want(t, bigs, plain("20", 25))
		got := h.Result().Distribution("split", "sizes")
		if want := (levada.DistributionResult{Step: "split", Name: "sizes", Count: 3, Sum: 24, Min: 1, Max: 20}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}

// TestTimeRule shows the rule for new times on every path that gives one: the boundary is allowed, one millisecond more is not.
func TestTimeRule(t *testing.T) {
	type timed = levada.KV[event.Time, event.Time] // present and new
	paths := map[string]func(in levada.PCollection[timed], opts ...levada.TimeOption) levada.PCollection[timed]{
		"with-timestamps": func(in levada.PCollection[timed], o ...levada.TimeOption) levada.PCollection[timed] {
			return levada.WithTimestamps(in, "step", func(v timed) event.Time { return v.Value }, o...)
		},
		"map-timed": func(in levada.PCollection[timed], o ...levada.TimeOption) levada.PCollection[timed] {
			return levada.MapTimed(in, "step", func(v timed) (event.Time, timed) { return v.Value, v }, o...)
		},
		"emit-at": func(in levada.PCollection[timed], o ...levada.TimeOption) levada.PCollection[timed] {
			return levada.ParDo(in, "step", func(_ *levada.Setup, out *levada.Out[timed]) levada.Process[timed] {
				return func(c *levada.Ctx, v timed) error { out.EmitAt(c, v, v.Value); return nil }
			}, o...)
		},
	}
	skew := levada.AllowedSkew(10 * time.Millisecond)
	cases := []struct {
		from, to event.Time
		opts     []levada.TimeOption
		err      error
	}{
		{100, 100, nil, nil}, {100, 99, nil, levada.ErrSkew}, {100, event.Max, nil, nil}, {100, event.Max + 1, nil, levada.ErrOutOfRange},
		{100, math.MaxInt64, nil, levada.ErrOutOfRange}, {100, math.MinInt64, nil, levada.ErrOutOfRange},
		{100, 90, []levada.TimeOption{skew}, nil}, {100, 89, []levada.TimeOption{skew}, levada.ErrSkew}, {3, -7, []levada.TimeOption{skew}, nil},
		{event.Min, event.Min, nil, nil}, {event.Min + 5, event.Min, []levada.TimeOption{skew}, nil},
		{event.Min + 5, event.Min - 1, []levada.TimeOption{skew}, levada.ErrOutOfRange},
		{event.EndOfGlobal, event.Min, []levada.TimeOption{levada.AnySkew}, nil}, {event.Max, event.Min, []levada.TimeOption{levada.AnySkew}, nil},
		{-2, event.Min - 1, []levada.TimeOption{levada.AnySkew}, levada.ErrOutOfRange}, {0, event.Min, []levada.TimeOption{levada.AnySkew}, nil},
	}
	for name, step := range paths {
		for _, c := range cases {
			d := levadatest.NewDriver()
			in := levada.CreateTimed(d.Pipeline, "in", levada.Timed[timed]{Value: timed{Key: c.from, Value: c.to}, Time: c.from})
			out := levadatest.Gather(step(in, c.opts...), "out")
			_, err := d.Pipeline.Run(t.Context(), levada.Embedded{Parallelism: 1})
			var at *levada.StepError
			switch got := out.Take(); {
			case c.err == nil && (err != nil || len(got) != 1 || got[0].Time != c.to):
				t.Errorf("%s %v: %v, %v", name, c, got, err)
			case c.err != nil && (!errors.Is(err, c.err) || !errors.As(err, &at) || at.Step != "step" || len(got) != 0):
				t.Errorf("%s %v: %v, %v", name, c, got, err)
			}
		}
	}
}

func TestZeroTime(t *testing.T) {
	p := levada.New()
	levada.WithTimestamps(levada.Create(p, "in", 1), "zero", func(int) time.Time { return time.Time{} }, levada.AnySkew)
	if _, err := p.Run(t.Context(), levada.Embedded{}); !errors.Is(err, levada.ErrZeroTime) {
		t.Errorf("%v", err)
	}
}

func TestTimeFunctions(t *testing.T) {
	eachMode(t, func(t *testing.T, h *levadatest.Harness) {
		src := levadatest.Source[int64](h, "src")
		fromTime := levadatest.Collect(h, levada.WithTimestamps(src.Out, "time", func(v int64) time.Time {
			return time.UnixMilli(v).Add(999 * time.Microsecond)
		}))
		later := levadatest.Collect(h, levada.WithTimestampsFrom(src.Out, "later", func(_ int64, present event.Time) event.Time {
			return present.Add(time.Second)
		}))
		both := levadatest.Collect(h, levada.MapTimed(src.Out, "both", func(v int64) (time.Time, string) {
			return time.UnixMilli(v), fmt.Sprint(v)
		}))
		src.Add(5, 70)
		want(t, fromTime, plain(int64(70), 70))
		want(t, later, plain(int64(70), 1005))
		want(t, both, plain("70", 70))
	})
}

// TestEmittedLate shows that an element put behind the watermark is counted, not dropped, on every path.
func TestEmittedLate(t *testing.T) {
	eachMode(t, func(t *testing.T, h *levadatest.Harness) {
		src := levadatest.Source[int](h, "src")
		back := levada.AllowedSkew(time.Second)
		levada.WithTimestamps(src.Out, "with", func(int) event.Time { return 99 }, back)
		levada.MapTimed(src.Out, "map", func(v int) (event.Time, int) { return 99, v }, back)
		levada.ParDo(src.Out, "do", func(_ *levada.Setup, out *levada.Out[int]) levada.Process[int] {
			return func(c *levada.Ctx, v int) error { out.EmitAt(c, v, 99); out.EmitAt(c, v, 100); return nil }
		}, back)
		src.Watermark(100)
		src.Add(150, 1)
		src.Add(150, 2)
		for _, step := range []string{"with", "map", "do"} {
			if n := h.Result().Counter(step, "emitted_late"); n != 2 {
				t.Errorf("%s: %d", step, n)
			}
		}
	})
}

func TestGroupings(t *testing.T) {
	eachMode(t, func(t *testing.T, h *levadatest.Harness) {
		src := levadatest.Source[levada.KV[string, int]](h, "src")
		w := levada.WindowInto(src.Out, "w", levada.Windowing{Windows: window.Fixed(10 * time.Millisecond)})
		grouped := levadatest.Collect(h, levada.Map(levada.GroupByKey(w, "group"), "sorted", func(kv levada.KV[string, levada.Values[int]]) string {
			twice := append(slices.Collect(kv.Value.All()), slices.Collect(kv.Value.All())...)
			slices.Sort(twice)
			return fmt.Sprint(kv.Key, kv.Value.Len(), twice)
		}))
		counts := levadatest.Collect(h, levada.CountPerKey(w, "count"))
		sums := levadatest.Collect(h, levada.SumPerKey(w, "sum"))
		means := levadatest.Collect(h, levada.CombinePerKey(w, "mean", combine.Mean[int]()))
		all := levadatest.Collect(h, levada.CombineGlobally(w, "all", combine.Count[levada.KV[string, int]]()))
		for i, kv := range []levada.KV[string, int]{{Key: "a", Value: 1}, {Key: "b", Value: 2}, {Key: "a", Value: 3}} {
			src.Add(event.Time(i), kv)
		}
		src.Watermark(10)
		in := fixed(0, 10)
		want(t, grouped, at("a2 [1 1 3 3]", 9, in, firstLast), at("b1 [2 2]", 9, in, firstLast))
		want(t, counts, at(levada.KV[string, int64]{Key: "a", Value: 2}, 9, in, firstLast),
			at(levada.KV[string, int64]{Key: "b", Value: 1}, 9, in, firstLast))
		want(t, sums, at(levada.KV[string, int]{Key: "a", Value: 4}, 9, in, firstLast),
			at(levada.KV[string, int]{Key: "b", Value: 2}, 9, in, firstLast))
		want(t, means, at(levada.KV[string, float64]{Key: "a", Value: 2}, 9, in, firstLast),
			at(levada.KV[string, float64]{Key: "b", Value: 2}, 9, in, firstLast))
		want(t, all, at(int64(3), 9, in, firstLast))
	})
}

// TestReshuffleAndFlatten shows that times, windows and panes survive both, also where inputs come from several stages.
func TestReshuffleAndFlatten(t *testing.T) {
	eachMode(t, func(t *testing.T, h *levadatest.Harness) {
		src := levadatest.Source[int](h, "src")
		w := levada.WindowInto(src.Out, "w", levada.Windowing{Windows: window.Sliding(10*time.Millisecond, 5*time.Millisecond)})
		counted := levada.Map(levada.CountPerKey(levada.KeyBy(w, "key", func(int) bool { return true }), "count"), "n",
			func(kv levada.KV[bool, int64]) int { return int(100 * kv.Value) })
		out := levadatest.Collect(h, levada.Reshuffle(levada.Flatten("flat", w, counted, w), "spread"))
		src.Add(7, 1)
		src.Watermark(10)
		one := func(w event.Window) element[int] { return at(1, 7, w, event.NoPane) }
		want(t, out, one(fixed(0, 10)), one(fixed(5, 15)), one(fixed(0, 10)), one(fixed(5, 15)),
			at(100, 9, fixed(0, 10), firstLast))
	})
}

func TestCreateAndImpulse(t *testing.T) {
	for _, mode := range modes {
		d := levadatest.NewDriver()
		plainValues := levadatest.Gather(levada.Create(d.Pipeline, "in", 1, 2), "a")
		timed := levadatest.Gather(levada.CreateTimed(d.Pipeline, "timed", levada.Timed[string]{Value: "x", Time: 7}), "b")
		impulse := levadatest.Gather(levada.Impulse(d.Pipeline, "impulse"), "c")
		r, err := d.Pipeline.Run(t.Context(), mode)
		if err != nil {
			t.Fatal(err)
		}
		want(t, plainValues, plain(1, event.Min), plain(2, event.Min))
		want(t, timed, plain("x", 7))
		want(t, impulse, plain([]byte{}, event.Min))
		for _, s := range r.Steps {
			if s.Out != event.Max {
				t.Errorf("%s ends at %v", s.Name, s.Out)
			}
		}
	}
}

// TestManyKeys shows that every key is in one task, whatever the parallelism, and that nothing is lost in full batches.
func TestManyKeys(t *testing.T) {
	for _, mode := range modes {
		d := levadatest.NewDriver()
		const keys, each = 997, 20
		in := levada.Create(d.Pipeline, "in", ints(keys*each)...)
		sums := levadatest.Gather(levada.CountPerKey(levada.KeyBy(levada.Reshuffle(in, "spread"), "key", func(v int) int { return v % keys }), "count"), "out")
		if _, err := d.Pipeline.Run(t.Context(), mode); err != nil {
			t.Fatal(err)
		}
		got := sums.Take()
		slices.SortFunc(got, func(a, b element[levada.KV[int, int64]]) int { return cmp.Compare(a.Value.Key, b.Value.Key) })
		if len(got) != keys {
			t.Fatalf("%+v: %d results", mode, len(got))
		}
		for i, e := range got {
			if e.Value.Key != i || e.Value.Value != each {
				t.Fatalf("%+v: %v", mode, e)
			}
		}
	}
}

func TestFingerprint(t *testing.T) {
	build := func(name string) uint64 {
		p := levada.New()
		levada.Map(levada.Create(p, "in", 1), name, id[int])
		return p.Fingerprint()
	}
	if first, again := build("a"), build("a"); first != again || first == build("b") {
		t.Error("the fingerprint does not follow the names")
	}
}
