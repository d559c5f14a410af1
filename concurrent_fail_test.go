package levada_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/engine"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/levadatest"
	"github.com/levadaflow/levada/window"
)

// TestConcurrentFailures shows that whatever goes wrong in a call fails the run with the step, the element, its time and window, at once
// although other calls would still wait, and leaves nothing behind.
func TestConcurrentFailures(t *testing.T) {
	boom := errors.New("boom")
	cases := map[string]func(v int) error{
		"error":  func(int) error { return boom },
		"panic":  func(int) error { panic(boom) },
		"text":   func(int) error { panic("boom") },
		"goexit": func(int) error { runtime.Goexit(); return nil },
	}
	for name, misbehave := range cases {
		for _, keep := range []bool{false, true} {
			if name == "error" && keep {
				continue
			}
			t.Run(fmt.Sprint(name, keep), func(t *testing.T) {
				checkGoroutines(t)
				for _, mode := range modes {
					p := levada.New()
					in := levada.WithTimestamps(levada.Create(p, "in", ints(10)...), "time", func(v int) event.Time { return event.Time(v * 1000) })
					w := levada.WindowInto(in, "minutes", levada.Windowing{Windows: window.Fixed(time.Minute)})
					var opts []levada.TryOption[int]
					var failed levada.FailedOf[int]
					if keep {
						opts = append(opts, levada.FailedTo(&failed))
					}
					levada.Scope(p, "outer", func() bool {
						c := levada.Concurrent{Max: 20, Ordered: keep, Retry: levada.Retry{Attempts: 1}}
						levada.MapConcurrent(w, "call", c, func(ctx context.Context, v int) (int, error) {
							if v == 7 {
								return 0, misbehave(v)
							}
							if !keep { // else they are in front of it
								<-ctx.Done()
							}
							return v, ctx.Err()
						}, opts...)
						return true
					})
					_, err := p.Run(t.Context(), mode)
					var at *levada.StepError
					if !errors.As(err, &at) {
						t.Fatalf("%+v: %v, want a StepError", mode, err)
					}
					if at.Step != "outer/call" || at.Element != "7" || at.Time != 7000 || at.Window != "[1970-01-01T00:00:00.000Z, 1970-01-01T00:01:00.000Z)" {
						t.Errorf("%+v: the place is %q %q %v %q", mode, at.Step, at.Element, at.Time, at.Window)
					}
					what := "boom"
					if name == "goexit" {
						what = "Goexit"
					}
					if !strings.Contains(err.Error(), what) || errors.Is(err, boom) != (name == "error" || name == "panic") {
						t.Errorf("%+v: %v", mode, err)
					}
					if (at.Stack == "") != (name == "error") || name != "error" && !strings.Contains(at.Stack, "concurrent_fail_test.go") {
						t.Errorf("%+v: the stack is %q", mode, at.Stack)
					}
				}
			})
		}
	}
}

// TestConcurrentFailureBehind shows that a panic of a step that gets a result names that step and the element of the call, also if it
// comes while the source waits or while another element comes in, and that user code in front cannot swallow it.
func TestConcurrentFailureBehind(t *testing.T) {
	boom := errors.New("boom")
	for _, where := range []string{"source waits", "element comes", "bundle ends"} {
		for _, mode := range modes {
			t.Run(fmt.Sprintf("%s %+v", where, mode), func(t *testing.T) {
				checkGoroutines(t)
				p := levada.New()
				in := tail(p, "tail", 1, func(r *exec.Reading[int], _ int) error {
					r.Emit(7, 7000, 0)
					if where == "source waits" {
						return r.Block(wait(nil))
					}
					for i := 0; r.Emit(100, 8000, 0) && i < 200_000; i++ {
						time.Sleep(100 * time.Microsecond)
					}
					return nil
				})
				if where == "bundle ends" { // no other element comes to the call
					in = levada.Filter(in, "only 7", func(v int) bool { return v == 7 })
				}
				careless := levada.ParDo(in, "careless", func(_ *levada.Setup, out *levada.Out[int]) levada.Process[int] {
					return func(c *levada.Ctx, v int) error {
						defer func() { _ = recover() }()
						out.Emit(c, v)
						return nil
					}
				})
				called := levada.MapConcurrent(careless, "call", levada.Concurrent{Max: 1000}, func(_ context.Context, v int) (int, error) { return v, nil })
				levada.Map(called, "behind", func(v int) int { return fail(v, boom) })
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				_, err := p.Run(ctx, mode)
				var at *levada.StepError
				if !errors.As(err, &at) {
					t.Fatalf("%v, want a StepError", err)
				}
				switch {
				case at.Step == "behind" && at.Element == "7" && at.Time == 7000 && errors.Is(err, boom):
				case where == "element comes" && errors.Is(err, levada.ErrSwallowed): // the code in front had a chance
				default:
					t.Errorf("the place is %q %q %v: %v", at.Step, at.Element, at.Time, err)
				}
			})
		}
	}
}

