package portable_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/levadaflow/levada"
)

// blocking is a pipeline whose last step waits until the run ends; began gets a value when it does.
func blocking(began chan<- struct{}) *levada.Pipeline {
	p := levada.New()
	counts := levada.CountPerKey(byPath(minutes(requests(p, "log", 100, &results{}))), "count")
	levada.Do(counts, "wait", func(c *levada.Ctx, _ levada.KV[string, int64]) error {
		began <- struct{}{}
		<-c.Context().Done()
		return c.Context().Err()
	})
	return p
}

// TestCancel shows that a cancelled run ends soon, and with the context's error.
func TestCancel(t *testing.T) {
	errCause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	began := make(chan struct{}, 1000)
	var at time.Time
	go func() {
		<-began
		at = time.Now()
		cancel(errCause)
	}()
	_, err := onPrism(ctx, blocking(began))
	if took := time.Since(at); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
	if !errors.Is(err, context.Canceled) || !errors.Is(err, errCause) {
		t.Errorf("not cancelled: %v", err)
	}
}

// TestDeadline shows the same for a context that ends by itself, and for one that has ended.
func TestDeadline(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	for range 2 {
		if _, err := onPrism(ctx, blocking(make(chan struct{}, 1000))); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("not at an end: %v", err)
		}
	}
}

// TestCancelSoon cancels at any time, also before the runner has asked for a worker.
func TestCancelSoon(t *testing.T) {
	for i := range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond)
		_, err := onPrism(ctx, blocking(make(chan struct{}, 1000)))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("not at an end after %d ms: %v", i, err)
		}
		cancel()
	}
}

// TestHanging shows that a cancelled run does not wait for ever for user code, and names it.
func TestHanging(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	p := levada.New()
	levada.Do(levada.Create(p, "in", 1), "sleep", func(*levada.Ctx, int) error {
		cancel()
		<-release
		return nil
	})
	_, err := onPrism(ctx, p)
	if !errors.Is(err, levada.ErrHanging) || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "step sleep") {
		t.Errorf("user code hangs: %v", err)
	}
	close(release)
	for range 100 {
		if len(ours()) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("after user code has returned there are left:\n%s", strings.Join(ours(), "\n\n"))
}

// ours returns the stacks of the goroutines that this project's code has started or is in, but for those of tests.
func ours() (all []string) {
	buf := make([]byte, 4<<20)
	for s := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(s, "levadaflow/levada") && !strings.Contains(s, "testing.(*T).Run") && !strings.Contains(s, "testing.tRunner") {
			all = append(all, s)
		}
	}
	return all
}

// TestNothingIsLeft shows that no goroutine is left behind, whatever becomes of a run, and that their number does not grow.
func TestNothingIsLeft(t *testing.T) {
	ends := []func() error{
		func() error {
			p := levada.New()
			programs["two groupings"](p, &results{})
			_, err := onPrism(t.Context(), p)
			return err
		},
		func() error {
			p := levada.New()
			failures["panic behind a grouping"].build(p, &results{})
			_, err := onPrism(t.Context(), p)
			return err
		},
		func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			_, err := onPrism(ctx, blocking(make(chan struct{}, 1000)))
			return err
		},
	}
	for i, run := range ends {
		err := run() // what stays in Prism stays once
		base := settled(0)
		for range 5 {
			if again := run(); (again == nil) != (err == nil) {
				t.Errorf("run %d gives %v and then %v", i, err, again)
			}
			if left := ours(); len(left) > 0 {
				t.Fatalf("after run %d there are left:\n%s", i, strings.Join(left, "\n\n"))
			}
		}
		if n := settled(base); n > base {
			t.Errorf("run %d: %d goroutines, and %d after five more", i, base, n)
		}
	}
}

// settled returns the number of goroutines when it is no greater than least, or has not changed for a while.
func settled(least int) int {
	var last []int
	for {
		n := runtime.NumGoroutine()
		last = append(last, n)
		if n <= least || len(last) > 20 && len(slices.Compact(slices.Clone(last[len(last)-20:]))) == 1 || len(last) > 200 {
			return n
		}
		time.Sleep(10 * time.Millisecond)
	}
}
