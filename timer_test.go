package levada_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/levadatest"
	"github.com/levadaflow/levada/window"
)

type keyInt = levada.KV[string, int]

// fixed10 are windows of 10 s.
var fixed10 = levada.Windowing{Windows: window.Fixed(10 * time.Second)}

// late10 are windows of 10 s that live 10 s longer.
var late10 = levada.Windowing{Windows: window.Fixed(10 * time.Second), AllowedLateness: 10 * time.Second, Accumulation: levada.Discarding}

// stage is a step with state in a test, with all that can be done to it.
type stage struct {
	*levadatest.Harness
	t   *testing.T
	src *levadatest.Src[keyInt]
	got *levadatest.Collected[string]
}

// stateful runs f on a step with state, in each mode. Results are texts.
func stateful(t *testing.T, w levada.Windowing, fn levada.DoFnKeyed[string, int, string], f func(x stage)) {
	t.Helper()
	for _, mode := range []levada.Embedded{{Parallelism: 1}, {Parallelism: 1, MaxBundle: 1}, {Parallelism: 4}, {Parallelism: 4, MaxBundle: 1}} {
		t.Run(fmt.Sprintf("p%d-b%d", mode.Parallelism, mode.MaxBundle), func(t *testing.T) {
			h := levadatest.New(t)
			h.Run = mode
			src := levadatest.Source[keyInt](h, "src")
			got := levadatest.Collect(h, levada.ParDoKeyed(levada.WindowInto(src.Out, "w", w), "step", fn))
			h.Start()
			f(stage{h, t, src, got})
		})
	}
}

// add adds an element of key a.
func (x stage) add(at event.Time, v int) { x.t.Helper(); x.src.Add(at, keyInt{Key: "a", Value: v}) }

// want compares what has come since the last call, "value@time" each, in order.
func (x stage) want(want ...string) {
	x.t.Helper()
	var got []string
	for _, e := range x.got.Take() {
		got = append(got, fmt.Sprintf("%s@%d", e.Value, e.Time))
	}
	if !slices.Equal(got, want) {
		x.t.Errorf("got %q, want %q", got, want)
	}
}

// noElement does nothing with elements.
func noElement(*levada.Ctx, keyInt) error { return nil }

// TestEventTimer shows that a timer fires when the watermark has reached it, at its time, with its state, in its window, once.
func TestEventTimer(t *testing.T) {
	stateful(t, fixed10, func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
		sum := levada.ValueState[int](s, "sum")
		timer := levada.EventTimer(s, "timer")
		timer.OnFire(func(c *levada.Ctx, key string) error {
			n, ok := sum.Read(c)
			out.Emit(c, fmt.Sprint(key, n, ok, c.Window().Start.Millis(), c.FireTime().Millis(), c.Pane()))
			return nil
		})
		return func(c *levada.Ctx, kv keyInt) error {
			n, _ := sum.Read(c)
			sum.Write(c, n+kv.Value)
			timer.SetAfter(c, time.Second)
			return nil
		}
	}, func(x stage) {
		x.add(1000, 1)
		x.add(2000, 2) // sets it again
		x.src.Watermark(2999)
		x.want()
		x.src.Watermark(3000)
		x.want("a3 true 0 3000 none@3000")
		x.add(15_000, 4) // another window
		x.src.Watermark(18_000)
		x.want("a4 true 10000 16000 none@16000")
		x.add(19_500, 5) // clipped at the expiry
		x.Finish()
		x.want("a9 true 10000 19999 none@19999")
	})
}

// TestTimerOutputTime shows that the callback's time is the timer's output time, which it holds.
func TestTimerOutputTime(t *testing.T) {
	stateful(t, levada.Windowing{}, func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
		timer := levada.EventTimer(s, "timer")
		timer.OnFire(func(c *levada.Ctx, _ string) error { out.Emit(c, fmt.Sprint(c.FireTime().Millis())); return nil })
		return func(c *levada.Ctx, kv keyInt) error {
			timer.SetOutput(c, c.Time()+10, c.Time()+5)
			return nil
		}
	}, func(x stage) {
		x.add(3, 0)
		x.src.Watermark(12)
		for _, s := range x.Result().Steps {
			if s.Name == "step" && (s.In != 12 || s.Out != 8 || s.Held != levada.Held{Kind: "timer", Time: 8}) {
				x.t.Errorf("%+v", s)
			}
		}
		x.src.Watermark(13)
		x.want("13@8")
	})
}

