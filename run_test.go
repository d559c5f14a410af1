package levada_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/levadatest"
	"github.com/levadaflow/levada/window"
)

// modes are the executions between which no result may differ.
var modes = []levada.Embedded{
	{Parallelism: 1}, {Parallelism: 1, MaxBundle: 1}, {Parallelism: 4}, {Parallelism: 4, MaxBundle: 1},
	{Parallelism: 1, GeneralPath: true}, {Parallelism: 4, GeneralPath: true}, {Parallelism: 1, Unfused: true},
	{Parallelism: 4, MaxBundle: 1, Unfused: true},
}

// checkGoroutines fails the test if there are more goroutines at its end than now.
func checkGoroutines(t *testing.T) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		deadline := time.Now().Add(2 * time.Second)
		for runtime.NumGoroutine() > before {
			if time.Now().After(deadline) {
				buf := make([]byte, 1<<16)
				t.Errorf("goroutines are left:\n%s", buf[:runtime.Stack(buf, true)])
				return
			}
			time.Sleep(time.Millisecond)
		}
	})
}

func ints(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// TestStepErrors shows that an error and a panic of every kind of user code fail the run with step path, element and window, and
// that nothing is left behind.
func TestStepErrors(t *testing.T) {
	boom := errors.New("boom")
	cases := map[string]func(p *levada.Pipeline, in levada.PCollection[int]){
		"map": func(_ *levada.Pipeline, in levada.PCollection[int]) {
			levada.Map(in, "step", func(v int) int { return fail(v, boom) })
		},
		"try-map": func(_ *levada.Pipeline, in levada.PCollection[int]) {
			levada.TryMap(in, "step", func(v int) (int, error) {
				if v == 7 {
					return 0, boom
				}
				return v, nil
			})
		},
		"filter": func(_ *levada.Pipeline, in levada.PCollection[int]) {
			levada.Filter(in, "step", func(v int) bool { return fail(v, boom) > 0 })
		},
		"flat-map": func(_ *levada.Pipeline, in levada.PCollection[int]) {
			levada.FlatMap(in, "step", func(v int) iter.Seq[int] {
				return func(yield func(int) bool) { yield(fail(v, boom)) }
			})
		},
		"key-by": func(_ *levada.Pipeline, in levada.PCollection[int]) {
			levada.KeyBy(in, "step", func(v int) int { return fail(v, boom) })
		},
		"timestamps": func(_ *levada.Pipeline, in levada.PCollection[int]) {
			levada.WithTimestamps(in, "step", func(v int) event.Time { return event.Time(fail(v, boom)) }, levada.AnySkew)
		},
		"process-error": func(_ *levada.Pipeline, in levada.PCollection[int]) {
			levada.ForEach(in, "step", func(*levada.Setup) levada.Process[int] {
				return func(_ *levada.Ctx, v int) error {
					if v == 7 {
						return boom
					}
					return nil
				}
			})
		},
		"process-panic": func(_ *levada.Pipeline, in levada.PCollection[int]) {
			levada.ForEach(in, "step", func(*levada.Setup) levada.Process[int] {
				return func(_ *levada.Ctx, v int) error { fail(v, boom); return nil }
			})
		},
		"combine-add": func(_ *levada.Pipeline, in levada.PCollection[int]) {
			levada.CombinePerKey(levada.KeyBy(in, "key", id[int]), "step", failing{boom})
		},
		"downstream": func(_ *levada.Pipeline, in levada.PCollection[int]) {
			through := levada.ParDo(in, "first", func(_ *levada.Setup, out *levada.Out[int]) levada.Process[int] {
				return func(c *levada.Ctx, v int) error { out.Emit(c, v); out.Emit(c, v); return nil }
			})
			levada.Map(through, "step", func(v int) int { return fail(v, boom) })
		},
	}
	for name, build := range cases {
		t.Run(name, func(t *testing.T) {
			checkGoroutines(t)
			for _, mode := range modes {
				p := levada.New()
				in := levada.WindowInto(levada.Create(p, "in", ints(10)...), "minutes", levada.Windowing{Windows: window.Fixed(time.Minute)})
				levada.Scope(p, "outer", func() bool { build(p, in); return true })
				_, err := p.Run(t.Context(), mode)
				var at *levada.StepError
				if !errors.As(err, &at) || !errors.Is(err, boom) {
					t.Fatalf("%+v: %v, want a StepError of boom", mode, err)
				}
				if at.Step != "outer/step" || !strings.Contains(at.Element, "7") || !strings.HasPrefix(at.Window, "[-290308") {
					t.Errorf("the place is %q %q %q", at.Step, at.Element, at.Window)
				}
				if name != "try-map" && name != "process-error" && !strings.Contains(at.Stack, "run_test.go") {
					t.Errorf("no stack of the panic:\n%v", err)
				}
			}
		})
	}
}

// fail panics for the element 7.
func fail(v int, err error) int {
	if v == 7 {
		panic(err)
	}
	return v
}

type failing struct{ err error }

func (failing) Zero() int             { return 0 }
func (f failing) Add(acc *int, v int) { *acc += fail(v, f.err) }
func (failing) Merge(acc *int, o int) { *acc += o }
func (failing) Result(acc int) int    { return acc }

// TestSetupErrors shows that failures of setups and hooks name the step.
func TestSetupErrors(t *testing.T) {
	boom := errors.New("boom")
	calls := 0
	cases := map[string]func(s *levada.Setup){
		"start":         func(s *levada.Setup) { s.OnStart(func(context.Context) error { return boom }) },
		"bundle-start":  func(s *levada.Setup) { s.OnBundleStart(func(*levada.Ctx) error { return boom }) },
		"bundle-finish": func(s *levada.Setup) { s.OnBundleFinish(func(*levada.Ctx) error { panic(boom) }) },
		"close":         func(s *levada.Setup) { s.OnClose(func() error { return boom }) },
		"other": func(s *levada.Setup) {
			if calls++; calls > 1 {
				s.Counter("only the second time")
			}
		},
	}
	for name, setup := range cases {
		t.Run(name, func(t *testing.T) {
			checkGoroutines(t)
			p := levada.New()
			levada.ForEach(levada.Create(p, "in", 1), "step", func(s *levada.Setup) levada.Process[int] {
				setup(s)
				return func(*levada.Ctx, int) error { return nil }
			})
			_, err := p.Run(t.Context(), levada.Embedded{Parallelism: 1})
			var at *levada.StepError
			if !errors.As(err, &at) || at.Step != "step" {
				t.Fatalf("%v, want a StepError of step", err)
			}
			if name == "other" != strings.Contains(err.Error(), "the setup declared") || name != "other" && !errors.Is(err, boom) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestHookOrder shows when hooks run: once per instance, around the elements, upstream before downstream.
func TestHookOrder(t *testing.T) {
	var log []string
	step := func(name string) func(s *levada.Setup, out *levada.Out[int]) levada.Process[int] {
		return func(s *levada.Setup, out *levada.Out[int]) levada.Process[int] {
			note := func(what string) { log = append(log, name+" "+what) }
			s.OnStart(func(context.Context) error { note("start"); return nil })
			s.OnBundleStart(func(*levada.Ctx) error { note("begin"); return nil })
			s.OnBundleFinish(func(c *levada.Ctx) error {
				note("finish")
				out.EmitIn(c, 100, 5, event.Global())
				return nil
			})
			s.OnClose(func() error { note("close"); return nil })
			return func(c *levada.Ctx, v int) error { note(fmt.Sprint(v)); out.Emit(c, v); return nil }
		}
	}
	p := levada.New()
	levada.ParDo(levada.ParDo(levada.Create(p, "in", 1), "a", step("a")), "b", step("b"))
	if _, err := p.Run(t.Context(), levada.Embedded{Parallelism: 1}); err != nil {
		t.Fatal(err)
	}
	want := "a start,b start,a begin,b begin,a 1,b 1,a finish,b 100,b finish,a close,b close"
	if got := strings.Join(log, ","); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// endless is a pipeline that runs until it is cancelled, if each element takes that long.
func endless(busy func(c *levada.Ctx)) *levada.Pipeline {
	p := levada.New()
	in := levada.FlatMap(levada.Impulse(p, "in"), "endless", func([]byte) iter.Seq[int] {
		return func(yield func(int) bool) {
			for i := 0; yield(i); i++ {
			}
		}
	})
	spread := levada.Reshuffle(in, "spread")
	levada.ForEach(spread, "busy", func(*levada.Setup) levada.Process[int] {
		return func(c *levada.Ctx, _ int) error { busy(c); return nil }
	})
	return p
}

// TestCancel shows that a cancelled run ends at once where user code returns.
func TestCancel(t *testing.T) {
	for name, busy := range map[string]func(c *levada.Ctx){
		"fast":  func(*levada.Ctx) {},
		"slow":  func(*levada.Ctx) { time.Sleep(5 * time.Millisecond) },
		"waits": func(c *levada.Ctx) { <-c.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			checkGoroutines(t)
			for _, mode := range modes {
				ctx, cancel := context.WithCancel(t.Context())
				var at time.Time
				time.AfterFunc(30*time.Millisecond, func() { at = time.Now(); cancel() })
				_, err := endless(busy).Run(ctx, mode)
				if took := time.Since(at); took > 100*time.Millisecond {
					t.Errorf("%+v: took %v", mode, took)
				}
				if !errors.Is(err, context.Canceled) {
					t.Errorf("%+v: %v", mode, err)
				}
			}
		})
	}
}

// TestCancelCause shows that the cause is kept, and that it is Canceled all the same.
func TestCancelCause(t *testing.T) {
	why := errors.New("maintenance")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(10*time.Millisecond, func() { cancel(why) })
	_, err := endless(func(*levada.Ctx) {}).Run(ctx, levada.Embedded{})
	if !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	if _, err = endless(func(*levada.Ctx) {}).Run(ctx, levada.Embedded{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// TestHanging shows that Run returns although user code does not, and names the step.
func TestHanging(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 5 s")
	}
	checkGoroutines(t)
	block := make(chan struct{})
	defer close(block)
	ctx, cancel := context.WithCancel(t.Context())
	p := levada.New()
	in := levada.Create(p, "in", 1)
	levada.Scope(p, "outer", func() bool {
		levada.ForEach(levada.Map(in, "before", id[int]), "blocks", func(*levada.Setup) levada.Process[int] {
			return func(*levada.Ctx, int) error { cancel(); <-block; return nil }
		})
		return true
	})
	began := time.Now()
	_, err := p.Run(ctx, levada.Embedded{})
	if !errors.Is(err, levada.ErrHanging) || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "step outer/blocks") {
		t.Errorf("%v", err)
	}
	if took := time.Since(began); took < 4*time.Second || took > 7*time.Second {
		t.Errorf("took %v", took)
	}
}

// TestGoexit shows that a function which ends its goroutine fails the run.
func TestGoexit(t *testing.T) {
	p := levada.New()
	levada.Map(levada.Create(p, "in", 1), "exits", func(int) int { runtime.Goexit(); return 0 })
	if _, err := p.Run(t.Context(), levada.Embedded{}); err == nil || !strings.Contains(err.Error(), "exits") {
		t.Errorf("%v", err)
	}
}

func TestNoGoroutinesLeft(t *testing.T) {
	checkGoroutines(t)
	for _, mode := range modes {
		p := levada.New()
		sums := levada.SumPerKey(levada.KeyBy(levada.Create(p, "in", ints(5000)...), "key", func(v int) int { return v % 10 }), "sum")
		levada.ForEach(sums, "out", func(*levada.Setup) levada.Process[levada.KV[int, int]] {
			return func(*levada.Ctx, levada.KV[int, int]) error { return nil }
		})
		mode.Progress = func(levada.Progress) {}
		if _, err := p.Run(t.Context(), mode); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBackPressure shows that a slow reader holds a fast writer: no more is on the way than the credits allow, 4 batches, besides
// the one at each end.
func TestBackPressure(t *testing.T) {
	var made, seen, most atomic.Int64
	p := levada.New()
	in := levada.FlatMap(levada.Impulse(p, "in"), "fast", func([]byte) iter.Seq[int] {
		return func(yield func(int) bool) {
			for i := range 100_000 {
				most.Store(max(most.Load(), made.Add(1)-seen.Load()))
				if !yield(i) {
					return
				}
			}
		}
	})
	levada.ForEach(levada.Reshuffle(in, "over"), "slow", func(*levada.Setup) levada.Process[int] {
		return func(_ *levada.Ctx, v int) error {
			if seen.Add(1)%1000 == 0 {
				time.Sleep(time.Millisecond)
			}
			return nil
		}
	})
	if _, err := p.Run(t.Context(), levada.Embedded{Parallelism: 1}); err != nil {
		t.Fatal(err)
	}
	if made.Load() != 100_000 || seen.Load() != 100_000 || most.Load() > 6*1024 {
		t.Errorf("made %d, seen %d, at most %d on the way", made.Load(), seen.Load(), most.Load())
	}
}

// TestRecoveredDownstream shows that user code which recovers the panic of a step behind it does not make an element vanish.
func TestRecoveredDownstream(t *testing.T) {
	swallow := func(f func()) { defer func() { _ = recover() }(); f() }
	cases := map[string]func(in levada.PCollection[int]) levada.PCollection[int]{
		"emit": func(in levada.PCollection[int]) levada.PCollection[int] {
			return levada.ParDo(in, "swallows", func(_ *levada.Setup, out *levada.Out[int]) levada.Process[int] {
				return func(c *levada.Ctx, v int) error { swallow(func() { out.Emit(c, v) }); return nil }
			})
		},
		"emit-at": func(in levada.PCollection[int]) levada.PCollection[int] {
			return levada.ParDo(in, "swallows", func(_ *levada.Setup, out *levada.Out[int]) levada.Process[int] {
				return func(c *levada.Ctx, v int) error { swallow(func() { out.EmitAt(c, v, 5) }); return nil }
			})
		},
		"yield": func(in levada.PCollection[int]) levada.PCollection[int] {
			return levada.FlatMap(in, "swallows", func(v int) iter.Seq[int] {
				return func(yield func(int) bool) { swallow(func() { yield(v) }) }
			})
		},
		"hook": func(in levada.PCollection[int]) levada.PCollection[int] {
			return levada.ParDo(in, "swallows", func(s *levada.Setup, out *levada.Out[int]) levada.Process[int] {
				s.OnBundleFinish(func(c *levada.Ctx) error {
					swallow(func() { out.EmitIn(c, 7, 5, event.Global()) })
					return nil
				})
				return func(*levada.Ctx, int) error { return nil }
			})
		},
	}
	for name, build := range cases {
		p := levada.New()
		levada.Map(build(levada.Create(p, "in", ints(10)...)), "panics", func(v int) int { return fail(v, errors.New("boom")) })
		_, err := p.Run(t.Context(), levada.Embedded{Parallelism: 1})
		var at *levada.StepError
		if !errors.Is(err, levada.ErrSwallowed) || !errors.As(err, &at) || at.Step != "swallows" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPanicBehindHook shows that a panic behind a hook's emit is the other step's.
func TestPanicBehindHook(t *testing.T) {
	p := levada.New()
	a := levada.ParDo(levada.Create(p, "in", 1), "a", func(s *levada.Setup, out *levada.Out[int]) levada.Process[int] {
		s.OnBundleFinish(func(c *levada.Ctx) error { out.EmitIn(c, 7, 5, event.Global()); return nil })
		return func(*levada.Ctx, int) error { return nil }
	})
	levada.Map(a, "b", func(v int) int { return fail(v, errors.New("boom")) })
	_, err := p.Run(t.Context(), levada.Embedded{Parallelism: 1})
	var at *levada.StepError
	if !errors.As(err, &at) || at.Step != "b" {
		t.Errorf("%v", err)
	}
}

// TestUnfused shows that two steps of a chain run in goroutines of their own: the first goes on while the second waits for it.
func TestUnfused(t *testing.T) {
	for _, parallelism := range []int{1, 3} {
		build := func(p *levada.Pipeline) {
			ahead := make(chan struct{})
			first := levada.Map(levada.Create(p, "in", 1, 2), "first", func(v int) int {
				if v == 2 {
					close(ahead)
				}
				return v
			})
			levada.Map(levada.KeyBy(first, "key", id[int]), "second", func(kv levada.KV[int, int]) int {
				if kv.Key == 1 {
					select {
					case <-ahead:
					case <-time.After(5 * time.Second):
						t.Error("the second step keeps the first from going on")
					}
				}
				return kv.Value
			})
		}
		mode := levada.Embedded{Parallelism: parallelism, Unfused: true}
		p := levada.New()
		build(p)
		if _, err := p.Run(t.Context(), mode); err != nil {
			t.Error(err)
		}
		d := levadatest.NewDriver()
		d.Run = mode
		build(d.Pipeline)
		if err := d.Finish(); err != nil {
			t.Error(err)
		}
		d.Stop()
	}
}
