package levada_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/levadatest"
	"github.com/levadaflow/levada/trigger"
	"github.com/levadaflow/levada/window"
)

// TestTriggerErrors shows what is refused while building.
func TestTriggerErrors(t *testing.T) {
	for _, c := range []struct {
		trigger  trigger.Trigger
		lateness time.Duration
		err      error // at the window step or at the grouping
	}{
		{trigger.AfterCount(0), 0, levada.ErrBadTrigger},
		{trigger.Repeat{Trigger: trigger.AfterDelay(-1)}, 0, levada.ErrBadTrigger},
		{trigger.AfterAll{}, 0, levada.ErrBadTrigger},
		{trigger.AfterEach{trigger.AfterCount(1), nil}, 0, levada.ErrBadTrigger},
		{trigger.OrFinally{Main: trigger.Never{}}, 0, levada.ErrBadTrigger},
		{trigger.MayLoseData{}, 0, levada.ErrBadTrigger},
		{trigger.AfterCount(1), 0, levada.ErrUnsafeTrigger},
		{trigger.AfterAny{trigger.AfterCount(1), trigger.Never{}}, 0, levada.ErrUnsafeTrigger},
		{trigger.OrFinally{Main: trigger.Repeat{Trigger: trigger.AfterCount(1)}, Finally: trigger.AfterCount(2)}, 0, levada.ErrUnsafeTrigger},
		{trigger.AfterWatermark{}, time.Second, levada.ErrUnsafeTrigger},
		{trigger.AfterWatermark{Early: trigger.AfterCount(1)}, time.Second, levada.ErrUnsafeTrigger},
		{trigger.AfterWatermark{}, 0, nil},
		{trigger.AfterWatermark{Early: trigger.AfterCount(1)}, 0, nil},
		{trigger.AfterWatermark{Late: trigger.AfterCount(1)}, time.Second, nil},
		{trigger.Never{}, time.Second, nil},
		{trigger.MayLoseData{Trigger: trigger.AfterCount(1)}, time.Second, nil},
		{trigger.AfterEach{trigger.AfterCount(1), trigger.Repeat{Trigger: trigger.AfterCount(2)}}, 0, nil},
	} {
		p := levada.New()
		w := levada.WindowInto(levada.Create(p, "in", 1), "w", levada.Windowing{
			Windows: window.Fixed(time.Minute), AllowedLateness: c.lateness, Trigger: c.trigger, Accumulation: levada.Discarding,
		})
		levada.CountPerKey(levada.KeyBy(w, "key", id[int]), "count")
		if err := p.Err(); !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%v: %v, want %v", c.trigger, err, c.err)
		}
	}
}

// TestDelayOnTheMachineClock shows that a delay fires by the machine's clock, without any message, in a run that goes on.
func TestDelayOnTheMachineClock(t *testing.T) {
	for _, parallelism := range []int{1, 2} {
		p := levada.New()
		ctx, cancel := context.WithCancel(t.Context())
		src := exec.Source[int]{
			List: func(context.Context) ([]exec.Split, error) { return []exec.Split{{Mark: event.Min}}, nil },
			Read: func(r *exec.Reading[int], _ exec.Split) error {
				r.Emit(7, 0, 0)
				return r.Block(func(ctx context.Context) error { <-ctx.Done(); return nil })
			},
		}
		w := levada.WindowInto(levada.RootOf[int](p, "in", src.Op(), true), "w", levada.Windowing{
			Trigger: trigger.Repeat{Trigger: trigger.AfterDelay(20 * time.Millisecond)}, Accumulation: levada.Discarding,
		})
		began := time.Now()
		var took time.Duration
		levada.Do(levada.CountPerKey(levada.KeyBy(w, "key", id[int]), "count"), "out", func(*levada.Ctx, levada.KV[int, int64]) error {
			took = time.Since(began)
			cancel()
			return nil
		})
		_, err := p.Run(ctx, levada.Embedded{Parallelism: parallelism})
		if !errors.Is(err, context.Canceled) || took < 19*time.Millisecond || took > 2*time.Second {
			t.Errorf("parallelism %d: after %v, %v", parallelism, took, err)
		}
	}
}

// An early pane on every second element, one on time, and one for each late element.
func ExampleWindowing_trigger() {
	d := levadatest.NewDriver()
	defer d.Stop()
	src := levadatest.AddScript[string](d, "visits")
	minutes := levada.WindowInto(src.Out, "minutes", levada.Windowing{
		Windows:         window.Fixed(time.Minute),
		AllowedLateness: time.Hour,
		Trigger:         trigger.AfterWatermark{Early: trigger.AfterCount(2), Late: trigger.AfterCount(1)},
		Accumulation:    levada.Accumulating,
	})
	counts := levada.CountPerKey(levada.KeyBy(minutes, "by-user", id[string]), "count")
	levada.Do(counts, "print", func(c *levada.Ctx, kv levada.KV[string, int64]) error {
		fmt.Println(kv, c.Pane().Timing)
		return nil
	})
	for _, at := range []event.Time{1000, 2000, 3000} {
		if err := src.Add(at, "anna"); err != nil {
			fmt.Println(err)
		}
	}
	if err := errors.Join(src.Watermark(60_000), src.Add(4000, "anna")); err != nil {
		fmt.Println(err)
	}
	// Output:
	// anna: 2 early
	// anna: 3 on-time
	// anna: 4 late
}

// Times are moved back by up to a minute, and nothing becomes late by that: the watermark moves with them.
func ExampleShiftTimestamps() {
	d := levadatest.NewDriver()
	defer d.Stop()
	src := levadatest.AddScript[event.Time](d, "arrivals")
	began := levada.ShiftTimestamps(src.Out, "began", -time.Minute, func(start, _ event.Time) event.Time { return start })
	minutes := levada.WindowInto(began, "minutes", levada.Windowing{Windows: window.Fixed(time.Minute)})
	counts := levada.CountPerKey(levada.KeyBy(minutes, "key", func(event.Time) string { return "calls" }), "count")
	levada.Do(counts, "print", func(c *levada.Ctx, kv levada.KV[string, int64]) error {
		fmt.Println(kv, c.Window())
		return nil
	})
	err := errors.Join(src.Watermark(90_000), src.Add(90_000, 31_000), src.Watermark(119_999))
	fmt.Println("the window is still open", err)
	fmt.Println(src.Watermark(120_000))
	// Output:
	// the window is still open <nil>
	// calls: 1 [1970-01-01T00:00:00.000Z, 1970-01-01T00:01:00.000Z)
	// <nil>
}