// TestTimerReplacesAndClears shows that the last setting counts, also within a call.
func TestTimerReplacesAndClears(t *testing.T) {
	stateful(t, levada.Windowing{}, func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
		e := levada.EventTimer(s, "timer") // the same name in the other clock is another timer
		p := levada.ProcessingTimer(s, "timer")
		e.OnFire(func(c *levada.Ctx, _ string) error { out.Emit(c, "event"+c.Tag()); return nil })
		p.OnFire(func(c *levada.Ctx, _ string) error { out.Emit(c, "clock"+c.Tag()); return nil })
		return func(c *levada.Ctx, kv keyInt) error {
			switch kv.Value {
			case 0: // clear what is not set
				e.Clear(c)
				p.Tag("x").Clear(c)
			case 1: // set twice
				e.Set(c, 100)
				e.Set(c, 50)
				p.SetAfter(c, time.Hour)
				p.SetAfter(c, time.Second)
			case 2: // set and clear
				e.Set(c, 60)
				e.Clear(c)
				p.SetAfter(c, time.Second)
				p.Clear(c)
			case 3: // clear and set, tags
				e.Clear(c)
				e.Set(c, 70)
				e.Tag("x").Set(c, 71)
				e.Tag("y").Set(c, 72)
				e.Tag("y").Clear(c)
				p.Tag("x").SetAfter(c, time.Second)
			}
			return nil
		}
	}, func(x stage) {
		x.add(1, 0)
		x.add(1, 1)
		x.src.Watermark(50)
		x.want("event@50")
		x.Clock(time.Second)
		x.want("clock@1")
		x.add(51, 2)
		x.src.Watermark(65)
		x.Clock(2 * time.Hour)
		x.want()
		x.add(66, 3)
		x.src.Watermark(80)
		x.want("event@70", "eventx@71")
		x.Clock(time.Second)
		x.want("clockx@66")
		x.Finish()
		x.want()
	})
}

// TestLoopingTimers shows timers that set each other, and the end of one that does so without time going on.
func TestLoopingTimers(t *testing.T) {
	ping := func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
		t1, t2 := levada.EventTimer(s, "t1"), levada.EventTimer(s, "t2")
		t1.OnFire(func(c *levada.Ctx, _ string) error {
			out.Emit(c, "t1")
			if c.Time() < 20 {
				t2.Set(c, c.Time())
			}
			return nil
		})
		t2.OnFire(func(c *levada.Ctx, _ string) error {
			out.Emit(c, "t2")
			t1.Set(c, c.Time()+10)
			return nil
		})
		return func(c *levada.Ctx, kv keyInt) error { t1.Set(c, 0); return nil }
	}
	stateful(t, levada.Windowing{}, ping, func(x stage) {
		x.add(0, 0)
		x.src.Watermark(5)
		x.want("t1@0", "t2@0")
		x.src.Watermark(100)
		x.want("t1@10", "t2@10", "t1@20")
	})
	for name, newTimer := range map[string]func(*levada.Keyed[string], string) levada.Timer[string]{
		"event": levada.EventTimer[string], "processing": levada.ProcessingTimer[string],
	} {
		err := failedStep(t, levada.Windowing{}, func(s *levada.Keyed[string], _ *levada.Out[string]) levada.Process[keyInt] {
			a, b := newTimer(s, "a"), newTimer(s, "b")
			a.OnFire(func(c *levada.Ctx, _ string) error { b.Set(c, c.FireTime()); return nil })
			b.OnFire(func(c *levada.Ctx, _ string) error { a.Set(c, c.FireTime()); return nil })
			return func(c *levada.Ctx, kv keyInt) error { a.SetAfter(c, 0); return nil }
		}, 0)
		if !errors.Is(err, levada.ErrTimerLoop) || !strings.Contains(err.Error(), "key a") {
			t.Errorf("an endless loop of %s timers: %v", name, err)
		}
	}
}

// failedStep returns the error of a run of a step with one element, whose input then ends.
func failedStep(t *testing.T, w levada.Windowing, fn levada.DoFnKeyed[string, int, string], at event.Time) error {
	t.Helper()
	p := levada.New()
	in := levada.CreateTimed(p, "in", levada.Timed[keyInt]{Value: keyInt{Key: "a", Value: 1}, Time: at})
	levada.Do(levada.ParDoKeyed(levada.WindowInto(in, "w", w), "step", fn), "end", func(*levada.Ctx, string) error { return nil })
	_, err := p.Run(t.Context(), levada.Embedded{Parallelism: 2})
	return err
}