// TestConcurrentNamesTheSource shows that a source which panics after it has waited is named, although a result has gone on meanwhile.
func TestConcurrentNamesTheSource(t *testing.T) {
	for _, parallelism := range []int{1, 2} {
		p := levada.New()
		seen := make(chan struct{})
		quiet := levada.ParDoSplit(levada.Impulse(p, "impulse"), "quiet", unbounded(), func(_ *levada.Splitting, out *levada.Out[string]) polling {
			return func(c *levada.Ctx, _ []byte, claim *claim) (levada.Resume, error) {
				claim.TryClaim(0)
				out.Emit(c, "x")
				_ = claim.Block(wait(seen))
				panic("boom")
			}
		})
		called := levada.MapConcurrent(quiet, "call", levada.Concurrent{Max: 1}, func(_ context.Context, v string) (string, error) {
			time.Sleep(5 * time.Millisecond)
			return v, nil
		})
		levada.Do(called, "behind", func(*levada.Ctx, string) error { close(seen); return nil })
		_, err := p.Run(t.Context(), levada.Embedded{Parallelism: parallelism})
		var at *levada.StepError
		if !errors.As(err, &at) || at.Step != "quiet" {
			t.Errorf("%v, want a panic of quiet", err)
		}
	}
}

// TestConcurrentFailureInBlock shows that user code which waits does not swallow a panic of a step behind it that gets a result meanwhile.
func TestConcurrentFailureInBlock(t *testing.T) {
	for _, parallelism := range []int{1, 2} {
		p := levada.New()
		quiet := levada.ParDoSplit(levada.Impulse(p, "impulse"), "quiet", unbounded(), func(_ *levada.Splitting, out *levada.Out[string]) polling {
			return func(c *levada.Ctx, _ []byte, claim *claim) (r levada.Resume, err error) {
				defer func() { _ = recover() }()
				claim.TryClaim(0)
				out.Emit(c, "x")
				return levada.Done, claim.Block(func(ctx context.Context) error { <-ctx.Done(); return nil })
			}
		})
		called := levada.MapConcurrent(quiet, "call", levada.Concurrent{Max: 1}, func(_ context.Context, v string) (string, error) {
			time.Sleep(10 * time.Millisecond)
			return v, nil
		})
		levada.Map(called, "behind", func(string) string { panic("boom") })
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		if _, err := p.Run(ctx, levada.Embedded{Parallelism: parallelism}); !errors.Is(err, levada.ErrSwallowed) {
			t.Errorf("%v, want ErrSwallowed", err)
		}
		cancel()
	}
}

