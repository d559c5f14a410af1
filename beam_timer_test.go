package levada_test

import (
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

type keyedFn = levada.DoFnKeyed[string, int, string]

var global = levada.Windowing{}

// keyedStep is a window step and a step with state.
func keyedStep(w levada.Windowing, fn keyedFn) func(in levada.PCollection[keyInt]) levada.PCollection[string] {
	return func(in levada.PCollection[keyInt]) levada.PCollection[string] {
		return levada.ParDoKeyed(windows(in, w), "step", fn)
	}
}

// timerFn emits 3 for an element and sets a timer, which emits 42.
func timerFn(newTimer func(s *levada.Keyed[string], name string) levada.Timer[string], set func(c *levada.Ctx, t levada.Timer[string])) keyedFn {
	return func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
		timer := newTimer(s, "timer")
		timer.OnFire(func(c *levada.Ctx, _ string) error { out.Emit(c, "42"); return nil })
		return func(c *levada.Ctx, _ keyInt) error {
			set(c, timer)
			out.Emit(c, "3")
			return nil
		}
	}
}

var (
	onEvent = levada.EventTimer[string]
	onClock = levada.ProcessingTimer[string]
)

func afterSecond(c *levada.Ctx, t levada.Timer[string]) { t.SetAfter(c, time.Second) }

// inStory is a subtest of a step with state, in each mode.
func inStory(t *testing.T, name string, w levada.Windowing, fn keyedFn, f func(x stage)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { stateful(t, w, fn, f) })
}

// TestBeamEventTimers shows when timers by the watermark fire.
func TestBeamEventTimers(t *testing.T) {
	hello := atMin(pair("hello", 37))
	beam(t, "testEventTimeTimerBounded", false, hello, keyedStep(global, timerFn(onEvent, afterSecond)), timed,
		fmt.Sprint("3@", event.Min.Millis()), fmt.Sprint("42@", event.Min.Millis()+1000))
	atEnd := timerFn(onEvent, func(c *levada.Ctx, t levada.Timer[string]) { t.Set(c, c.Window().Last()) })
	beam(t, "testEventTimeTimerAbsolute", false, hello, keyedStep(global, atEnd), timed,
		fmt.Sprint("3@", event.Min.Millis()), fmt.Sprint("42@", event.EndOfGlobal.Millis()))
	inStory(t, "testEventTimeTimerUnbounded", global, timerFn(onEvent, afterSecond), func(x stage) {
		x.src.Watermark(0)
		x.add(0, 37)
		x.want("3@0")
		x.src.Watermark(999)
		x.want()
		x.src.Watermark(1000)
		x.want("42@1000")
	})
	inStory(t, "testEventTimeTimerCanBeReset", global, timerFn(onEvent, afterSecond), func(x stage) {
		x.src.Watermark(0)
		x.add(0, 1)
		x.add(0, 2)
		x.Finish()
		x.want("3@0", "3@0", "42@1000")
	})
	twice := timerFn(onEvent, func(c *levada.Ctx, t levada.Timer[string]) {
		t.SetAfter(c, 10*time.Minute)
		t.SetAfter(c, 30*time.Minute)
	})
	inStory(t, "duplicateTimerSetting", global, twice, func(x stage) {
		x.add(0, 1)
		x.Finish()
		x.want("3@0", "42@1800000")
	})
	inTen := timerFn(onEvent, func(c *levada.Ctx, t levada.Timer[string]) { t.Set(c, c.Time()+10_000) })
	inStory(t, "testEventTimeTimerSetWithinAllowedLateness", late10, inTen, func(x stage) {
		x.src.Watermark(5000)
		x.add(5000, 37)
		x.src.Watermark(60_000)
		x.want("3@5000", "42@15000")
	})
	sliding := levada.Windowing{Windows: window.Sliding(3*time.Minute, time.Minute)}
	beam(t, "testTimerReceivedInOriginalWindow", false, []levada.Timed[keyInt]{el(0, pair("hello", 24))},
		keyedStep(sliding, timerFn(onEvent, afterSecond)), windowed, "3@0 [-120000,60000)", "3@0 [-60000,120000)", "3@0 [0,180000)",
		"42@1000 [-120000,60000)", "42@1000 [-60000,120000)", "42@1000 [0,180000)")
	beam(t, "testGbkFollowedByUserTimers", false, hello, func(in levada.PCollection[keyInt]) levada.PCollection[string] {
		sums := levada.Map(levada.GroupByKey(in, "group"), "sum", func(kv levada.KV[string, levada.Values[int]]) keyInt {
			return pair(kv.Key, kv.Value.Len())
		})
		return levada.ParDoKeyed(sums, "step", timerFn(onEvent, afterSecond))
	}, timed, fmt.Sprint("3@", event.EndOfGlobal.Millis()), fmt.Sprint("42@", event.EndOfGlobal.Millis())) // not beyond the expiry
}

