package levada_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/levadatest"
	"github.com/levadaflow/levada/window"
)

// moved emits numbers at times that follow from them and from the present time.
func moved(in levada.PCollection[int], name string, to func(v int, now event.Time) event.Time, opts ...levada.TimeOption) levada.PCollection[int] {
	return levada.ParDo(in, name, func(_ *levada.Setup, out *levada.Out[int]) levada.Process[int] {
		return func(c *levada.Ctx, v int) error { out.EmitAt(c, v, to(v, c.Time())); return nil }
	}, opts...)
}

func ownTime(v int, _ event.Time) event.Time { return event.Time(v) }

// TestBeamTimestamps shows outputs at times of their own.
func TestBeamTimestamps(t *testing.T) {
	beam(t, "testParDoOutputWithTimestamp", false, atMin(3, 42, 6), func(in levada.PCollection[int]) levada.PCollection[int] {
		return moved(in, "step", ownTime)
	}, timed, "3@3", "42@42", "6@6")
	beam(t, "testParDoTaggedOutputWithTimestamp", false, atMin(3, 42, 6), func(in levada.PCollection[int]) levada.PCollection[int] {
		_, other := levada.ParDo2(in, "step", func(_ *levada.Setup, _, other *levada.Out[int]) levada.Process[int] {
			return func(c *levada.Ctx, v int) error { other.EmitAt(c, v, event.Time(v)); return nil }
		})
		return other
	}, timed, "3@3", "42@42", "6@6")
	beam(t, "testParDoShiftTimestamp", false, atMin(3, 42, 6), func(in levada.PCollection[int]) levada.PCollection[int] {
		return moved(moved(in, "step", ownTime), "back", func(_ int, now event.Time) event.Time { return now - 1000 }, levada.AllowedSkew(time.Second))
	}, timed, "3@-997", "42@-958", "6@-994")
	beam(t, "testParDoShiftTimestampUnlimited", false, atMin(0, int(event.Min), int(event.EndOfGlobal)), func(in levada.PCollection[int]) levada.PCollection[int] {
		return moved(moved(in, "step", ownTime), "back", func(int, event.Time) event.Time { return event.Min }, levada.AnySkew)
	}, timed, fmt.Sprint("0@", event.Min.Millis()), fmt.Sprint(event.Min.Millis(), "@", event.Min.Millis()),
		fmt.Sprint(event.EndOfGlobal.Millis(), "@", event.Min.Millis()))
	type kv = levada.KV[string, levada.Timed[int]]
	reify := func(in levada.PCollection[keyInt]) levada.PCollection[kv] {
		return levada.ParDo(in, "reify", func(_ *levada.Setup, out *levada.Out[kv]) levada.Process[keyInt] {
			return func(c *levada.Ctx, v keyInt) error { out.Emit(c, pair(v.Key, el(c.Time(), v.Value))); return nil }
		})
	}
	beam(t, "inValuesSucceeds", false, atMin(pair("foo", 0), pair("foo", 1), pair("bar", 2), pair("baz", 3)), func(in levada.PCollection[keyInt]) levada.PCollection[kv] {
		return reify(levada.WithTimestamps(in, "time", func(v keyInt) event.Time { return event.Time(v.Value) }))
	}, timed, "foo: {0 "+event.Time(0).String()+"}@0", "foo: {1 "+event.Time(1).String()+"}@1", "bar: {2 "+event.Time(2).String()+"}@2",
		"baz: {3 "+event.Time(3).String()+"}@3")
	for name, from := range map[string]event.Time{"extractFromValuesSucceeds": event.Min, "extractFromValuesWhenValueTimestampedLaterSucceeds": 100} {
		var in []levada.Timed[kv]
		for i, key := range []string{"foo", "foo", "bar", "baz"} {
			in = append(in, el(from+event.Time(i), pair(key, el(event.Time(i), i))))
		}
		beam(t, name, false, in, func(in levada.PCollection[kv]) levada.PCollection[keyInt] {
			return levada.MapTimed(in, "extract", func(v kv) (event.Time, keyInt) { return v.Value.Time, pair(v.Key, v.Value.Value) }, levada.AnySkew)
		}, timed, "foo: 0@0", "foo: 1@1", "bar: 2@2", "baz: 3@3")
	}
}

// TestBeamWithTimestamps shows elements that are given times.
func TestBeamWithTimestamps(t *testing.T) {
	texts := atMin("1234", "0", "2147483647", "946684800000")
	parse := func(s string) event.Time {
		n, _ := strconv.ParseInt(s, 10, 64)
		return event.Time(n)
	}
	for name, by := range map[string]event.Time{
		"withTimestampsShouldApplyTimestamps": 0, "withTimestampsLambdaShouldApplyTimestamps": 0,
		"withTimestampsBackwardsInTimeAndWithAllowedTimestampSkewShouldSucceed": 1000,
	} {
		beam(t, name, false, texts, func(in levada.PCollection[string]) levada.PCollection[string] {
			first := levada.WithTimestamps(in, "first", parse)
			return levada.WithTimestamps(first, "back", func(s string) event.Time { return parse(s) - by }, levada.AllowedSkew(1100*time.Millisecond))
		}, timed, fmt.Sprint("1234@", 1234-by.Millis()), fmt.Sprint("0@", -by.Millis()), fmt.Sprint("2147483647@", 2147483647-by.Millis()),
			fmt.Sprint("946684800000@", 946684800000-by.Millis()))
	}
	t.Run("withTimestampsBackwardsInTimeShouldThrow", func(t *testing.T) {
		p := levada.New()
		first := levada.WithTimestamps(levada.Create(p, "in", "1234", "0"), "first", parse)
		levada.WithTimestamps(first, "back", func(s string) event.Time { return parse(s) - 1000 })
		if _, err := p.Run(t.Context(), levada.Embedded{}); !errors.Is(err, levada.ErrSkew) || !strings.Contains(err.Error(), "step back") {
			t.Errorf("%v", err)
		}
	})
}