// TestTimerRules shows what a timer must not be set to.
func TestTimerRules(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		do   func(c *levada.Ctx, e, p levada.Timer[string])
	}{
		{"beyond the expiry", levada.ErrTimerExpiry, func(c *levada.Ctx, e, _ levada.Timer[string]) { e.Set(c, 20_000) }},
		{"at the expiry", nil, func(c *levada.Ctx, e, _ levada.Timer[string]) { e.Set(c, 19_999) }},
		{"output after the fire time", levada.ErrTimerOutput, func(c *levada.Ctx, e, _ levada.Timer[string]) { e.SetOutput(c, 6000, 6001) }},
		{"output at the fire time", nil, func(c *levada.Ctx, e, _ levada.Timer[string]) { e.SetOutput(c, 6000, 6000) }},
		{"output before the element", levada.ErrTimerOutput, func(c *levada.Ctx, e, _ levada.Timer[string]) { e.SetOutput(c, 6000, 4999) }},
		{"output before the element, too", levada.ErrSkew, func(c *levada.Ctx, e, _ levada.Timer[string]) { e.SetOutput(c, 6000, 4999) }},
		{"processing output after the expiry", levada.ErrTimerOutput, func(c *levada.Ctx, _, p levada.Timer[string]) { p.SetOutput(c, 1, 20_000) }},
		{"processing output at the expiry", nil, func(c *levada.Ctx, _, p levada.Timer[string]) { p.SetOutput(c, 1, 19_999) }},
		{"out of range", levada.ErrOutOfRange, func(c *levada.Ctx, e, _ levada.Timer[string]) { e.Set(c, event.Min-1) }},
		{"in the past", nil, func(c *levada.Ctx, e, _ levada.Timer[string]) { e.Set(c, event.Min) }},
	} {
		err := failedStep(t, late10, func(s *levada.Keyed[string], _ *levada.Out[string]) levada.Process[keyInt] {
			e, p := levada.EventTimer(s, "e"), levada.ProcessingTimer(s, "p")
			e.OnFire(func(*levada.Ctx, string) error { return nil })
			p.OnFire(func(*levada.Ctx, string) error { return nil })
			return func(ctx *levada.Ctx, _ keyInt) error { c.do(ctx, e, p); return nil }
		}, 5000)
		if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%s: %v, want %v", c.name, err, c.err)
		}
		if err != nil {
			for _, part := range []string{"step step", "key a", "window [1970-01-01T00:00:00.000Z"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s: %q does not say %q", c.name, err, part)
				}
			}
		}
	}
}

// TestTimerWithoutHold shows that it holds nothing and cannot emit.
func TestTimerWithoutHold(t *testing.T) {
	err := failedStep(t, levada.Windowing{}, func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
		timer := levada.EventTimer(s, "timer")
		timer.OnFire(func(c *levada.Ctx, _ string) error { out.Emit(c, "x"); return nil })
		return func(c *levada.Ctx, _ keyInt) error { timer.SetWithoutHold(c, c.Time()+1); return nil }
	}, 5)
	if !errors.Is(err, levada.ErrOutOfRange) || !strings.Contains(err.Error(), "without a hold") {
		t.Errorf("emit: %v", err)
	}
	stateful(t, levada.Windowing{}, func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
		seen := levada.ValueState[int](s, "seen")
		timer := levada.EventTimer(s, "timer")
		timer.OnFire(func(c *levada.Ctx, _ string) error { seen.Clear(c); return nil })
		return func(c *levada.Ctx, kv keyInt) error {
			n, _ := seen.Read(c)
			seen.Write(c, n+1)
			out.Emit(c, fmt.Sprint(n+1))
			timer.SetWithoutHold(c, c.Time()+10)
			return nil
		}
	}, func(x stage) {
		x.add(5, 0)
		x.src.Watermark(9)
		x.add(9, 0)
		if s := x.Result().Steps[2]; s.Out != 9 {
			x.t.Errorf("%+v", s)
		}
		x.src.Watermark(30)
		x.add(31, 0)
		x.want("1@5", "2@9", "1@31")
	})
}

// TestProcessingTimer shows a timer by the clock, its hold, and what becomes of it at the window's expiry.
func TestProcessingTimer(t *testing.T) {
	stateful(t, fixed10, func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
		timer := levada.ProcessingTimer(s, "timer")
		timer.OnFire(func(c *levada.Ctx, _ string) error { out.Emit(c, "fired"); return nil })
		s.OnWindowExpiration(func(c *levada.Ctx, key string) error { out.Emit(c, "expired"); return nil })
		return func(c *levada.Ctx, kv keyInt) error { timer.SetAfter(c, time.Minute); return nil }
	}, func(x stage) {
		x.add(1000, 1)
		x.Clock(59 * time.Second)
		x.src.Watermark(5000)
		x.want()
		if s := x.Result().Steps[2]; s.Out != 1000 || s.Held.Kind != "timer" {
			x.t.Errorf("%+v", s)
		}
		x.Clock(time.Second)
		x.want("fired@1000")
		x.add(6000, 1)
		x.src.Watermark(10_000)
		x.want("expired@9999")
		x.Clock(time.Hour)
		x.want()
	})
}