// TestBeamAlignedTimers shows timers at multiples of a period.
func TestBeamAlignedTimers(t *testing.T) {
	aligned := func(period, offset time.Duration) keyedFn {
		return timerFn(onEvent, func(c *levada.Ctx, t levada.Timer[string]) { t.SetAligned(c, period, offset) })
	}
	// Beam's remainder is negative before the epoch: there it is the next multiple but one, min + 1774 ms. min is at 225 ms of its second.
	beam(t, "testEventTimeTimerAlignBounded", false, atMin(pair("hello", 37)), keyedStep(global, aligned(time.Second, time.Millisecond)), timed,
		fmt.Sprint("3@", event.Min.Millis()), fmt.Sprint("42@", event.Min.Millis()+774))
	inStory(t, "testEventTimeTimerAlignUnbounded", global, aligned(time.Minute, time.Second), func(x stage) {
		x.src.Watermark(5000)
		x.add(5000, 37)
		x.src.Watermark(60_000)
		x.want("3@5000", "42@59000")
	})
	inStory(t, "testEventTimeTimerAlignAfterGcTimeUnbounded", global, aligned(24*time.Hour, 0), func(x stage) {
		x.src.Watermark(event.EndOfGlobal)
		x.add(event.EndOfGlobal, 37)
		x.Finish()
		x.want(fmt.Sprint("3@", event.EndOfGlobal.Millis()), fmt.Sprint("42@", event.EndOfGlobal.Millis()))
	})
	inStory(t, "on the multiple, and behind it", global, aligned(10*time.Millisecond, 3*time.Millisecond), func(x stage) {
		for _, at := range []event.Time{-13, -12, 7, 8} {
			x.add(at, 0)
			x.src.Watermark(at.Floor(10, 7) + 10) // -13 is on it, and fires when the next is reached
		}
		x.want("3@-13", "42@-13", "3@-12", "42@-3", "3@7", "42@7", "3@8", "42@17")
	})
	inStory(t, "in a window, a negative offset", fixed10, aligned(time.Minute, -5*time.Second), func(x stage) {
		x.add(4000, 0)
		x.src.Watermark(5000)
		x.add(6000, 0) // the next one is behind the window's expiry
		x.src.Watermark(10_000)
		x.want("3@4000", "42@5000", "3@6000", "42@9999")
	})
}

