package levada_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/engine"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/levadatest"
	"github.com/levadaflow/levada/trigger"
	"github.com/levadaflow/levada/window"
)

// service is something to call. It knows how many calls it had at once.
type service struct{ now, most, calls atomic.Int64 }

// call takes d.
func (s *service) call(ctx context.Context, d time.Duration) error {
	defer s.now.Add(-1)
	s.calls.Add(1)
	for n := s.now.Add(1); ; {
		if most := s.most.Load(); n <= most || s.most.CompareAndSwap(most, n) {
			break
		}
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestConcurrentRate shows that n calls at once take as long as one, that Max is for all tasks together, and that no time is lost
// between calls.
func TestConcurrentRate(t *testing.T) {
	for _, most := range []int{1, 3, 64} {
		for _, mode := range modes {
			for _, ordered := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					const n = 192
					var s service
					p := levada.New()
					in := levada.Reshuffle(levada.Create(p, "in", ints(n)...), "spread")
					levada.MapConcurrent(in, "call", levada.Concurrent{Max: most, Ordered: ordered}, func(ctx context.Context, v int) (int, error) {
						return v, s.call(ctx, 50*time.Millisecond)
					})
					began := time.Now()
					if _, err := p.Run(t.Context(), mode); err != nil {
						t.Fatal(err)
					}
					if took, want := time.Since(began), 50*time.Millisecond*n/time.Duration(most); took != want || s.most.Load() != int64(most) {
						t.Errorf("%+v: %d calls, %d at once, took %v, want %v", mode, s.calls.Load(), s.most.Load(), took, want)
					}
				})
			}
		}
	}
}

// TestConcurrentRealTime is the same for one task in real time, with room for a slow machine.
func TestConcurrentRealTime(t *testing.T) {
	var s service
	p := levada.New()
	levada.MapConcurrent(levada.Create(p, "in", ints(64)...), "call", levada.Concurrent{Max: 64},
		func(ctx context.Context, v int) (int, error) { return v, s.call(ctx, 50*time.Millisecond) })
	began := time.Now()
	_, err := p.Run(t.Context(), levada.Embedded{Parallelism: 1})
	if took := time.Since(began); err != nil || took > 500*time.Millisecond {
		t.Errorf("64 calls of 50 ms took %v, %v", took, err)
	}
}

// TestConcurrentOrder shows that results come as they are there, or in the order of the elements.
func TestConcurrentOrder(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		for _, most := range []int{3, 8} {
			synctest.Test(t, func(t *testing.T) {
				h := levadatest.NewDriver()
				h.Run = levada.Embedded{Parallelism: 1}
				in := levada.Create(h.Pipeline, "in", 80, 10, 35, 20, 70, 40)
				got := levadatest.Gather(levada.MapConcurrent(in, "sleep", levada.Concurrent{Max: most, Ordered: ordered},
					func(_ context.Context, v int) (int, error) {
						time.Sleep(time.Duration(v) * time.Millisecond)
						return v, nil
					}), "got")
				if err := h.Finish(); err != nil {
					t.Fatal(err)
				}
				h.Stop()
				want := []int{10, 20, 35, 40, 70, 80}
				if ordered {
					want = []int{80, 10, 35, 20, 70, 40}
				} else if most == 3 { // 20 begins when 10 ends, 70 when that ends, 40 after 35
					want = []int{10, 20, 35, 40, 80, 70}
				}
				var all []int
				for _, e := range got.Take() {
					all = append(all, e.Value)
				}
				if !slices.Equal(all, want) {
					t.Errorf("ordered %v, %d at once: %v, want %v", ordered, most, all, want)
				}
			})
		}
	}
}

// TestConcurrentBounded shows that behind a slow call no more than Max elements are kept in order.
func TestConcurrentBounded(t *testing.T) {
	for _, mode := range modes {
		synctest.Test(t, func(t *testing.T) {
			const most = 3
			p := levada.New()
			var begun, atEnd atomic.Int64
			levada.MapConcurrent(levada.Create(p, "in", ints(100)...), "call", levada.Concurrent{Max: most, Ordered: true},
				func(_ context.Context, v int) (int, error) {
					if begun.Add(1); v == 0 {
						time.Sleep(time.Second)
						atEnd.Store(begun.Load())
					}
					return v, nil
				})
			if _, err := p.Run(t.Context(), mode); err != nil || atEnd.Load() != most || begun.Load() != 100 {
				t.Errorf("%+v: %d of %d calls began before the first returned, %v", mode, atEnd.Load(), begun.Load(), err)
			}
		})
	}
}

