package levada_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/engine"
	"github.com/levadaflow/levada/levadatest"
	"github.com/levadaflow/levada/source"
	"github.com/levadaflow/levada/window"
	"pgregory.net/rapid"
)

type (
	offsets = source.OffsetRange
	claim   = levada.Claim[offsets, int64]
	numbers = levada.ProcessSplit[int64, offsets, int64]
)

// upTo are the offsets below an element.
func upTo() source.Restrictions[int64, offsets, int64] {
	return source.OffsetRanges(func(_ context.Context, n int64) (offsets, error) { return offsets{From: 0, To: n}, nil })
}

// each emits "element/offset" for every offset.
func each(_ *levada.Splitting, out *levada.Out[string]) numbers {
	return func(c *levada.Ctx, n int64, claim *claim) (levada.Resume, error) {
		for i := claim.Restriction().From; claim.TryClaim(i); i++ {
			out.Emit(c, fmt.Sprint(n, "/", i))
		}
		return levada.Done, nil
	}
}

// gathered are texts from all tasks.
type gathered struct {
	mu  sync.Mutex
	all []string
}

func (g *gathered) into(in levada.PCollection[string]) {
	levada.Do(in, "gather", func(_ *levada.Ctx, s string) error {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.all = append(g.all, s)
		return nil
	})
}

func (g *gathered) sorted() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	slices.Sort(g.all)
	return g.all
}

// TestSplitsOnce splits and gives back restrictions at random points: each offset comes once, whatever the parallelism.
func TestSplitsOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sizes := rapid.SliceOfN(rapid.Int64Range(0, 200), 0, 5).Draw(rt, "sizes")
		seed := rapid.Uint64().Draw(rt, "seed")
		fresh := rapid.IntRange(0, 3).Draw(rt, "fresh") // how many each is divided into at first
		var mu sync.Mutex
		r := rand.New(rand.NewPCG(seed, 1))
		ranges := upTo()
		if fresh > 0 {
			ranges.Split = func(_ context.Context, _ int64, all offsets) (parts []offsets, err error) {
				for i := range int64(fresh) {
					parts = append(parts, offsets{From: all.To * i / int64(fresh), To: all.To * (i + 1) / int64(fresh)})
				}
				return parts, nil
			}
		}
		p := levada.New()
		var got gathered
		got.into(levada.ParDoSplit(levada.Create(p, "sizes", sizes...), "read", ranges, each))
		g, err := p.Build()
		if err != nil {
			rt.Fatal(err)
		}
		j, err := engine.Start(t.Context(), g, engine.Options{
			Parallelism: rapid.IntRange(1, 4).Draw(rt, "parallelism"), MaxBundle: rapid.IntRange(0, 3).Draw(rt, "bundle"),
			Share: func() int {
				mu.Lock()
				defer mu.Unlock()
				return max(0, r.IntN(6)-3)
			},
		})
		if err != nil {
			rt.Fatal(err)
		}
		if err := j.Wait(); err != nil {
			rt.Fatal(err)
		}
		var want []string
		for _, n := range sizes {
			for i := range n {
				want = append(want, fmt.Sprint(n, "/", i))
			}
		}
		slices.Sort(want)
		if all := got.sorted(); !slices.Equal(all, want) {
			rt.Fatalf("%d elements, want %d", len(all), len(want))
		}
	})
}

// unbounded are the offsets from 0, without an end.
func unbounded() source.Restrictions[[]byte, offsets, int64] {
	r := source.OffsetRanges(func(context.Context, []byte) (offsets, error) { return offsets{To: 1 << 40}, nil })
	r.Unbounded = true
	return r
}

type polling = levada.ProcessSplit[[]byte, offsets, int64]

// TestResumeDelay shows that a source is called again when its delay has passed, and not before.
func TestResumeDelay(t *testing.T) {
	for _, parallelism := range []int{1, 4} {
		h := levadatest.New(t)
		h.Run.Parallelism = parallelism
		calls := 0
		levada.ParDoSplit(levada.Impulse(h.Pipeline, "impulse"), "poll", unbounded(), func(*levada.Splitting, *levada.Out[string]) polling {
			return func(*levada.Ctx, []byte, *claim) (levada.Resume, error) {
				calls++
				return levada.ResumeAfter(3 * time.Second), nil
			}
		})
		h.Start()
		for range 9 {
			h.Clock(time.Second)
		}
		if calls != 4 {
			t.Errorf("parallelism %d: %d calls in 9 s, want 4", parallelism, calls)
		}
	}
}