// TestAlignedToTheClock shows SetAligned of a timer by processing time, and of one that is set in a timer's call.
func TestAlignedToTheClock(t *testing.T) {
	stateful(t, fixed10, func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
		clock, mark := levada.ProcessingTimer(s, "clock"), levada.EventTimer(s, "mark")
		clock.OnFire(func(c *levada.Ctx, _ string) error {
			out.Emit(c, fmt.Sprint("clock ", c.FireTime().Millis()))
			return nil
		})
		mark.OnFire(func(c *levada.Ctx, _ string) error {
			out.Emit(c, fmt.Sprint("mark ", c.FireTime().Millis()))
			switch c.FireTime() {
			case 1500:
				mark.SetAligned(c, time.Second, -time.Millisecond)
			case 2001:
				mark.SetAfter(c, time.Second)
			}
			return nil
		})
		return func(c *levada.Ctx, _ keyInt) error {
			clock.SetAligned(c, time.Minute, 0)
			mark.SetOutput(c, 1500, 500)
			return nil
		}
	}, func(x stage) {
		x.Clock(90 * time.Second)
		x.add(500, 0)
		x.Clock(29 * time.Second)
		x.want()
		x.Clock(time.Second)
		x.want("clock 120000@500")
		x.src.Watermark(5000)
		x.want("mark 1500@500", "mark 2001@2001", "mark 3001@3001")
	})
	err := failedStep(t, global, func(s *levada.Keyed[string], _ *levada.Out[string]) levada.Process[keyInt] {
		timer := levada.EventTimer(s, "timer")
		timer.OnFire(func(*levada.Ctx, string) error { return nil })
		return func(c *levada.Ctx, _ keyInt) error { timer.SetAligned(c, time.Microsecond, 0); return nil }
	}, 0)
	if err == nil || !strings.Contains(err.Error(), `bad timer: "timer" is aligned to a period of 1µs`) {
		t.Errorf("a period of 1µs: %v", err)
	}
}

// TestBeamTimerOrder shows the order of timers that set each other.
func TestBeamTimerOrder(t *testing.T) {
	loop := func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
		count, timer := levada.ValueState[int](s, "count"), levada.EventTimer(s, "timer")
		timer.OnFire(func(c *levada.Ctx, key string) error {
			if n, _ := count.Read(c); n < 5 {
				out.Emit(c, fmt.Sprint(key, ":", n))
				count.Write(c, n+1)
				timer.SetAfter(c, time.Millisecond)
			}
			return nil
		})
		return func(c *levada.Ctx, _ keyInt) error {
			count.Write(c, 0)
			timer.SetAfter(c, time.Millisecond)
			return nil
		}
	}
	var want []string
	for i := range 15 {
		want = append(want, fmt.Sprint("hello", i/5, ":", i%5))
	}
	beam(t, "testEventTimeTimerLoop", false, atMin(pair("hello0", 42), pair("hello1", 42), pair("hello2", 42)), keyedStep(global, loop), valueOf, want...)
	many(t)
	for name, n := range map[string]int{"testEventTimeTimerOrdering": 10, "testEventTimeTimerOrderingWithCreate": 100} {
		var in []levada.Timed[keyInt]
		for i := range n {
			in = append(in, el(event.Time(i*1000), pair("dummy", i)))
		}
		want := []string{prefix(n) + ":cleanup"}
		for i := range n {
			want = append(want, prefix(i+1))
		}
		beam(t, name, n == 10, in, keyedStep(global, appending(n)), valueOf, want...)
	}
	twoTimers(t)
}

// many shows a timer for each of many keys.
func many(t *testing.T) {
	var in []levada.Timed[keyInt]
	var want []string
	for key := range 50 {
		want = append(want, fmt.Sprint(key, " timer"))
		for i := range 15 {
			in = append(in, el(event.Min, pair(fmt.Sprint(key), i)))
			want = append(want, fmt.Sprint(key, " ", i+5000))
		}
	}
	beam(t, "testEventTimeTimerMultipleKeys", false, in, keyedStep(global, func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
		state, timer := levada.ValueState[string](s, "state"), levada.EventTimer(s, "timer")
		timer.OnFire(func(c *levada.Ctx, _ string) error {
			key, _ := state.Read(c)
			out.Emit(c, key+" timer")
			return nil
		})
		return func(c *levada.Ctx, kv keyInt) error {
			timer.Set(c, c.Window().Last())
			state.Write(c, kv.Key)
			out.Emit(c, fmt.Sprint(kv.Key, " ", kv.Value+5000))
			return nil
		}
	}), valueOf, want...)
}

// prefix is "0:1:...", n numbers.
func prefix(n int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(ints(n)), "[]"), " ", ":")
}