// TestConcurrentIsMap runs random programs whose calls take random times: values, times, windows and panes are those of Map, in the same
// order if that is wanted, and what comes behind a grouping is the same too.
func TestConcurrentIsMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		c := levada.Concurrent{Max: rapid.IntRange(1, 6).Draw(rt, "max"), Ordered: rapid.Bool().Draw(rt, "ordered")}
		h := levadatest.NewDriver()
		defer h.Stop()
		h.Run = rapid.SampledFrom(modes).Draw(rt, "mode")
		src := levadatest.AddScript[string](h, "src")
		in := levada.WindowInto(src.Out, "sliding", levada.Windowing{
			Windows: window.Sliding(20*time.Millisecond, 10*time.Millisecond), AllowedLateness: 10 * time.Millisecond,
			Trigger: trigger.AfterWatermark{Early: trigger.AfterCount(2), Late: trigger.AfterCount(1)}, Accumulation: levada.Accumulating,
		})
		panes := levada.CountPerKey(levada.KeyBy(in, "key", id[string]), "panes")
		slow := func(_ context.Context, v string) (string, error) {
			time.Sleep(time.Duration(rand.New(rand.NewPCG(seed, uint64(len(v)))).IntN(300)) * time.Microsecond)
			return strings.ToUpper(v), nil
		}
		want := map[string]*levadatest.Collected[string]{}
		got := map[string]*levadatest.Collected[string]{}
		for name, in := range map[string]levada.PCollection[string]{"in": in, "panes": levada.Map(panes, "text", keyText)} {
			mapped := levada.Map(in, name+"-map", strings.ToUpper)
			called := levada.MapConcurrent(in, name+"-call", c, slow)
			want[name], got[name] = levadatest.Gather(mapped, name+"-mapped"), levadatest.Gather(called, name+"-called")
			for which, out := range map[string]levada.PCollection[string]{"mapped": mapped, "called": called} {
				counts := levada.Map(levada.CountPerKey(levada.KeyBy(out, name+which+"-key", id[string]), name+which+"-count"), name+which+"-text", keyText)
				if which == "mapped" {
					want[name+"-counts"] = levadatest.Gather(counts, name+"-want")
				} else {
					got[name+"-counts"] = levadatest.Gather(counts, name+"-got")
				}
			}
		}
		do := func(err error) {
			if err != nil {
				rt.Fatal(err)
			}
		}
		for range rapid.IntRange(1, 8).Draw(rt, "n") {
			at := event.Time(rapid.IntRange(0, 60).Draw(rt, "at"))
			if rapid.IntRange(0, 2).Draw(rt, "what") == 0 {
				do(src.Watermark(at))
			} else {
				do(src.Add(at, strings.Repeat("x", rapid.IntRange(1, 3).Draw(rt, "value"))))
			}
			compareAll(rt, want, got, c.Ordered && h.Run.Parallelism == 1)
		}
		do(h.Finish())
		compareAll(rt, want, got, c.Ordered && h.Run.Parallelism == 1)
	})
}

func keyText(kv levada.KV[string, int64]) string { return kv.String() }

// compareAll compares what collections have got since the last time.
func compareAll(rt *rapid.T, want, got map[string]*levadatest.Collected[string], ordered bool) {
	text := func(c *levadatest.Collected[string], sorted bool) []string {
		var all []string
		for _, e := range c.Take() {
			all = append(all, fmt.Sprintf("%+v", e))
		}
		if sorted {
			slices.Sort(all)
		}
		return all
	}
	for name := range want {
		sorted := !ordered || strings.HasSuffix(name, "-counts")
		w, g := text(want[name], sorted), text(got[name], sorted)
		if !slices.Equal(w, g) {
			rt.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(g, "\n"), strings.Join(w, "\n"))
		}
	}
}

// tail is an unbounded source that emits what it is given at once, with a watermark that follows closely, and then waits. Its parts go to
// different tasks.
func tail(p *levada.Pipeline, name string, parts int, read func(r *exec.Reading[int], part int) error) levada.PCollection[int] {
	src := exec.Source[int]{
		List: func(context.Context) ([]exec.Split, error) {
			var all []exec.Split
			for i := range parts {
				all = append(all, exec.Split{Name: fmt.Sprint(i), Mark: event.Min, Value: i})
			}
			return all, nil
		},
		Read: func(r *exec.Reading[int], s exec.Split) error { return read(r, s.Value.(int)) },
	}
	return levada.RootOf[int](p, name, src.Op(), true)
}