// TestExpiry shows that each key and window is told once, sees its state, and has none afterwards; and that late elements go
// where they are asked to.
func TestExpiry(t *testing.T) {
	for _, mode := range []levada.Embedded{{Parallelism: 1}, {Parallelism: 4, MaxBundle: 1}} {
		h := levadatest.New(t)
		h.Run = mode
		src := levadatest.Source[keyInt](h, "src")
		var tooLate levada.LateOf[string, int]
		step := levada.ParDoKeyed(levada.WindowInto(src.Out, "w", late10), "step",
			func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
				all := levada.BagState[int](s, "all")
				s.OnWindowExpiration(func(c *levada.Ctx, key string) error {
					out.Emit(c, fmt.Sprint(key, slices.Collect(all.All(c))))
					return nil
				})
				return func(c *levada.Ctx, kv keyInt) error { all.Add(c, kv.Value); return nil }
			}, levada.LateTo(&tooLate))
		got, late := levadatest.Collect(h, step), levadatest.Collect(h, tooLate)
		h.Start()
		x := stage{h, t, src, got}
		x.add(1000, 1)
		src.Watermark(19_999)
		x.add(2000, 2) // late, not too late
		x.want()
		src.Watermark(20_000)
		x.want("a[1 2]@9999")
		x.add(3000, 3)
		if all := late.Take(); len(all) != 1 || all[0].Value.Value != 3 || all[0].Time != 3000 {
			t.Errorf("late: %v", all)
		}
		if n := h.Result().Counter("step", "dropped_late"); n != 1 {
			t.Errorf("%d dropped", n)
		}
		x.add(25_000, 4)
		h.Finish()
		x.want("a[4]@29999")
	}
}

// TestTimerFiresBeforeWhatWaits shows the order of what one move of the watermark lets happen.
func TestTimerFiresBeforeWhatWaits(t *testing.T) {
	stateful(t, levada.Windowing{}, func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
		s.SortByTime()
		timer := levada.EventTimer(s, "timer")
		timer.OnFire(func(c *levada.Ctx, _ string) error { out.Emit(c, "timer"); return nil })
		return func(c *levada.Ctx, kv keyInt) error {
			out.Emit(c, fmt.Sprint(kv.Value))
			timer.Set(c, c.Time()+10)
			return nil
		}
	}, func(x stage) {
		x.add(30, 3)
		x.add(20, 2)
		x.add(10, 1)
		x.add(20, 22)
		x.src.Watermark(45)
		x.want("1@10", "timer@20", "2@20", "22@20", "timer@30", "3@30", "timer@40")
	})
}

// TestGroupIntoBatches shows each limit, the order, and what is left at the end.
func TestGroupIntoBatches(t *testing.T) {
	for _, mode := range []levada.Embedded{{Parallelism: 1}, {Parallelism: 4, MaxBundle: 1}} {
		h := levadatest.New(t)
		h.Run = mode
		src := levadatest.Source[levada.KV[string, string]](h, "src")
		in := levada.WindowInto(src.Out, "w", fixed10)
		got := levadatest.Collect(h, levada.GroupIntoBatches(in, "batches", levada.Batches[string]{
			Count: 3, Bytes: 10, Size: func(s string) int { return len(s) }, MaxDelay: time.Minute,
		}))
		h.Start()
		want := func(want string) {
			t.Helper()
			var parts []string
			for _, e := range got.Take() {
				parts = append(parts, fmt.Sprint(e.Value.Key, e.Value.Value, "@", e.Time.Millis()))
			}
			if s := strings.Join(parts, " "); s != want {
				t.Errorf("got %q, want %q", s, want)
			}
		}
		add := func(at event.Time, v string) { src.Add(at, levada.KV[string, string]{Key: "k", Value: v}) }
		add(2000, "a")
		add(1000, "b")
		src.Watermark(9000)
		want("")
		add(3000, "c") // the third; late, but its batch is not
		want("k[a b c]@1000")
		add(9000, "0123456789")
		want("k[0123456789]@9000")
		add(9500, "x")
		h.Clock(time.Minute)
		want("k[x]@9500")
		add(9600, "y")
		src.Watermark(10_000)
		want("k[y]@9600")
		if n := h.Result().Counter("batches", "emitted_late"); n != 0 {
			t.Errorf("%d late batches", n)
		}
	}
	p := levada.New()
	levada.GroupIntoBatches(levada.KeyBy(levada.Create(p, "in", 1), "key", id[int]), "batches", levada.Batches[int]{MaxDelay: time.Second})
	if err := p.Err(); !errors.Is(err, levada.ErrBadBatch) {
		t.Errorf("no limit: %v", err)
	}
}