// appending emits what has come up to each second, in the order of times, and all at the end.
func appending(n int) keyedFn {
	return func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
		bag, least := levada.BagState[levada.Timed[int]](s, "bag"), levada.ValueState[event.Time](s, "least")
		flush, end := levada.EventTimer(s, "flush"), levada.EventTimer(s, "end")
		upTo := func(c *levada.Ctx, t event.Time) (n int, text string) {
			var all []int
			for v := range bag.All(c) {
				if v.Time <= t {
					all = append(all, v.Value)
				}
			}
			slices.Sort(all)
			return len(all), strings.ReplaceAll(strings.Trim(fmt.Sprint(all), "[]"), " ", ":")
		}
		flush.OnFire(func(c *levada.Ctx, _ string) error {
			have, text := upTo(c, c.Time())
			out.Emit(c, text)
			if have < n {
				flush.Set(c, c.Time()+1000)
			}
			return nil
		})
		end.OnFire(func(c *levada.Ctx, _ string) error {
			_, text := upTo(c, event.Max)
			out.Emit(c, text+":cleanup")
			bag.Clear(c)
			return nil
		})
		return func(c *levada.Ctx, kv keyInt) error {
			first, ok := least.Read(c)
			if !ok {
				end.Set(c, event.Time((n+1)*1000))
			}
			if !ok || c.Time() < first {
				least.Write(c, c.Time())
				flush.Set(c, c.Time())
			}
			bag.Add(c, el(c.Time(), kv.Value))
			return nil
		}
	}
}

// twoTimers shows two timers that set each other, a hundred times; the second is set beyond the end at first.
func twoTimers(t *testing.T) {
	for name, c := range map[string]struct {
		unbounded bool
		start     event.Time
	}{
		"testTwoTimersSettingEachOtherBounded": {false, 1_500_000_000_000}, "testTwoTimersSettingEachOtherUnbounded": {true, 1_500_000_000_000},
		"testTwoTimersSettingEachOtherWithCreateAsInputBounded": {false, 0}, "testTwoTimersSettingEachOtherWithCreateAsInputUnbounded": {true, 0},
	} {
		var want []string
		for i := range 101 {
			want = append(want, fmt.Sprintf("t1:%d:%d", i, i), fmt.Sprintf("t2:%d:%d", i, i))
		}
		end := c.start + 100
		beam(t, name, c.unbounded, atMin(pair("", 0)), keyedStep(global, func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
			count := levada.ValueState[int](s, "count")
			t1, t2 := levada.EventTimer(s, "t1"), levada.EventTimer(s, "t2")
			t1.OnFire(func(ctx *levada.Ctx, _ string) error {
				n, _ := count.Read(ctx)
				t2.Set(ctx, ctx.Time())
				out.Emit(ctx, fmt.Sprintf("t1:%d:%d", n, ctx.Time()-c.start))
				return nil
			})
			t2.OnFire(func(ctx *levada.Ctx, _ string) error {
				n, _ := count.Read(ctx)
				if ctx.Time() < end {
					count.Write(ctx, n+1)
					t1.Set(ctx, ctx.Time()+1)
				} else {
					count.Write(ctx, -1)
				}
				out.Emit(ctx, fmt.Sprintf("t2:%d:%d", n, ctx.Time()-c.start))
				return nil
			})
			return func(ctx *levada.Ctx, _ keyInt) error {
				count.Write(ctx, 0)
				t1.Set(ctx, c.start)
				t2.Set(ctx, end+1)
				return nil
			}
		}), valueOf, want...)
	}
}