// wait is for the end of a tail's read: until the run ends, or the source is closed.
func wait(closed <-chan struct{}) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-ctx.Done():
		case <-closed:
		}
		return nil
	}
}

// TestConcurrentNothingLate runs calls of random lengths under a watermark that is at each element as soon as it has come: all are
// counted in their windows, on time.
func TestConcurrentNothingLate(t *testing.T) {
	for _, mode := range modes {
		synctest.Test(t, func(t *testing.T) {
			const n, parts = 150, 3
			p := levada.New()
			in := tail(p, "tail", parts, func(r *exec.Reading[int], part int) error {
				for i := range n {
					at := event.Time(i*100 + part)
					r.Emit(i, at, 0)
					r.Advance(at + 1)
					if i%10 == 9 { // the watermark is passed on while calls are in flight
						if err := r.Block(func(context.Context) error { time.Sleep(time.Millisecond); return nil }); err != nil {
							return err
						}
					}
				}
				return nil
			})
			random := rand.New(rand.NewPCG(1, 2))
			var mu sync.Mutex
			called := levada.MapConcurrent(in, "call", levada.Concurrent{Max: 8}, func(_ context.Context, v int) (int, error) {
				mu.Lock()
				d := time.Duration(random.IntN(20_000)) * time.Microsecond
				mu.Unlock()
				time.Sleep(d)
				return v, nil
			})
			w := levada.WindowInto(called, "w", levada.Windowing{Windows: window.Fixed(time.Second)})
			var panes, total atomic.Int64
			levada.Do(levada.CountPerKey(levada.KeyBy(w, "key", func(int) int { return 0 }), "count"), "sum",
				func(c *levada.Ctx, kv levada.KV[int, int64]) error {
					if c.Pane().Timing != event.OnTime || kv.Value != 10*parts {
						return fmt.Errorf("%v of %v in %v", kv, c.Pane(), c.Window())
					}
					panes.Add(1)
					total.Add(kv.Value)
					return nil
				})
			r, err := p.Run(t.Context(), mode)
			if err != nil || panes.Load() != n/10 || total.Load() != n*parts {
				t.Errorf("%+v: %d panes of %d elements, %v", mode, panes.Load(), total.Load(), err)
			}
			if late := r.Counter("count", "dropped_late") + r.Counter("call", "emitted_late"); late != 0 {
				t.Errorf("%+v: %d are late", mode, late)
			}
		})
	}
}

