package levadatest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/levadatest"
)

// modes are the executions that a test must not be able to tell apart.
var modes = []levada.Embedded{{Parallelism: 1}, {Parallelism: 1, MaxBundle: 1}, {Parallelism: 4}, {Parallelism: 4, MaxBundle: 1},
	{Parallelism: 2, Unfused: true}}

func eachMode(t *testing.T, f func(t *testing.T, mode levada.Embedded)) {
	for _, mode := range modes {
		t.Run(fmt.Sprintf("p%d-b%d", mode.Parallelism, mode.MaxBundle), func(t *testing.T) { f(t, mode) })
	}
}

// texts are the elements, without an order.
func texts[T any](c *levadatest.Collected[T]) string {
	parts := map[string]int{}
	for _, e := range c.Take() {
		parts[fmt.Sprint(e.Value, " ", e.Window, " ", e.Pane)]++
	}
	return strings.TrimPrefix(fmt.Sprint(parts), "map") // sorted by key
}

const (
	first  = "[1970-01-01T00:00:00.000Z, 1970-01-01T00:01:00.000Z)"
	second = "[1970-01-01T00:01:00.000Z, 1970-01-01T00:02:00.000Z)"
)

// TestStory goes through all that a test can say: elements, watermark, late element, clock, end.
func TestStory(t *testing.T) {
	eachMode(t, func(t *testing.T, mode levada.Embedded) {
		h := levadatest.New(t)
		h.Run = mode
		src := levadatest.Source[string](h, "visits")
		counts := levadatest.Collect(h, countMinutes(src.Out))
		raw := levadatest.Collect(h, src.Out)
		expect := func(when, want string) {
			t.Helper()
			if got := texts(counts); got != want {
				t.Errorf("%s: %s, want %s", when, got, want)
			}
		}
		h.Start()
		expect("start", "[]")
		src.Add(10_000, "anna")
		src.Add(20_000, "anna")
		expect("elements", "[]")
		if got, want := texts(raw), "[anna global none:2]"; got != want {
			t.Errorf("the source: %s, want %s", got, want)
		}
		src.Watermark(59_999)
		expect("a watermark before the end", "[]")
		src.Watermark(60_000)
		expect("a watermark at the end", "[anna: 2 "+first+" on-time/0/0/F:1]")
		src.Add(30_000, "anna")
		expect("a late element", "[anna: 3 "+first+" late/1/1/-:1]")
		h.Clock(time.Hour)
		expect("the clock", "[]")
		src.Watermark(60_000 + 3_600_000)
		src.Add(30_000, "anna")
		expect("an element that is too late", "[]")
		if n := h.Result().Counter("count", "dropped_late"); n != 1 {
			t.Errorf("%d dropped", n)
		}
		src.Add(3_660_001, "ben")
		h.Finish()
		if got := texts(counts); !strings.HasPrefix(got, "[ben: 1 [1970-01-01T01:01:00.000Z") {
			t.Errorf("the end: %s", got)
		}
		for _, s := range h.Result().Steps {
			if s.Out != event.Max {
				t.Errorf("%s ends at %v", s.Name, s.Out)
			}
		}
	})
}

// TestWatermarkBack shows that a watermark below the present is ignored.
func TestWatermarkBack(t *testing.T) {
	eachMode(t, func(t *testing.T, mode levada.Embedded) {
		h := levadatest.New(t)
		h.Run = mode
		src := levadatest.Source[string](h, "visits")
		counts := levadatest.Collect(h, countMinutes(src.Out))
		src.Add(10_000, "anna")
		src.Watermark(60_000)
		src.Watermark(5)
		src.Watermark(event.Min)
		src.Add(20_000, "anna")
		if got, want := texts(counts), "[anna: 1 "+first+" on-time/0/0/F:1 anna: 2 "+first+" late/1/1/-:1]"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if s := h.Result().Steps[0]; s.Name != "visits" || s.Out != 60_000 {
			t.Errorf("%s stands at %v", s.Name, s.Out)
		}
	})
}