// TestBeamSkew shows the limit for times before the present one: in a call for an element, in a timer's, and in a window's last call; for
// outputs, and for output times of timers.
func TestBeamSkew(t *testing.T) {
	const most = time.Duration(1<<63-1) / time.Millisecond * time.Millisecond // the greatest that can be said, 292 years
	for _, c := range []struct {
		skew, back time.Duration
		ok         bool
	}{
		{0, time.Millisecond, false}, {0, 0, true}, {2 * time.Millisecond, time.Millisecond, true}, {0, 3 * time.Millisecond, false},
		{3 * time.Millisecond, 2 * time.Millisecond, true}, {4 * time.Millisecond, 3 * time.Millisecond, true},
		{3 * time.Millisecond, 3 * time.Millisecond, true}, {most, most, true}, {most, 0, true}, {2 * time.Millisecond, most, false},
	} {
		for name, calls := range map[string][]string{
			"testProcessElementSkew": {"element", "element timer"}, "testOnTimerTimestampSkew": {"timer", "timer timer"},
			"testOnWindowTimestampSkew": {"expiry"},
		} {
			t.Run(name, func(t *testing.T) {
				for _, call := range calls {
					err := failedStep(t, levada.Windowing{Windows: window.Fixed(10 * time.Millisecond)}, skewed(call, c.skew, c.back), 1)
					if (err == nil) != c.ok || err != nil && !errors.Is(err, levada.ErrSkew) {
						t.Errorf("%s with a skew of %v, by %v: %v", call, c.skew, c.back, err)
					}
				}
			})
		}
	}
}

// skewed goes back in time in one of its calls.
func skewed(call string, skew, back time.Duration) keyedFn {
	return func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
		s.AllowSkew(levada.AllowedSkew(skew))
		first, second := levada.EventTimer(s, "first"), levada.ProcessingTimer(s, "second")
		do := func(c *levada.Ctx, now string) {
			switch t := c.Time().AddMillis(-back.Milliseconds()); {
			case call == now:
				out.EmitAt(c, "back", t)
			case call == now+" timer":
				second.SetOutput(c, c.Now()+1, t)
			}
		}
		first.OnFire(func(c *levada.Ctx, _ string) error { do(c, "timer"); return nil })
		second.OnFire(func(*levada.Ctx, string) error { return nil })
		state := levada.ValueState[int](s, "state")
		s.OnWindowExpiration(func(c *levada.Ctx, _ string) error { do(c, "expiry"); return nil })
		return func(c *levada.Ctx, _ keyInt) error {
			state.Write(c, 1)
			first.Set(c, c.Time())
			do(c, "element")
			return nil
		}
	}
}

// TestBeamTimerLimits shows times that a timer must not have.
func TestBeamTimerLimits(t *testing.T) {
	for name, c := range map[string]struct {
		err error
		do  func(c *levada.Ctx, e, p levada.Timer[string])
	}{
		"testOutOfBoundsEventTimeTimer": {levada.ErrTimerExpiry, func(c *levada.Ctx, e, _ levada.Timer[string]) { e.Set(c, c.Window().Last()+1) }},
		"testOutOfBoundsEventTimeTimerHold": {levada.ErrTimerOutput, func(c *levada.Ctx, e, _ levada.Timer[string]) {
			e.SetOutput(c, c.Window().Last(), c.Window().Last()+1)
		}},
		"testOutOfBoundsProcessingTimeTimerHold": {levada.ErrTimerOutput, func(c *levada.Ctx, _, p levada.Timer[string]) {
			p.SetOutput(c, c.Now()+1000, c.Window().Last()+1)
		}},
		"testNoOutputTimestampDefaultBounded":   {levada.ErrOutOfRange, func(c *levada.Ctx, e, _ levada.Timer[string]) { e.SetWithoutHold(c, c.Time()+10) }},
		"testNoOutputTimestampDefaultStreaming": {levada.ErrOutOfRange, func(c *levada.Ctx, e, _ levada.Timer[string]) { e.Tag("x").SetWithoutHold(c, 20) }},
	} {
		t.Run(name, func(t *testing.T) {
			failed := failedStep
			if name == "testNoOutputTimestampDefaultStreaming" {
				failed = failedSource
			}
			err := failed(t, global, func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
				e, p := levada.EventTimer(s, "e"), levada.ProcessingTimer(s, "p")
				e.OnFire(func(c *levada.Ctx, _ string) error { out.Emit(c, "fired"); return nil })
				p.OnFire(func(*levada.Ctx, string) error { return nil })
				return func(ctx *levada.Ctx, _ keyInt) error { c.do(ctx, e, p); return nil }
			}, 3)
			if !errors.Is(err, c.err) {
				t.Errorf("%v, want %v", err, c.err)
			}
		})
	}
}

// failedSource is failedStep with an input that is unbounded.
func failedSource(t *testing.T, w levada.Windowing, fn keyedFn, at event.Time) error {
	t.Helper()
	d := levadatest.NewDriver()
	defer d.Stop()
	src := levadatest.AddScript[keyInt](d, "in")
	levadatest.Gather(keyedStep(w, fn)(src.Out), "end")
	return errors.Join(src.Add(at, pair("a", 1)), d.Finish())
}