// TestBeamProcessingTimers shows timers by the clock.
func TestBeamProcessingTimers(t *testing.T) {
	for _, name := range []string{"testSimpleProcessingTimerTimer", "testTimerFamilyProcessingTime"} {
		set := afterSecond
		if name == "testTimerFamilyProcessingTime" {
			set = func(c *levada.Ctx, t levada.Timer[string]) { t.Tag("timerId1").SetAfter(c, time.Second) }
		}
		inStory(t, name, global, timerFn(onClock, set), func(x stage) {
			x.add(0, 37)
			x.Clock(999 * time.Millisecond)
			x.want("3@0")
			x.Clock(time.Millisecond)
			x.want("42@0")
			x.Finish()
			x.want()
		})
	}
	inStory(t, "testProcessingTimeTimerCanBeReset", global, timerFn(onClock, afterSecond), func(x stage) {
		x.add(0, 1)
		x.add(0, 2)
		x.want("3@0", "3@0")
		x.Clock(2 * time.Second)
		x.Finish()
		x.want("42@0")
	})
}

// TestBeamTimerOutputTimes shows the time of what a timer emits, and what it holds.
func TestBeamTimerOutputTimes(t *testing.T) {
	later := timerFn(onEvent, func(c *levada.Ctx, t levada.Timer[string]) { t.SetOutput(c, c.Time()+10, c.Time()+5) })
	for name, unbounded := range map[string]bool{"testOutputTimestampDefaultBounded": false, "testOutputTimestampDefaultUnbounded": true} {
		beam(t, name, unbounded, []levada.Timed[keyInt]{el(3, pair("hello", 42))}, keyedStep(global, later), timed, "3@3", "42@8")
	}
	for name, newTimer := range map[string]func(*levada.Keyed[string], string) levada.Timer[string]{
		"testOutputTimestamp": onEvent, "testOutputTimestampWithProcessingTime": onClock,
	} {
		first := func(s *levada.Keyed[string], out *levada.Out[keyInt]) levada.Process[keyInt] {
			timer := newTimer(s, "timer")
			timer.OnFire(func(*levada.Ctx, string) error { return nil })
			return func(c *levada.Ctx, _ keyInt) error {
				at := c.Time() + 10
				if name == "testOutputTimestampWithProcessingTime" {
					at = c.Now() + 10_000
				}
				timer.SetOutput(c, at, c.Time()+5)
				out.Emit(c, pair("foo", 100))
				return nil
			}
		}
		second := timerFn(onEvent, func(c *levada.Ctx, t levada.Timer[string]) { t.Set(c, 8) })
		eachBeamMode(t, name, func(t *testing.T, h *levadatest.Harness) {
			src := levadatest.Source[keyInt](h, "src")
			got := levadatest.Collect(h, levada.ParDoKeyed(levada.ParDoKeyed(src.Out, "first", first), "second", second))
			src.Watermark(0)
			src.Add(0, pair("key", 1))
			src.Watermark(9)
			h.Clock(9 * time.Second)
			src.Add(0, pair("key", 1)) // replaces both timers
			same(t, shown(got, timed), "3@0", "3@0")
			if name == "testOutputTimestamp" {
				src.Watermark(10)
			} else {
				src.Watermark(11)
				h.Clock(9 * time.Second)
				same(t, shown(got, timed))
				h.Clock(time.Second)
			}
			same(t, shown(got, timed), "42@8")
			h.Finish()
			same(t, shown(got, timed))
		})
	}
}

// TestBeamTimerFamilies shows tags of timers, and timers of the same name.
func TestBeamTimerFamilies(t *testing.T) {
	for _, unbounded := range []bool{false, true} {
		names := []string{"testTimerFamilyEventTimeBounded", "testTimerFamilyAndTimerBounded", "testTimerWithMultipleTimerFamilyBounded"}
		if unbounded {
			names = []string{"testTimerFamilyEventTimeUnbounded", "testTimerFamilyAndTimerUnbounded", "testTimerWithMultipleTimerFamilyUnbounded"}
		}
		for i, want := range [][]string{
			{"process@0", "foo:timer1@1", "foo:timer2@2"}, {"process@0", "foo:timer@1", "timer:@2"}, {"process@0", "foo:timer@1", "timer:timer@2"},
		} {
			beam(t, names[i], unbounded, []levada.Timed[keyInt]{el(0, pair("hello", 37))},
				keyedStep(global, func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
					foo, timer := levada.EventTimer(s, "foo"), levada.EventTimer(s, "timer")
					foo.OnFire(func(c *levada.Ctx, _ string) error { out.Emit(c, "foo:"+c.Tag()); return nil })
					timer.OnFire(func(c *levada.Ctx, _ string) error { out.Emit(c, "timer:"+c.Tag()); return nil })
					return func(c *levada.Ctx, _ keyInt) error {
						switch i {
						case 0:
							foo.Tag("timer1").Set(c, 1)
							foo.Tag("timer2").Set(c, 2)
						case 1:
							foo.Tag("timer").Set(c, 1)
							timer.Set(c, 2)
						case 2:
							foo.Tag("timer").Set(c, 1)
							timer.Tag("timer").Set(c, 2)
						}
						out.Emit(c, "process")
						return nil
					}
				}), timed, want...)
		}
	}
}