// TestConcurrentCancel shows that a cancelled run ends promptly while calls are in flight, while tasks wait for one, and between attempts.
func TestConcurrentCancel(t *testing.T) {
	for _, c := range []levada.Concurrent{
		{Max: 1000},
		{Max: 2},
		{Max: 2, Ordered: true, Timeout: time.Hour},
		{Max: 2, Retry: levada.Retry{Attempts: math.MaxInt, Initial: time.Hour, Longest: time.Hour}},
	} {
		checkGoroutines(t)
		for _, mode := range modes {
			p := levada.New()
			ctx, cancel := context.WithCancel(t.Context())
			var failed levada.FailedOf[int]
			var begun atomic.Int64
			out := levada.MapConcurrent(levada.Create(p, "in", ints(100)...), "call", c, func(ctx context.Context, v int) (int, error) {
				if begun.Add(1) == int64(min(c.Max, 100)) {
					time.AfterFunc(2*time.Millisecond, cancel)
				}
				if c.Retry.Attempts > 0 {
					return 0, errors.New("no")
				}
				<-ctx.Done()
				return 0, ctx.Err()
			}, levada.FailedTo(&failed))
			var results atomic.Int64
			levada.Do(out, "out", func(*levada.Ctx, int) error { results.Add(1); return nil })
			levada.Do(failed, "failed", func(*levada.Ctx, levada.Failed[int]) error { results.Add(1); return nil })
			began := time.Now()
			_, err := p.Run(ctx, mode)
			if !errors.Is(err, context.Canceled) || time.Since(began) > 3*time.Second || results.Load() != 0 {
				t.Errorf("%+v, %+v: %d results, after %v %v", c, mode, results.Load(), time.Since(began), err)
			}
			cancel()
		}
	}
}

// TestConcurrentTwoRuns shows that the limit is for all runs of a pipeline, and that one which waits because of the other ends promptly.
func TestConcurrentTwoRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := levada.New()
		release := make(chan struct{})
		var s service
		levada.MapConcurrent(levada.Create(p, "in", 1, 2, 3), "call", levada.Concurrent{Max: 2}, func(ctx context.Context, _ int) (int, error) {
			<-release
			return 0, s.call(ctx, time.Second)
		})
		first := make(chan error)
		go func() {
			_, err := p.Run(t.Context(), levada.Embedded{Parallelism: 1})
			first <- err
		}()
		synctest.Wait() // it has all there is
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if _, err := p.Run(ctx, levada.Embedded{Parallelism: 1}); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("the second run took %v: %v", time.Since(began), err)
		}
		close(release)
		if err := <-first; err != nil || s.calls.Load() != 3 || s.most.Load() != 2 {
			t.Errorf("%d calls, %d at once, %v", s.calls.Load(), s.most.Load(), err)
		}
	})
}

// TestConcurrentHangs shows what happens when a call does not return although its context has ended: the run does, and names the step.
func TestConcurrentHangs(t *testing.T) {
	for _, parallelism := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			block := make(chan struct{})
			p := levada.New()
			ctx, cancel := context.WithCancel(t.Context())
			in := levada.Map(levada.Create(p, "in", 1, 2, 3), "before", id[int])
			out := levada.MapConcurrent(in, "hangs", levada.Concurrent{Max: 2, Timeout: time.Millisecond}, func(context.Context, int) (int, error) {
				<-block
				return 0, nil
			})
			levada.Map(out, "after", id[int])
			began := time.Now()
			time.AfterFunc(time.Second, cancel)
			_, err := p.Run(ctx, levada.Embedded{Parallelism: parallelism})
			if !errors.Is(err, levada.ErrHanging) || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "end of the run: step hangs. ") {
				t.Errorf("%v", err)
			}
			if took := time.Since(began); took != 6*time.Second {
				t.Errorf("it took %v", took)
			}
			close(block) // what was left behind ends now, without harm
		})
	}
}