// TestSplitMisuse shows what a DoFn must not do, and that the error names step and restriction.
func TestSplitMisuse(t *testing.T) {
	var kept *claim
	for _, c := range []struct {
		name, text string
		err        error
		fn         func(c *levada.Ctx, n int64, claim *claim) (levada.Resume, error)
	}{
		{"going back", "[0, 10)", source.ErrClaimOrder, func(_ *levada.Ctx, _ int64, claim *claim) (levada.Resume, error) {
			claim.TryClaim(5)
			claim.TryClaim(5)
			return levada.Done, nil
		}},
		{"before the beginning", "[0, 10)", source.ErrClaimOrder, func(_ *levada.Ctx, _ int64, claim *claim) (levada.Resume, error) {
			claim.TryClaim(-1)
			return levada.Done, nil
		}},
		{"work left", "[6, 10)", levada.ErrUnclaimed, func(_ *levada.Ctx, _ int64, claim *claim) (levada.Resume, error) {
			claim.TryClaim(5)
			return levada.Done, nil
		}},
		{"work left, as the tracker says", "[0, 10)", source.ErrUnclaimed, func(*levada.Ctx, int64, *claim) (levada.Resume, error) {
			return levada.Done, nil
		}},
		{"use after the call", "[0, 10)", levada.ErrUseAfter, func(_ *levada.Ctx, n int64, claim *claim) (levada.Resume, error) {
			if kept != nil {
				kept.TryClaim(9)
			}
			kept = claim
			return levada.Done, errors.Join(claimAll(claim))
		}},
		{"spinning", "[0, 10)", levada.ErrSpinning, func(*levada.Ctx, int64, *claim) (levada.Resume, error) {
			return levada.ResumeAfter(0), nil
		}},
		{"an error", "[0, 10)", errBoom, func(*levada.Ctx, int64, *claim) (levada.Resume, error) { return levada.Done, errBoom }},
		{"a panic", "[0, 10)", errBoom, func(*levada.Ctx, int64, *claim) (levada.Resume, error) { panic(errBoom) }},
	} {
		p := levada.New()
		ranges := upTo()
		levada.ParDoSplit(levada.Create[int64](p, "in", 10, 10), "read", ranges, func(*levada.Splitting, *levada.Out[string]) numbers { return c.fn })
		_, err := p.Run(t.Context(), levada.Embedded{Parallelism: 1})
		if !errors.Is(err, c.err) || !strings.Contains(err.Error(), "step read") || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

var errBoom = errors.New("boom")

func claimAll(c *claim) error {
	for i := c.Restriction().From; c.TryClaim(i); i++ {
	}
	return nil
}

// TestSplitSetup shows what is refused while building.
func TestSplitSetup(t *testing.T) {
	type splitting = levada.Splitting
	for name, fn := range map[string]func(s *splitting){
		"two estimators":        func(s *splitting) { levada.ManualWatermark(s); levada.WallTimeWatermark(s) },
		"negative disorder":     func(s *splitting) { levada.BoundedWatermark(s, -1, 0) },
		"negative future":       func(s *splitting) { levada.BoundedWatermark(s, 0, -5) },
		"an idle time of 0":     func(s *splitting) { levada.MonotonicWatermark(s, levada.IdleAfter(0)) },
		"use while declaring":   func(s *splitting) { levada.ManualWatermark(s).Advance(1) },
		"idle, while declaring": func(s *splitting) { levada.WallTimeWatermark(s).Idle() },
	} {
		p := levada.New()
		levada.ParDoSplit(levada.Create[int64](p, "in", 1), "read", upTo(), func(s *splitting, out *levada.Out[string]) numbers {
			fn(s)
			return each(s, out)
		})
		if err := p.Err(); !errors.Is(err, levada.ErrBadRestrictions) && !errors.Is(err, levada.ErrDeclaring) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p := levada.New()
	levada.ParDoSplit(levada.Create[int64](p, "in", 1), "read", source.Restrictions[int64, offsets, int64]{}, each)
	levada.ParDoSplit(levada.Create[int64](p, "in2", 1), "read2", upTo(), each, levada.MaxDrift(-1))
	if err := p.Err(); !errors.Is(err, levada.ErrBadRestrictions) || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("no functions, and a negative drift: %v", err)
	}
}

// feed is an unbounded source with a restriction for each topic, whose calls are steered by the test.
type feed struct {
	*levadatest.Harness
	t     *testing.T
	calls map[string]func(out func(v string, at event.Time), wm *levada.ManualMark)
	out   *levadatest.Collected[string]
}

// newFeed returns one with an estimator, which is called again every second.
func newFeed(t *testing.T, parallelism int, opts []levada.EstimatorOption, topics []string, split ...levada.SplitOption) *feed {
	h := levadatest.New(t)
	h.Run.Parallelism = parallelism
	f := &feed{Harness: h, t: t, calls: map[string]func(func(string, event.Time), *levada.ManualMark){}}
	in := levada.Create(h.Pipeline, "topics", topics...)
	ranges := source.OffsetRanges(func(context.Context, string) (offsets, error) { return offsets{To: 1 << 40}, nil })
	ranges.Unbounded = true
	type process = levada.ProcessSplit[string, offsets, int64]
	var mu sync.Mutex
	out := levada.ParDoSplit(in, "feed", ranges, func(s *levada.Splitting, out *levada.Out[string]) process {
		wm := levada.ManualWatermark(s, opts...)
		return func(c *levada.Ctx, topic string, claim *claim) (levada.Resume, error) {
			mu.Lock()
			defer mu.Unlock()
			next := claim.Restriction().From
			if call := f.calls[topic]; call != nil {
				delete(f.calls, topic)
				call(func(v string, at event.Time) {
					if claim.TryClaim(next) {
						out.EmitAt(c, v, at)
					}
					next++
				}, wm)
			}
			return levada.ResumeAfter(time.Second), nil
		}
	}, split...)
	f.out = levadatest.Collect(h, out)
	h.Start()
	return f
}

// mark is the watermark of the feed.
func (f *feed) mark(when string, want event.Time) {
	f.t.Helper()
	for _, s := range f.Result().Steps {
		if s.Name == "feed" && s.Out != want {
			f.t.Errorf("%s: %v, want %v", when, s.Out, want)
		}
	}
}

// TestIdleRestrictions shows that a restriction stops holding the watermark when it is idle, and holds it again when it is not.
func TestIdleRestrictions(t *testing.T) {
	for _, parallelism := range []int{1, 3} {
		for _, said := range []bool{true, false} {
			var opts []levada.EstimatorOption
			if !said {
				opts = append(opts, levada.IdleAfter(3*time.Second))
			}
			f := newFeed(t, parallelism, opts, []string{"busy", "quiet"})
			f.calls["busy"] = func(emit func(string, event.Time), wm *levada.ManualMark) { emit("a", 100); wm.Advance(100) }
			f.Clock(time.Second)
			f.mark("the quiet one has said nothing", event.Min)
			f.calls["quiet"] = func(emit func(string, event.Time), wm *levada.ManualMark) { emit("b", 50); wm.Advance(50) }
			f.Clock(time.Second)
			f.mark("both hold", 50)
			if said {
				f.calls["quiet"] = func(_ func(string, event.Time), wm *levada.ManualMark) { wm.Idle() }
			}
			for range 3 {
				f.calls["busy"] = func(emit func(string, event.Time), wm *levada.ManualMark) { emit("c", 110); wm.Advance(100) }
				f.Clock(time.Second)
			}
			f.mark("the quiet one is idle", 100)
			f.calls["busy"] = func(emit func(string, event.Time), wm *levada.ManualMark) { emit("d", 200); wm.Advance(200) }
			f.Clock(time.Second)
			f.mark("and does not hold", 200)
			f.calls["quiet"] = func(emit func(string, event.Time), wm *levada.ManualMark) { emit("e", 210); wm.Advance(205) }
			f.Clock(time.Second)
			f.calls["busy"] = func(emit func(string, event.Time), wm *levada.ManualMark) { emit("f", 300); wm.Advance(300) }
			f.Clock(time.Second)
			f.mark("it is back", 205)
			for i := range 8 { // said: the one after the other
				idle := func(_ func(string, event.Time), wm *levada.ManualMark) { wm.Idle() }
				if f.calls["quiet"] = idle; i > 4 {
					f.calls["busy"] = idle
				} else {
					f.calls["busy"] = func(emit func(string, event.Time), wm *levada.ManualMark) { emit("g", 300) }
				}
				f.Clock(time.Second)
			}
			f.mark("all are idle: never Max", 300)
		}
	}
}

// TestMaxDrift shows that a restriction which is far ahead waits for the slowest.
func TestMaxDrift(t *testing.T) {
	for _, parallelism := range []int{1, 3} {
		f := newFeed(t, parallelism, nil, []string{"slow", "fast"}, levada.MaxDrift(100*time.Millisecond))
		both := func(emit func(string, event.Time), wm *levada.ManualMark) { wm.Advance(1000) }
		f.calls["slow"], f.calls["fast"] = both, both
		f.Clock(time.Second)
		f.mark("both are there", 1000)
		f.calls["fast"] = func(emit func(string, event.Time), wm *levada.ManualMark) { emit("x", 1200); wm.Advance(1200) }
		f.Clock(time.Second)
		called := false
		f.calls["fast"] = func(func(string, event.Time), *levada.ManualMark) { called = true }
		f.Clock(time.Second)
		f.Clock(time.Second)
		if called {
			t.Errorf("parallelism %d: the fast one goes on", parallelism)
		}
		f.calls["slow"] = func(_ func(string, event.Time), wm *levada.ManualMark) { wm.Advance(1150) }
		f.Clock(time.Second)
		f.Clock(time.Second)
		if !called {
			t.Errorf("parallelism %d: the fast one still waits", parallelism)
		}
	}
}

// TestNoRestrictions shows that an element with nothing to do does not hold the watermark.
func TestNoRestrictions(t *testing.T) {
	h := levadatest.New(t)
	ranges := upTo()
	ranges.Split = func(context.Context, int64, offsets) ([]offsets, error) { return nil, nil }
	levada.ParDoSplit(levada.Create[int64](h.Pipeline, "in", 10), "read", ranges, each)
	h.Start()
	if s := h.Result().Steps[1]; s.Out != event.Max {
		t.Errorf("the watermark is at %v", s.Out)
	}
}

// TestSplitWindows shows that a restriction is processed in each window, and that outputs keep window and time.
func TestSplitWindows(t *testing.T) {
	h := levadatest.New(t)
	src := levadatest.Source[int64](h, "src")
	w := levada.WindowInto(src.Out, "w", levada.Windowing{Windows: window.Sliding(20*time.Millisecond, 10*time.Millisecond)})
	got := levadatest.Collect(h, levada.ParDoSplit(w, "read", upTo(), each))
	src.Add(15, 2)
	var all []string
	for _, e := range got.Take() {
		all = append(all, fmt.Sprint(e.Value, "@", e.Time.Millis(), " ", e.Window.Start.Millis()))
	}
	slices.Sort(all)
	if want := []string{"2/0@15 0", "2/0@15 10", "2/1@15 0", "2/1@15 10"}; !slices.Equal(all, want) {
		t.Errorf("%q, want %q", all, want)
	}
	src.Watermark(20)
	if s := h.Result().Steps[2]; s.Out != 20 {
		t.Errorf("the watermark is at %v", s.Out)
	}
}

// TestOneWrongClock shows that an output far in the future does not make the rest late.
func TestOneWrongClock(t *testing.T) {
	h := levadatest.New(t)
	times := []event.Time{1000, 2000, 1 << 40, 3000, 2500}
	ranges := upTo()
	out := levada.ParDoSplit(levada.Create[int64](h.Pipeline, "in", int64(len(times))), "read", ranges,
		func(s *levada.Splitting, out *levada.Out[string]) numbers {
			levada.BoundedWatermark(s, time.Second, time.Minute)
			return func(c *levada.Ctx, _ int64, claim *claim) (levada.Resume, error) {
				i := claim.Restriction().From
				if claim.TryClaim(i) {
					out.EmitAt(c, fmt.Sprint(i), times[i])
				}
				return levada.ResumeAfter(time.Second), nil
			}
		})
	got := levadatest.Collect(h, out)
	h.Start()
	for range times {
		h.Clock(time.Second)
	}
	r := h.Result()
	if n := r.Counter("read", "emitted_late"); n != 0 || len(got.Take()) != len(times) || r.Counter("read", "ignored_future") != 1 {
		t.Errorf("%d are late; %d were ignored", n, r.Counter("read", "ignored_future"))
	}
	h.Finish()
}

// TestCancelAndDrainWhileBlocked shows that a source which waits ends promptly, in both ways.
func TestCancelAndDrainWhileBlocked(t *testing.T) {
	for _, drain := range []bool{false, true} {
		for _, parallelism := range []int{1, 2} {
			ctx, cancel := context.WithCancel(t.Context())
			p := levada.New()
			draining := make(chan struct{})
			var got gathered
			var saw bool
			out := levada.ParDoSplit(levada.Impulse(p, "impulse"), "tail", unbounded(), func(_ *levada.Splitting, out *levada.Out[string]) polling {
				return func(c *levada.Ctx, _ []byte, claim *claim) (levada.Resume, error) {
					claim.TryClaim(0)
					out.Emit(c, "first")
					err := claim.Block(func(ctx context.Context) error {
						if drain {
							close(draining)
						} else {
							cancel()
						}
						<-ctx.Done()
						return ctx.Err()
					})
					saw = c.Draining()
					return levada.Done, err
				}
			})
			got.into(out)
			began := time.Now()
			_, err := p.Run(ctx, levada.Embedded{Parallelism: parallelism, Drain: draining})
			switch {
			case time.Since(began) > 3*time.Second:
				t.Errorf("it took %v", time.Since(began))
			case drain && (err != nil || !saw || len(got.sorted()) != 1):
				t.Errorf("drain: %v, Draining() = %v, %q", err, saw, got.all)
			case !drain && !errors.Is(err, context.Canceled):
				t.Errorf("cancel: %v", err)
			}
			cancel()
		}
	}
}

// TestResumeOnTheMachineClock shows parked restrictions in a run that goes on, and that tasks take over from each other.
func TestResumeOnTheMachineClock(t *testing.T) {
	for _, parallelism := range []int{1, 3} {
		p := levada.New()
		began := time.Now()
		var got gathered
		got.into(levada.ParDoSplit(levada.Create[int64](p, "in", 4, 3), "read", upTo(), func(_ *levada.Splitting, out *levada.Out[string]) numbers {
			return func(c *levada.Ctx, n int64, claim *claim) (levada.Resume, error) {
				if i := claim.Restriction().From; claim.TryClaim(i) {
					out.Emit(c, fmt.Sprint(n, "/", i))
				}
				return levada.ResumeAfter(20 * time.Millisecond), nil
			}
		}))
		_, err := p.Run(t.Context(), levada.Embedded{Parallelism: parallelism})
		least := 59 * time.Millisecond
		if parallelism > 1 {
			least = 19 * time.Millisecond // other tasks may take a half
		}
		if took := time.Since(began); err != nil || len(got.sorted()) != 7 || took < least || took > 3*time.Second {
			t.Errorf("%d elements in %v, %v", len(got.all), took, err)
		}
	}
}

// TestSlices shows that restrictions take turns where there are more of them than tasks: none waits for the end of another.
func TestSlices(t *testing.T) {
	p := levada.New()
	var order []int64
	out := levada.ParDoSplit(levada.Create[int64](p, "in", 50_001, 50_002), "read", upTo(), func(_ *levada.Splitting, out *levada.Out[int64]) numbers {
		return func(c *levada.Ctx, n int64, claim *claim) (levada.Resume, error) {
			for i := claim.Restriction().From; claim.TryClaim(i); i++ {
				out.Emit(c, n)
			}
			return levada.Done, nil
		}
	})
	levada.Do(out, "gather", func(_ *levada.Ctx, n int64) error {
		order = append(order, n)
		return nil
	})
	if _, err := p.Run(t.Context(), levada.Embedded{Parallelism: 1}); err != nil {
		t.Fatal(err)
	}
	turns := 1
	for i := range order[1:] {
		if order[i] != order[i+1] {
			turns++
		}
	}
	if len(order) != 100_003 || turns < 6 {
		t.Errorf("%d elements in %d turns", len(order), turns)
	}
}

// TestTruncate shows what a drain leaves of restrictions: nothing of those without an end, all of the others, or what their function says.
func TestTruncate(t *testing.T) {
	for name, c := range map[string]struct {
		unbounded bool
		truncate  func(int64, offsets) (offsets, bool)
		want      int
	}{
		"bounded":   {false, nil, 100},
		"unbounded": {true, nil, 1},
		"a part": {true, func(_ int64, r offsets) (offsets, bool) {
			r.To = min(r.To, 10)
			return r, true
		}, 10},
	} {
		for _, parallelism := range []int{1, 3} {
			h := levadatest.New(t)
			h.Run.Parallelism = parallelism
			ranges := upTo()
			ranges.Unbounded, ranges.Truncate = c.unbounded, c.truncate
			got := levadatest.Collect(h, levada.ParDoSplit(levada.Create[int64](h.Pipeline, "in", 100), "read", ranges,
				func(_ *levada.Splitting, out *levada.Out[string]) numbers {
					return func(c *levada.Ctx, _ int64, claim *claim) (levada.Resume, error) {
						if i := claim.Restriction().From; claim.TryClaim(i) {
							out.Emit(c, fmt.Sprint(i))
						}
						if c.Draining() {
							return levada.ResumeAfter(0), nil
						}
						return levada.ResumeAfter(time.Hour), nil
					}
				}))
			h.Start()
			if err := h.Drain(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if n := len(got.Take()); n != c.want {
				t.Errorf("%s, parallelism %d: %d elements, want %d", name, parallelism, n, c.want)
			}
		}
	}
}