// TestBeamKeyInTimer shows that a timer's function gets the key.
func TestBeamKeyInTimer(t *testing.T) {
	beam(t, "testKeyInOnTimer", false, atMin(pair("1", 37), pair("2", 3)),
		keyedStep(global, func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
			timer := levada.EventTimer(s, "timer")
			timer.OnFire(func(c *levada.Ctx, key string) error { out.Emit(c, "key "+key); return nil })
			return func(c *levada.Ctx, _ keyInt) error { timer.Set(c, 1); return nil }
		}), timed, "key 1@1", "key 2@1")
	type generic = levada.KV[string, string]
	beam(t, "testKeyInOnTimerWithGenericKey", false, atMin(pair(pair("1", "1"), 37), pair(pair("1", "1"), 3)),
		func(in levada.PCollection[levada.KV[generic, int]]) levada.PCollection[string] {
			return levada.ParDoKeyed(in, "step", func(s *levada.Keyed[generic], out *levada.Out[string]) levada.Process[levada.KV[generic, int]] {
				timer := levada.EventTimer(s, "timer")
				timer.OnFire(func(c *levada.Ctx, key generic) error { out.Emit(c, "key "+key.Key+key.Value); return nil })
				return func(c *levada.Ctx, _ levada.KV[generic, int]) error { timer.Set(c, 1); return nil }
			})
		}, timed, "key 11@1")
}

// TestBeamWindowExpiration shows the last call for a window, which sees what a timer has written before.
func TestBeamWindowExpiration(t *testing.T) {
	fn := func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
		state, timer := levada.ValueState[int](s, "state"), levada.EventTimer(s, "timer")
		timer.OnFire(func(c *levada.Ctx, _ string) error {
			n, _ := state.Read(c)
			state.Write(c, n+1)
			return nil
		})
		s.OnWindowExpiration(func(c *levada.Ctx, key string) error {
			n, _ := state.Read(c)
			out.Emit(c, fmt.Sprintf("%s%d%v", key, n, c.Window().IsGlobal()))
			return nil
		})
		return func(c *levada.Ctx, _ keyInt) error { timer.Set(c, 1); return nil }
	}
	in := []levada.Timed[keyInt]{el(3, pair("hello", 7)), el(13, pair("hi", 35))}
	fixed := levada.Windowing{Windows: window.Fixed(10 * time.Millisecond)}
	for name, unbounded := range map[string]bool{"testOnWindowExpirationSimpleBounded": false, "testOnWindowExpirationSimpleUnbounded": true} {
		beam(t, name, unbounded, in, keyedStep(fixed, fn), windowed, "hello1false@9 [0,10)", "hi1false@19 [10,20)")
	}
	end := event.EndOfGlobal.Millis()
	for name, unbounded := range map[string]bool{"testOnWindowExpirationSimpleBoundedGlobal": false, "testOnWindowExpirationSimpleUnboundedGlobal": true} {
		beam(t, name, unbounded, in, keyedStep(global, fn), timed, fmt.Sprint("hello1true@", end), fmt.Sprint("hi1true@", end))
	}
}