// TestFinishTogether shows that all sources end in one step: a window's result has what all of them have given.
func TestFinishTogether(t *testing.T) {
	eachMode(t, func(t *testing.T, mode levada.Embedded) {
		h := levadatest.New(t)
		h.Run = mode
		var all []levada.PCollection[string]
		var srcs []*levadatest.Src[string]
		for _, name := range []string{"a", "b", "c"} {
			s := levadatest.Source[string](h, name)
			srcs, all = append(srcs, s), append(all, s.Out)
		}
		fixed := levada.Create(h.Pipeline, "d", "anna")
		all = append(all, levada.WithTimestamps(fixed, "d-time", func(string) event.Time { return 70_000 }))
		counts := levadatest.Collect(h, countMinutes(levada.Flatten("all", all[0], all[1:]...)))
		for i, s := range srcs {
			s.Add(event.Time(70_000+i), "anna")
			s.Watermark(event.Time(i))
		}
		if got := texts(counts); got != "[]" {
			t.Errorf("before the end: %s", got)
		}
		h.Finish()
		if got, want := texts(counts), "[anna: 4 "+second+" on-time/0/0/FL:1]"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// TestTake shows that Take empties.
func TestTake(t *testing.T) {
	d := levadatest.NewDriver()
	t.Cleanup(d.Stop)
	c := levadatest.Gather(levada.Create(d.Pipeline, "in", 1, 2), "out")
	if got := c.Take(); len(got) != 0 {
		t.Errorf("before the start: %v", got)
	}
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	if got := c.Take(); len(got) != 2 {
		t.Errorf("%v", got)
	}
	if got := c.Take(); len(got) != 0 {
		t.Errorf("the second time: %v", got)
	}
}

func TestResultBeforeStart(t *testing.T) {
	d := levadatest.NewDriver()
	if d.Result() != nil {
		t.Error("a result before the start")
	}
}

// TestBuildingErrors shows that every call which starts the run returns what is wrong with the pipeline.
func TestBuildingErrors(t *testing.T) {
	calls := map[string]func(d *levadatest.Driver, s *levadatest.Script[int]) error{
		"start":     func(d *levadatest.Driver, _ *levadatest.Script[int]) error { return d.Start() },
		"clock":     func(d *levadatest.Driver, _ *levadatest.Script[int]) error { return d.Clock(time.Second) },
		"finish":    func(d *levadatest.Driver, _ *levadatest.Script[int]) error { return d.Finish() },
		"add":       func(_ *levadatest.Driver, s *levadatest.Script[int]) error { return s.Add(0, 1) },
		"watermark": func(_ *levadatest.Driver, s *levadatest.Script[int]) error { return s.Watermark(0) },
	}
	for name, call := range calls {
		d := levadatest.NewDriver()
		src := levadatest.AddScript[int](d, "src")
		levada.Map(src.Out, "src", func(v int) int { return v })
		for range 2 {
			var all levada.BuildErrors
			if err := call(d, src); !errors.As(err, &all) || len(all) != 1 || !strings.Contains(all[0].Site, "driver_test.go:") {
				t.Errorf("%s: %v", name, err)
			}
		}
		d.Stop()
		if d.Result() != nil {
			t.Errorf("%s: a result of what has not run", name)
		}
	}
}

// TestStepFailure shows that a step's failure is the error of the call that caused it, and of all calls after it.
func TestStepFailure(t *testing.T) {
	boom := errors.New("boom")
	eachMode(t, func(t *testing.T, mode levada.Embedded) {
		checkGoroutines(t)
		d := levadatest.NewDriver()
		d.Run = mode
		src := levadatest.AddScript[int](d, "src")
		levada.TryMap(src.Out, "fails", func(v int) (int, error) {
			if v == 2 {
				return 0, boom
			}
			return v, nil
		})
		if err := src.Add(0, 1); err != nil {
			t.Fatal(err)
		}
		after := []func() error{
			func() error { return src.Add(7, 2) }, func() error { return src.Add(8, 1) }, func() error { return src.Watermark(9) },
			func() error { return d.Clock(1) }, d.Start, d.Finish,
		}
		for i, call := range after {
			var at *levada.StepError
			err := call()
			if i == 4 && err == nil { // Start does nothing once the run has begun
				continue
			}
			if !errors.As(err, &at) || !errors.Is(err, boom) || at.Step != "fails" || at.Time != 7 {
				t.Errorf("call %d: %v", i, err)
			}
		}
		d.Stop()
	})
}

// TestFailureAtStart shows that the failure of a bounded source's element is the error of Start.
func TestFailureAtStart(t *testing.T) {
	boom := errors.New("boom")
	d := levadatest.NewDriver()
	t.Cleanup(d.Stop)
	levada.TryMap(levada.Create(d.Pipeline, "in", 1), "fails", func(int) (int, error) { return 0, boom })
	if err := d.Start(); !errors.Is(err, boom) {
		t.Errorf("%v", err)
	}
}

// TestAfterFinish shows that nothing waits or comes twice after the end.
func TestAfterFinish(t *testing.T) {
	eachMode(t, func(t *testing.T, mode levada.Embedded) {
		checkGoroutines(t)
		d := levadatest.NewDriver()
		d.Run = mode
		src := levadatest.AddScript[string](d, "src")
		counts := levadatest.Gather(countMinutes(src.Out), "out")
		if err := errors.Join(src.Add(10_000, "anna"), d.Finish()); err != nil {
			t.Fatal(err)
		}
		if got := counts.Take(); len(got) != 1 {
			t.Errorf("%v", got)
		}
		if err := d.Finish(); err != nil {
			t.Errorf("a second Finish: %v", err)
		}
		_ = src.Add(20_000, "anna") // must return
		_ = src.Watermark(5)
		_ = d.Clock(time.Second)
		if got := counts.Take(); len(got) != 0 {
			t.Errorf("after the end: %v", got)
		}
		d.Stop()
		d.Stop()
		if n := d.Result().Counter("count", "dropped_late"); n != 0 {
			t.Errorf("%d dropped", n)
		}
	})
}

// TestStop shows that a run can be stopped at any point, more than once, and that nothing of it is left.
func TestStop(t *testing.T) {
	eachMode(t, func(t *testing.T, mode levada.Embedded) {
		checkGoroutines(t)
		for name, before := range map[string]func(d *levadatest.Driver, s *levadatest.Script[int]) error{
			"nothing":  func(*levadatest.Driver, *levadatest.Script[int]) error { return nil },
			"started":  func(d *levadatest.Driver, _ *levadatest.Script[int]) error { return d.Start() },
			"element":  func(_ *levadatest.Driver, s *levadatest.Script[int]) error { return s.Add(0, 1) },
			"finished": func(d *levadatest.Driver, _ *levadatest.Script[int]) error { return d.Finish() },
		} {
			d := levadatest.NewDriver()
			d.Run = mode
			closed := make(chan bool, 100)
			src := levadatest.AddScript[int](d, "src")
			levada.ForEach(levada.Reshuffle(src.Out, "over"), "out", func(s *levada.Setup) levada.Process[int] {
				s.OnClose(func() error { closed <- true; return nil })
				return func(*levada.Ctx, int) error { return nil }
			})
			if err := before(d, src); err != nil {
				t.Fatal(err)
			}
			d.Stop()
			d.Stop()
			if want := mode.Parallelism; name != "nothing" && len(closed) != want {
				t.Errorf("%s: %d instances were closed, want %d", name, len(closed), want)
			}
			if name == "started" || name == "element" {
				if err := src.Add(1, 2); !errors.Is(err, context.Canceled) {
					t.Errorf("%s: Add after Stop: %v", name, err)
				}
			}
		}
	})
}

// checkGoroutines fails the test if there are more goroutines at its end than now.
func checkGoroutines(t *testing.T) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		for deadline := time.Now().Add(2 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				buf := make([]byte, 1<<16)
				t.Fatalf("goroutines are left:\n%s", buf[:runtime.Stack(buf, true)])
			}
		}
	})
}