// TestConcurrentHolds looks at a run in which the source waits and a call is in flight: the element holds the watermark, and when the
// call returns its result and the watermark go on although the source still waits.
func TestConcurrentHolds(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		for _, mode := range modes {
			synctest.Test(t, func(t *testing.T) {
				p := levada.New()
				closed, release := make(chan struct{}), make(chan struct{})
				in := tail(p, "tail", 1, func(r *exec.Reading[int], _ int) error {
					for _, at := range []event.Time{2000, 1000, 3000} {
						r.Emit(int(at), at, 0)
					}
					r.Advance(20_000)
					return r.Block(wait(closed))
				})
				called := levada.MapConcurrent(in, "call", levada.Concurrent{Max: 8, Ordered: ordered}, func(_ context.Context, v int) (int, error) {
					if v == 1000 {
						<-release
					}
					return v, nil
				})
				w := levada.WindowInto(called, "w", levada.Windowing{Windows: window.Fixed(10 * time.Second)})
				var seen atomic.Int64
				levada.Do(levada.CountPerKey(levada.KeyBy(w, "key", func(int) int { return 0 }), "count"), "out",
					func(_ *levada.Ctx, kv levada.KV[int, int64]) error { seen.Add(kv.Value); return nil })
				g, err := p.Build()
				if err != nil {
					t.Fatal(err)
				}
				j, err := engine.Start(t.Context(), g, engine.Options{
					Parallelism: mode.Parallelism, MaxBundle: mode.MaxBundle, General: mode.GeneralPath, Unfused: mode.Unfused,
				})
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				synctest.Wait()
				for _, s := range j.Steps() {
					if s.Name == "call" && (s.In != 20_000 || s.Out != 1000 || s.Held == nil || *s.Held != (exec.Held{Kind: "call", Time: 1000}) || !s.Pending) {
						t.Errorf("%+v: call is at %v, %v, held by %v", mode, s.In, s.Out, s.Held)
					}
				}
				if seen.Load() != 0 {
					t.Errorf("%+v: a pane of %d before the call has returned", mode, seen.Load())
				}
				close(release)
				time.Sleep(time.Second)
				synctest.Wait()
				if seen.Load() != 3 {
					t.Errorf("%+v: a pane of %d after the call has returned", mode, seen.Load())
				}
				for _, s := range j.Steps() {
					if s.Name == "call" && (s.Out != 20_000 || s.Held != nil || s.Pending) {
						t.Errorf("%+v: call is at %v, held by %v", mode, s.Out, s.Held)
					}
				}
				close(closed)
				if err := j.Wait(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestConcurrentHoldsWhenIdle shows that a source which has become idle still holds the watermark of others at the elements of it that
// are in flight, and no longer than that.
func TestConcurrentHoldsWhenIdle(t *testing.T) {
	for _, parallelism := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			p := levada.New()
			closed, release := make(chan struct{}), make(chan struct{})
			quiet := levada.ParDoSplit(levada.Impulse(p, "impulse"), "quiet", unbounded(),
				func(s *levada.Splitting, out *levada.Out[string]) polling {
					wm := levada.ManualWatermark(s)
					return func(c *levada.Ctx, _ []byte, claim *claim) (levada.Resume, error) {
						if at := claim.Restriction().From; at == 0 && claim.TryClaim(0) {
							out.EmitAt(c, "x", 1000)
							wm.Advance(1000)
							return levada.ResumeAfter(time.Millisecond), nil
						}
						select {
						case <-closed:
							claim.TryClaim(1 << 62)
							return levada.Done, nil
						default:
						}
						wm.Idle()
						return levada.ResumeAfter(100 * time.Millisecond), nil
					}
				})
			called := levada.MapConcurrent(quiet, "call", levada.Concurrent{Max: 8}, func(_ context.Context, _ string) (int, error) {
				<-release
				return 1, nil
			})
			busy := tail(p, "busy", 1, func(r *exec.Reading[int], _ int) error {
				r.Emit(2, 2000, 0)
				r.Advance(20_000)
				return r.Block(wait(closed))
			})
			w := levada.WindowInto(levada.Flatten("both", called, busy), "w", levada.Windowing{Windows: window.Fixed(10 * time.Second)})
			var seen atomic.Int64
			levada.Do(levada.CountPerKey(levada.KeyBy(w, "key", func(int) int { return 0 }), "count"), "out",
				func(_ *levada.Ctx, kv levada.KV[int, int64]) error { seen.Store(10*seen.Load() + kv.Value); return nil })
			ended := make(chan error)
			go func() {
				_, err := p.Run(t.Context(), levada.Embedded{Parallelism: parallelism})
				ended <- err
			}()
			time.Sleep(time.Second)
			if n := seen.Load(); n != 0 {
				t.Errorf("parallelism %d: the window has ended while an element of it was in flight: %d", parallelism, n)
			}
			close(release)
			time.Sleep(time.Second)
			if n := seen.Load(); n != 2 {
				t.Errorf("parallelism %d: %d, want a pane of 2: the source is idle and nothing is in flight", parallelism, n)
			}
			close(closed)
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestConcurrentSendsOn shows that a task which waits for a call has sent on what it has, and that one which reads a batch lets what
// is due behind it happen.
func TestConcurrentSendsOn(t *testing.T) {
	t.Run("results", func(t *testing.T) {
		for _, parallelism := range []int{1, 2} {
			synctest.Test(t, func(t *testing.T) {
				const n = 50
				seen := make([]chan struct{}, n+1)
				for i := range seen {
					seen[i] = make(chan struct{})
				}
				close(seen[0])
				p := levada.New()
				in := levada.Create(p, "in", ints(n)...)
				called := levada.MapConcurrent(in, "call", levada.Concurrent{Max: 1}, func(ctx context.Context, v int) (int, error) {
					select {
					case <-seen[v]: // the one before has been seen by another task
						return v, nil
					case <-time.After(time.Minute):
						return v, errors.New("what has come before is kept back")
					}
				})
				levada.Do(levada.Reshuffle(called, "other"), "see", func(_ *levada.Ctx, v int) error { close(seen[v+1]); return nil })
				if _, err := p.Run(t.Context(), levada.Embedded{Parallelism: parallelism, Unfused: parallelism == 1}); err != nil {
					t.Error(err)
				}
			})
		}
	})
	t.Run("triggers", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := levada.New()
			both := levada.Flatten("both", levada.Create(p, "a", ints(40)...), levada.Create(p, "b", ints(40)...)) // a batch each
			called := levada.MapConcurrent(both, "call", levada.Concurrent{Max: 1}, func(_ context.Context, v int) (int, error) {
				time.Sleep(5 * time.Millisecond)
				return v, nil
			})
			w := levada.WindowInto(called, "w", levada.Windowing{
				Trigger: trigger.Repeat{Trigger: trigger.AfterDelay(20 * time.Millisecond)}, Accumulation: levada.Discarding,
			})
			panes := 0
			levada.Do(levada.CountPerKey(levada.KeyBy(w, "key", func(int) int { return 0 }), "count"), "out",
				func(*levada.Ctx, levada.KV[int, int64]) error { panes++; return nil })
			if _, err := p.Run(t.Context(), levada.Embedded{Parallelism: 1}); err != nil {
				t.Error(err)
			}
			if panes < 12 || panes > 22 {
				t.Errorf("%d panes in 400 ms, with one 20 ms after the first element of each", panes)
			}
		})
	})
}

// TestConcurrentRetries looks at the times of attempts, and what becomes of the last error.
func TestConcurrentRetries(t *testing.T) {
	no, never := errors.New("no"), errors.New("never")
	for _, c := range []struct {
		name    string
		c       levada.Concurrent
		fail    int           // so many attempts fail
		err     error         // with that
		hangs   time.Duration // an attempt waits for its context or that long
		at      []int         // when attempts begin, in ms
		failure string        // "" if it works in the end
	}{
		{name: "works", at: []int{0}},
		{name: "no retry", fail: 1, err: no, at: []int{0}, failure: "no"},
		{name: "works at last", c: levada.Concurrent{Retry: levada.Retry{Attempts: 4, Jitter: -1}}, fail: 3, err: no, at: []int{0, 100, 300, 700}},
		{name: "fails at last", c: levada.Concurrent{Retry: levada.Retry{Attempts: 3, Initial: time.Second, Longest: time.Second, Jitter: -1}},
			fail: 9, err: no, at: []int{0, 1000, 2000}, failure: "after 3 attempts: no"},
		{name: "not worth it", c: levada.Concurrent{Retry: levada.Retry{Attempts: 3, If: func(err error) bool { return !errors.Is(err, never) }}},
			fail: 9, err: never, at: []int{0}, failure: "never"},
		{name: "timeout", c: levada.Concurrent{Timeout: 30 * time.Millisecond, Retry: levada.Retry{Attempts: 2, Initial: 7 * time.Millisecond, Jitter: -1}},
			hangs: time.Hour, at: []int{0, 37}, failure: "after 2 attempts: timeout of 30ms: context deadline exceeded"},
		{name: "in time", c: levada.Concurrent{Timeout: 30 * time.Millisecond}, hangs: 29 * time.Millisecond, at: []int{0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.c.Max = 1
				began := time.Now()
				var at []int
				h := levadatest.NewDriver()
				src := levadatest.AddScript[string](h, "in")
				var failed levada.FailedOf[string]
				out := levada.MapConcurrent(src.Out, "call", c.c, func(ctx context.Context, v string) (string, error) {
					at = append(at, int(time.Since(began).Milliseconds()))
					if c.hangs > 0 {
						select {
						case <-ctx.Done():
							return "", ctx.Err()
						case <-time.After(c.hangs):
						}
					}
					if len(at) <= c.fail {
						return "", c.err
					}
					return v, nil
				}, levada.FailedTo(&failed))
				good, bad := levadatest.Gather(out, "good"), levadatest.Gather(failed, "bad")
				if err := errors.Join(src.Add(1234, "x"), h.Finish()); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(at, c.at) {
					t.Errorf("attempts at %v, want %v", at, c.at)
				}
				if n := h.Result().Counter("call", "retries"); n != int64(len(c.at)-1) {
					t.Errorf("%d retries are counted", n)
				}
				h.Stop()
				var got, want []levadatest.Element[levada.Failed[string]]
				if got = bad.Take(); c.failure != "" {
					want = append(want, levadatest.Element[levada.Failed[string]]{
						Value: levada.Failed[string]{Value: "x", Err: c.failure}, Time: 1234, Window: event.Global(), Pane: event.NoPane,
					})
				}
				if n := len(good.Take()); n != 1-len(want) || !slices.Equal(got, want) {
					t.Errorf("%d are good, %+v failed", n, got)
				}
			})
		})
	}
}

// TestConcurrentKeepsCopies shows that a call has the element's value although the memory that it came in is used again.
func TestConcurrentKeepsCopies(t *testing.T) {
	p := levada.New()
	var got gathered
	shared := []byte("?")
	in := levada.ParDo(levada.Create(p, "in", "a", "b", "c"), "reuse", func(_ *levada.Setup, out *levada.Out[[]byte]) levada.Process[string] {
		return func(c *levada.Ctx, v string) error {
			copy(shared, v)
			out.Emit(c, shared)
			return nil
		}
	})
	begun := make(chan struct{}, 3)
	got.into(levada.MapConcurrent(in, "call", levada.Concurrent{Max: 3}, func(_ context.Context, v []byte) (string, error) {
		begun <- struct{}{}
		for len(begun) < 3 { // until all have come
			time.Sleep(time.Millisecond)
		}
		return string(v), nil
	}))
	if _, err := p.Run(t.Context(), levada.Embedded{Parallelism: 1}); err != nil || !slices.Equal(got.sorted(), []string{"a", "b", "c"}) {
		t.Errorf("%v, %v", got.all, err)
	}
}

// TestConcurrentWithoutEngine shows that where elements cannot be kept beyond a bundle, as under a foreign runner, its end waits for them.
func TestConcurrentWithoutEngine(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		var got []int
		var hang atomic.Bool
		p := levada.New()
		root := &exec.RootOp{Bind: func(_ *exec.Binder, _ *exec.Inst, outs []any) exec.RootTask {
			return pushing{outs[0].(exec.Sink[int])}
		}}
		called := levada.MapConcurrent(levada.RootOf[int](p, "in", root, false), "call", levada.Concurrent{Max: 3, Ordered: ordered},
			func(ctx context.Context, v int) (int, error) {
				if hang.Load() && v > 0 {
					<-ctx.Done()
					return v, ctx.Err()
				}
				time.Sleep(time.Duration(10-v) * time.Millisecond)
				if hang.Load() {
					return v, errors.New("no")
				}
				return v, nil
			})
		levada.Do(called, "got", func(c *levada.Ctx, v int) error {
			if c.Time() != event.Time(v) || c.Window() != event.Global() {
				return fmt.Errorf("%d is at %v in %v", v, c.Time(), c.Window())
			}
			got = append(got, v)
			return nil
		})
		g, err := p.Build()
		if err != nil {
			t.Fatal(err)
		}
		start := func(ctx context.Context) (*exec.Elem, *exec.Bound) {
			e := &exec.Elem{Run: &exec.Run{Ctx: ctx}}
			return e, exec.Bind(g.Fuse()[0], &exec.Binder{Elem: e, Tasks: 1, Metrics: exec.NewMetrics()}, nil)
		}
		ctx, cancel := context.WithCancel(t.Context())
		e, bound := start(ctx)
		for bundle := range 3 {
			bound.Root.Start(e, nil)
			if bound.FinishBundle(); e.Err != nil || len(got) != 5*(bundle+1) {
				t.Fatalf("after bundle %d: %v, %v", bundle, got, e.Err)
			}
		}
		if ordered && !slices.IsSortedFunc(got[:5], cmp.Compare[int]) {
			t.Errorf("%v", got)
		}
		bound.Root.Start(e, nil)
		cancel() // the run's end
		if bound.FinishBundle(); !errors.Is(e.Err, exec.ErrStopped) {
			t.Errorf("%v after the run's end", e.Err)
		}
		if err := bound.Close(); !errors.Is(err, exec.ErrStopped) {
			t.Error(err)
		}

		hang.Store(true)
		e, bound = start(t.Context()) // a run that goes on although a bundle has failed
		bound.Root.Start(e, nil)
		bound.FinishBundle()
		if err := bound.Close(); err == nil || !strings.Contains(err.Error(), "step call, element 0") {
			t.Errorf("%v after a failed bundle", err)
		}
	}
}

// pushing is a root that emits 0 to 4 at these times.
type pushing struct{ out exec.Sink[int] }

func (p pushing) Start(e *exec.Elem, _ exec.Safe) {
	for i := range 5 {
		e.Begin(event.Time(i))
		p.out(e, i)
	}
}
func (pushing) Mark() (event.Time, bool) { return event.Max, false }
func (pushing) Current() any             { return nil }
