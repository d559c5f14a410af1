package levada_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/combine"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/window"
)

// visits are three of anna's, of which the last comes after a long silence, and one of bert's.
func visits(p *levada.Pipeline) levada.PCollection[levada.KV[string, string]] {
	at := func(key, page string, t event.Time) levada.Timed[levada.KV[string, string]] {
		return levada.Timed[levada.KV[string, string]]{Value: levada.KV[string, string]{Key: key, Value: page}, Time: t}
	}
	return levada.CreateTimed(p, "visits", at("anna", "/a", 1000), at("bert", "/a", 2000), at("anna", "/b", 3000), at("anna", "/a", 500_000))
}

// A user's visits are counted until none has come for a minute.
func ExampleParDoKeyed() {
	p := levada.New()
	counts := levada.ParDoKeyed(visits(p), "count", func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[levada.KV[string, string]] {
		s.SortByTime() // else the later visits could come before the timer that they make wait
		seen := levada.ValueState[int](s, "seen")
		silence := levada.EventTimer(s, "silence")
		silence.OnFire(func(c *levada.Ctx, user string) error {
			n, _ := seen.Read(c)
			seen.Clear(c)
			out.Emit(c, fmt.Sprintf("%s: %d, quiet since %v", user, n, c.Time()))
			return nil
		})
		return func(c *levada.Ctx, _ levada.KV[string, string]) error {
			n, _ := seen.Read(c)
			seen.Write(c, n+1)
			silence.SetAfter(c, time.Minute) // replaces the earlier setting
			return nil
		}
	})
	printEach(counts)
	mustRun(p)
	// Output:
	// bert: 1, quiet since 1970-01-01T00:01:02.000Z
	// anna: 2, quiet since 1970-01-01T00:01:03.000Z
	// anna: 1, quiet since 1970-01-01T00:09:20.000Z
}

func ExampleParDoKeyed2() {
	p := levada.New()
	first, again := levada.ParDoKeyed2(visits(p), "split",
		func(s *levada.Keyed[string], first, again *levada.Out[string]) levada.Process[levada.KV[string, string]] {
			pages := levada.SetState[string](s, "pages")
			return func(c *levada.Ctx, kv levada.KV[string, string]) error {
				if pages.Add(c, kv.Value) {
					first.Emit(c, kv.Key+" sees "+kv.Value)
				} else {
					again.Emit(c, kv.Key+" sees "+kv.Value+" again")
				}
				return nil
			}
		})
	printEach(levada.Flatten("both", first, again))
	mustRun(p)
	// Output:
	// anna sees /a
	// bert sees /a
	// anna sees /b
	// anna sees /a again
}

// stateful prints what a step with state makes of the visits.
func printKeyed(fn levada.DoFnKeyed[string, string, string]) {
	p := levada.New()
	printEach(levada.ParDoKeyed(visits(p), "step", fn))
	mustRun(p)
}

func ExampleValueState() {
	printKeyed(func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[levada.KV[string, string]] {
		last := levada.ValueState[string](s, "last")
		return func(c *levada.Ctx, kv levada.KV[string, string]) error {
			if page, ok := last.Read(c); ok {
				out.Emit(c, kv.Key+" went from "+page+" to "+kv.Value)
			}
			last.Write(c, kv.Value)
			return nil
		}
	})
	// Output:
	// anna went from /a to /b
	// anna went from /b to /a
}

func ExampleBagState() {
	printKeyed(func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[levada.KV[string, string]] {
		path := levada.BagState[string](s, "path")
		return func(c *levada.Ctx, kv levada.KV[string, string]) error {
			path.Add(c, kv.Value)
			if path.Len(c) == 3 {
				out.Emit(c, fmt.Sprint(kv.Key, slices.Collect(path.All(c))))
				path.Clear(c)
			}
			return nil
		}
	})
	// Output: anna[/a /b /a]
}

func ExampleCombiningState() {
	printKeyed(func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[levada.KV[string, string]] {
		count := levada.CombiningState(s, "count", combine.Count[string]())
		return func(c *levada.Ctx, kv levada.KV[string, string]) error {
			count.Add(c, kv.Value)
			if n, _ := count.Read(c); n > 1 {
				out.Emit(c, fmt.Sprint(kv.Key, "'s visit number ", n))
			}
			return nil
		}
	})
	// Output:
	// anna's visit number 2
	// anna's visit number 3
}

func ExampleMapState() {
	printKeyed(func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[levada.KV[string, string]] {
		seen := levada.MapState[string, event.Time](s, "seen")
		return func(c *levada.Ctx, kv levada.KV[string, string]) error {
			if at, ok := seen.Get(c, kv.Value); ok {
				out.Emit(c, fmt.Sprintf("%s saw %s %v ago", kv.Key, kv.Value, c.Time().Sub(at)))
			}
			seen.Put(c, kv.Value, c.Time())
			return nil
		}
	})
	// Output: anna saw /a 8m19s ago
}

func ExampleSetState() {
	printKeyed(func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[levada.KV[string, string]] {
		pages := levada.SetState[string](s, "pages")
		s.OnWindowExpiration(func(c *levada.Ctx, user string) error {
			out.Emit(c, fmt.Sprint(user, " saw ", slices.Sorted(pages.All(c))))
			return nil
		})
		return func(c *levada.Ctx, kv levada.KV[string, string]) error {
			pages.Add(c, kv.Value)
			return nil
		}
	})
	// Unordered output:
	// anna saw [/a /b]
	// bert saw [/a]
}

