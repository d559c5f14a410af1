package levadatest_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/levadatest"
)

// fakeTB is a test that notes how it fails.
type fakeTB struct {
	testing.TB
	failure  string
	cleanups []func()
}

func (f *fakeTB) Helper()          {}
func (f *fakeTB) Cleanup(c func()) { f.cleanups = append(f.cleanups, c) }
func (f *fakeTB) Fatal(args ...any) {
	f.failure = fmt.Sprint(args...)
	runtime.Goexit()
}

// run runs a test with f, as the testing package does, and returns how it fails.
func (f *fakeTB) run(test func()) string {
	done := make(chan bool)
	go func() {
		defer close(done)
		test()
	}()
	<-done
	for _, c := range slices.Backward(f.cleanups) {
		c()
	}
	return f.failure
}

// TestHarnessFails shows that each call of a harness fails its test, at once.
func TestHarnessFails(t *testing.T) {
	checkGoroutines(t)
	boom := errors.New("boom")
	type calls struct {
		h   *levadatest.Harness
		src *levadatest.Src[int]
	}
	for name, call := range map[string]func(c calls){
		"start":     func(c calls) { c.h.Start() },
		"clock":     func(c calls) { c.h.Clock(time.Second) },
		"finish":    func(c calls) { c.h.Finish() },
		"add":       func(c calls) { c.src.Add(0, 1) },
		"watermark": func(c calls) { c.src.Watermark(0) },
	} {
		tb := &fakeTB{TB: t}
		after := false
		failure := tb.run(func() {
			h := levadatest.New(tb)
			src := levadatest.Source[int](h, "src")
			levada.TryMap(levada.Create(h.Pipeline, "in", 1), "fails", func(int) (int, error) { return 0, boom })
			call(calls{h, src})
			after = true
		})
		if !strings.Contains(failure, "boom") || !strings.Contains(failure, "step fails") || after {
			t.Errorf("%s: fails with %q, goes on: %v", name, failure, after)
		}
	}
}

// TestHarnessGood shows that a good test does not fail, and that nothing is left when it ends, also in the middle of a run.
func TestHarnessGood(t *testing.T) {
	checkGoroutines(t)
	for _, mode := range modes {
		tb := &fakeTB{TB: t}
		failure := tb.run(func() {
			h := levadatest.New(tb)
			h.Run = mode
			src := levadatest.Source[int](h, "src")
			a, b := levadatest.Collect(h, src.Out), levadatest.Collect(h, src.Out)
			src.Add(5, 7)
			if x, y := a.Take(), b.Take(); len(x) != 1 || len(y) != 1 || x[0] != y[0] || x[0].Value != 7 || x[0].Time != 5 {
				t.Errorf("%v and %v", x, y)
			}
		})
		if failure != "" {
			t.Errorf("%+v: %s", mode, failure)
		}
	}
}