// TestConcurrentStandsStill shows that the log names the step whose call does not return.
func TestConcurrentStandsStill(t *testing.T) {
	p := levada.New()
	called := levada.MapConcurrent(levada.Create(p, "in", 1), "slow", levada.Concurrent{Max: 1}, func(ctx context.Context, v int) (int, error) {
		<-ctx.Done()
		return v, ctx.Err()
	})
	levada.Map(called, "after", id[int])
	g, err := p.Build()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	j, err := engine.Start(ctx, g, engine.Options{Parallelism: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Wait(); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if text := levada.ResultOf(j).String(); !strings.Contains(text, "slow in="+event.Max.String()+" out="+event.Min.String()+" held by call "+event.Min.String()) {
		t.Errorf("%s", text)
	}
}

// TestConcurrentDrained shows that calls in flight come to their end when the run is drained.
func TestConcurrentDrained(t *testing.T) {
	for _, parallelism := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			p := levada.New()
			drain := make(chan struct{})
			quiet := levada.ParDoSplit(levada.Impulse(p, "impulse"), "quiet", unbounded(), func(_ *levada.Splitting, out *levada.Out[string]) polling {
				return func(c *levada.Ctx, _ []byte, claim *claim) (levada.Resume, error) {
					claim.TryClaim(0)
					out.Emit(c, "x")
					err := claim.Block(func(ctx context.Context) error { <-ctx.Done(); return nil })
					claim.TryClaim(1)
					return levada.Done, err
				}
			})
			var got gathered
			got.into(levada.MapConcurrent(quiet, "call", levada.Concurrent{Max: 1}, func(ctx context.Context, v string) (string, error) {
				time.Sleep(time.Second)
				return v, ctx.Err()
			}))
			time.AfterFunc(500*time.Millisecond, func() { close(drain) })
			began := time.Now()
			_, err := p.Run(t.Context(), levada.Embedded{Parallelism: parallelism, Drain: drain})
			if err != nil || len(got.sorted()) != 1 || time.Since(began) != time.Second {
				t.Errorf("%v after %v, %v", got.all, time.Since(began), err)
			}
		})
	}
}

// TestConcurrentRefused shows that limits which make no sense, and elements that cannot be copied, are found while building.
func TestConcurrentRefused(t *testing.T) {
	ok := levada.Concurrent{Max: 1}
	for text, change := range map[string]func(c *levada.Concurrent){
		"":                     func(*levada.Concurrent) {},
		"Max is 0":             func(c *levada.Concurrent) { c.Max = 0 },
		"Max is -1":            func(c *levada.Concurrent) { c.Max = -1 },
		"Timeout is -1ns":      func(c *levada.Concurrent) { c.Timeout = -1 },
		"Retry.Attempts is -1": func(c *levada.Concurrent) { c.Retry.Attempts = -1 },
		"waits of Retry":       func(c *levada.Concurrent) { c.Retry.Longest = -1 },
		"is shorter than":      func(c *levada.Concurrent) { c.Retry.Initial, c.Retry.Longest = 2, 1 },
		"Retry.Jitter is 1.5":  func(c *levada.Concurrent) { c.Retry.Jitter = 1.5 },
		"Retry.Jitter is NaN":  func(c *levada.Concurrent) { c.Retry.Jitter = math.NaN() },
	} {
		c := ok
		change(&c)
		p := levada.New()
		levada.MapConcurrent(levada.Create(p, "in", 1), "call", c, func(_ context.Context, v int) (int, error) { return v, nil })
		err := p.Err()
		if text == "" && err != nil || text != "" && (!errors.Is(err, levada.ErrBadConcurrent) || !strings.Contains(err.Error(), text) ||
			!strings.Contains(err.Error(), "step call")) {
			t.Errorf("%+v: %v, want %q", c, err, text)
		}
	}
	p := levada.New()
	levada.MapConcurrent(levada.Create[func()](p, "in"), "call", ok, func(context.Context, func()) (int, error) { return 0, nil })
	if err := p.Err(); !errors.Is(err, levada.ErrValueType) {
		t.Errorf("%v, want ErrValueType", err)
	}
}

// TestConcurrentTwoSteps shows that a call may follow a call, in one task and across tasks, and that a pipeline can be run again.
func TestConcurrentTwoSteps(t *testing.T) {
	h := levadatest.New(t)
	src := levadatest.Source[int](h, "src")
	slow := func(_ context.Context, v int) (int, error) { time.Sleep(time.Millisecond); return v + 1, nil }
	one := levada.MapConcurrent(src.Out, "one", levada.Concurrent{Max: 2}, slow)
	two := levada.MapConcurrent(one, "two", levada.Concurrent{Max: 2}, slow)
	three := levada.MapConcurrent(levada.Reshuffle(two, "spread"), "three", levada.Concurrent{Max: 2, Ordered: true}, slow)
	got := levadatest.Collect(h, three)
	for i := range 20 {
		src.Add(event.Time(i), 10*i)
		all := got.Take()
		if len(all) != 1 || all[0].Value != 10*i+3 || all[0].Time != event.Time(i) {
			t.Fatalf("%+v after element %d", all, i)
		}
	}
	h.Finish()
}