func ExampleOrderedListState() {
	printKeyed(func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[levada.KV[string, string]] {
		recent := levada.OrderedListState[string](s, "recent")
		return func(c *levada.Ctx, kv levada.KV[string, string]) error {
			recent.Add(c, c.Time(), kv.Value)
			recent.ClearRange(c, event.Min, c.Time().Add(-time.Minute))
			n := 0
			for range recent.Range(c, c.Time().Add(-time.Minute), c.Time()+1) {
				n++
			}
			out.Emit(c, fmt.Sprint(kv.Key, " ", n, " in the last minute"))
			return nil
		}
	})
	// Output:
	// anna 1 in the last minute
	// bert 1 in the last minute
	// anna 2 in the last minute
	// anna 1 in the last minute
}

// Results of a window come out once, when nothing can be added to them.
func ExampleKeyed_OnWindowExpiration() {
	p := levada.New()
	minutes := levada.WindowInto(visits(p), "minutes", levada.Windowing{Windows: window.Fixed(time.Minute)})
	printEach(levada.ParDoKeyed(minutes, "last", func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[levada.KV[string, string]] {
		last := levada.ValueState[string](s, "last")
		s.OnWindowExpiration(func(c *levada.Ctx, user string) error {
			page, _ := last.Read(c)
			out.Emit(c, fmt.Sprint(user, " ", page, " ", c.Window()))
			return nil
		})
		return func(c *levada.Ctx, kv levada.KV[string, string]) error {
			last.Write(c, kv.Value)
			return nil
		}
	}))
	mustRun(p)
	// Unordered output:
	// anna /b [1970-01-01T00:00:00.000Z, 1970-01-01T00:01:00.000Z)
	// bert /a [1970-01-01T00:00:00.000Z, 1970-01-01T00:01:00.000Z)
	// anna /a [1970-01-01T00:08:00.000Z, 1970-01-01T00:09:00.000Z)
}

func ExampleKeyed_SortByTime() {
	p := levada.New()
	in := levada.KeyBy(levada.CreateTimed(p, "in", levada.Timed[int]{Value: 3, Time: 3}, levada.Timed[int]{Value: 1, Time: 1},
		levada.Timed[int]{Value: 2, Time: 2}), "key", func(int) string { return "k" })
	printEach(levada.ParDoKeyed(in, "in-order", func(s *levada.Keyed[string], out *levada.Out[int]) levada.Process[levada.KV[string, int]] {
		s.SortByTime()
		return func(c *levada.Ctx, kv levada.KV[string, int]) error {
			out.Emit(c, kv.Value)
			return nil
		}
	}))
	mustRun(p)
	// Output:
	// 1
	// 2
	// 3
}

// An order is released a minute after it came, whatever the event time.
func ExampleProcessingTimer() {
	levada.ParDoKeyed(visits(levada.New()), "delay", func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[levada.KV[string, string]] {
		waiting := levada.BagState[string](s, "waiting")
		release := levada.ProcessingTimer(s, "release")
		flush := func(c *levada.Ctx, user string) error {
			for page := range waiting.All(c) {
				out.Emit(c, user+page)
			}
			waiting.Clear(c)
			return nil
		}
		release.OnFire(flush)
		s.OnWindowExpiration(flush) // what still waits when the input ends
		return func(c *levada.Ctx, kv levada.KV[string, string]) error {
			waiting.Add(c, kv.Value)
			release.SetAfter(c, time.Minute)
			return nil
		}
	})
}

// Each page has a timer of its own.
func ExampleTimer_Tag() {
	printKeyed(func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[levada.KV[string, string]] {
		forget := levada.EventTimer(s, "forget")
		forget.OnFire(func(c *levada.Ctx, user string) error {
			out.Emit(c, fmt.Sprint(user, " left ", c.Tag(), " at ", c.FireTime()))
			return nil
		})
		return func(c *levada.Ctx, kv levada.KV[string, string]) error {
			forget.Tag(kv.Value).SetAfter(c, time.Second)
			return nil
		}
	})
	// Unordered output:
	// anna left /a at 1970-01-01T00:08:21.000Z
	// anna left /b at 1970-01-01T00:00:04.000Z
	// bert left /a at 1970-01-01T00:00:03.000Z
}

// What a timer emits is at its output time, which holds the watermark until then.
func ExampleTimer_SetOutput() {
	printKeyed(func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[levada.KV[string, string]] {
		timer := levada.EventTimer(s, "timer")
		timer.OnFire(func(c *levada.Ctx, user string) error {
			out.Emit(c, fmt.Sprint(user, " at ", c.Time().Millis(), ", fired for ", c.FireTime().Millis()))
			return nil
		})
		return func(c *levada.Ctx, kv levada.KV[string, string]) error {
			if kv.Key == "bert" {
				timer.SetOutput(c, c.Time()+10, c.Time())
			}
			return nil
		}
	})
	// Output: bert at 2000, fired for 2010
}

func ExampleGroupIntoBatches() {
	p := levada.New()
	batches := levada.GroupIntoBatches(visits(p), "batches", levada.Batches[string]{Count: 2})
	printEach(batches)
	mustRun(p)
	// Unordered output:
	// anna: [/a /b]
	// anna: [/a]
	// bert: [/a]
}