// TestFailingEnd shows that a failure at the very end of a run is Finish's.
func TestFailingEnd(t *testing.T) {
	boom := errors.New("boom")
	for range 50 {
		d := levadatest.NewDriver()
		src := levadatest.AddScript[int](d, "src")
		levada.ForEach(src.Out, "closes", func(s *levada.Setup) levada.Process[int] {
			s.OnClose(func() error { return boom })
			return func(*levada.Ctx, int) error { return nil }
		})
		if err := d.Finish(); !errors.Is(err, boom) {
			t.Fatalf("Finish: %v", err)
		}
	}
}

// TestMisuse shows the errors of sources that are used wrongly.
func TestMisuse(t *testing.T) {
	d := levadatest.NewDriver()
	defer d.Stop()
	src := levadatest.AddScript[int](d, "src")
	if err := src.Add(event.Max+1, 1); !errors.Is(err, levada.ErrOutOfRange) {
		t.Errorf("a time out of range: %v", err)
	}
	if err := src.Watermark(event.Max); err != nil {
		t.Fatal(err)
	}
	if err := src.Add(5, 1); err == nil || !strings.Contains(err.Error(), "source src has ended") {
		t.Errorf("an element after the end: %v", err)
	}
	late := levadatest.AddScript[int](d, "late")
	if err := late.Add(5, 1); err == nil || !strings.Contains(err.Error(), "after the start") {
		t.Errorf("a source after the start: %v", err)
	}
	d = levadatest.NewDriver()
	d.Run.Parallelism = -1
	if err := d.Start(); err == nil {
		t.Error("a negative parallelism was accepted")
	}
}
