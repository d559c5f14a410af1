package levada_test

import (
	"fmt"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/levadatest"
	"github.com/levadaflow/levada/window"
)

// clock is a time of the day in examples, such as 10:00:07.
func clock(t event.Time) string { return t.Time().Format("15:04:05") }

// printPanes prints the elements of a collection with their windows.
func printPanes[T any](in levada.PCollection[T]) {
	levada.ForEach(in, "print", func(*levada.Setup) levada.Process[T] {
		return func(c *levada.Ctx, v T) error {
			w := c.Window()
			fmt.Printf("[%s, %s) %v\n", clock(w.Start), clock(w.End), v)
			return nil
		}
	})
}

// at10 makes an element of a value at that many seconds after 10 o'clock.
func at10[T any](seconds int64, v T) levada.Timed[T] {
	return levada.Timed[T]{Value: v, Time: event.Time(36_000_000 + 1000*seconds)}
}

// Every minute has its own count.
func ExampleWindowInto_fixed() {
	p := levada.New()
	visits := levada.CreateTimed(p, "visits", at10(0, "anna"), at10(20, "anna"), at10(60, "anna"))
	minutes := levada.WindowInto(visits, "minutes", levada.Windowing{Windows: window.Fixed(time.Minute)})
	printPanes(levada.CountPerKey(levada.KeyBy(minutes, "by-user", func(user string) string { return user }), "count"))
	mustRun(p)
	// Output:
	// [10:00:00, 10:01:00) anna: 2
	// [10:01:00, 10:02:00) anna: 1
}

// Windows of a minute, one beginning every half minute: an element is in two of them.
func ExampleWindowInto_sliding() {
	p := levada.New()
	visits := levada.CreateTimed(p, "visits", at10(0, "anna"), at10(40, "anna"))
	sliding := levada.WindowInto(visits, "sliding", levada.Windowing{Windows: window.Sliding(time.Minute, 30*time.Second)})
	printPanes(levada.CountPerKey(levada.KeyBy(sliding, "by-user", func(user string) string { return user }), "count"))
	mustRun(p)
	// Output:
	// [09:59:30, 10:00:30) anna: 1
	// [10:00:00, 10:01:00) anna: 2
	// [10:00:30, 10:01:30) anna: 1
}

// A session goes on for as long as the gap between two elements of a key is smaller than ten minutes.
func ExampleWindowInto_sessions() {
	p := levada.New()
	visits := levada.CreateTimed(p, "visits", at10(0, "anna"), at10(300, "anna"), at10(360, "ben"), at10(1800, "anna"))
	sessions := levada.WindowInto(visits, "sessions", levada.Windowing{Windows: window.Sessions(10 * time.Minute)})
	printPanes(levada.CountPerKey(levada.KeyBy(sessions, "by-user", func(user string) string { return user }), "count"))
	mustRun(p)
	// Output:
	// [10:00:00, 10:15:00) anna: 2
	// [10:06:00, 10:16:00) ben: 1
	// [10:30:00, 10:40:00) anna: 1
}

// Windows of one's own, by time: shifts of eight hours, the first of which begins at 6 o'clock.
func ExampleWindowInto_custom() {
	const hour = 3_600_000
	shifts := window.Func("shifts", func(dst []event.Window, t event.Time) []event.Window {
		start := t.Floor(8*hour, 6*hour) // the last 6, 14 or 22 o'clock
		return append(dst, event.Window{Start: start, End: start + 8*hour})
	})
	p := levada.New()
	visits := levada.CreateTimed(p, "visits", at10(0, "anna"), at10(3*3600, "anna"), at10(4*3600, "anna"))
	printPanes(levada.CountPerKey(levada.KeyBy(
		levada.WindowInto(visits, "shifts", levada.Windowing{Windows: shifts}), "by-user", func(user string) string { return user }), "count"))
	mustRun(p)
	// Output:
	// [06:00:00, 14:00:00) anna: 2
	// [14:00:00, 22:00:00) anna: 1
}

// reading is an element whose sensor says how often it reports.
type reading struct {
	Sensor string
	Every  time.Duration
}

// Windows that depend on the element: each sensor is counted in windows of ten of its readings.
func ExampleWindowBy() {
	p := levada.New()
	readings := levada.CreateTimed(p, "readings",
		at10(0, reading{"slow", time.Minute}), at10(60, reading{"slow", time.Minute}), at10(120, reading{"slow", time.Minute}),
		at10(0, reading{"fast", time.Second}), at10(1, reading{"fast", time.Second}), at10(12, reading{"fast", time.Second}))
	tens := levada.WindowBy(readings, "tens", func(dst []event.Window, r reading, t event.Time) []event.Window {
		size := event.Time(10 * r.Every.Milliseconds())
		start := t.Floor(size, 0)
		return append(dst, event.Window{Start: start, End: start + size})
	}, levada.Windowing{})
	printPanes(levada.CountPerKey(levada.KeyBy(tens, "by-sensor", func(r reading) string { return r.Sensor }), "count"))
	mustRun(p)
	// Output:
	// [10:00:00, 10:00:10) fast: 2
	// [10:00:10, 10:00:20) fast: 1
	// [10:00:00, 10:10:00) slow: 3
}

// Sessions whose gap depends on the element: who has put something into the basket may stay away for longer.
func ExampleWindowBy_sessions() {
	p := levada.New()
	clicks := levada.CreateTimed(p, "clicks", at10(0, "look"), at10(240, "put"), at10(1200, "look"), at10(1600, "look"))
	sessions := levada.WindowBy(clicks, "sessions", func(dst []event.Window, click string, t event.Time) []event.Window {
		gap := 5 * time.Minute
		if click == "put" {
			gap = 20 * time.Minute
		}
		return append(dst, event.Window{Start: t, End: t.Add(gap)})
	}, levada.Windowing{Windows: window.ByElement("sessions").Merged()})
	printPanes(levada.CountPerKey(levada.KeyBy(sessions, "by-user", func(string) string { return "anna" }), "count"))
	mustRun(p)
	// Output:
	// [10:00:00, 10:25:00) anna: 3
	// [10:26:40, 10:31:40) anna: 1
}

// Windows of the same span with different labels are different windows: here each region has its own. A key is in both.
func ExampleWindowBy_labels() {
	p := levada.New()
	visits := levada.CreateTimed(p, "visits", at10(0, "eu anna"), at10(5, "us anna"), at10(9, "eu anna"))
	regions := levada.WindowBy(visits, "regions", func(dst []event.Window, visit string, t event.Time) []event.Window {
		minute := event.Window{Start: t.Floor(60_000, 0), End: t.Floor(60_000, 0) + 60_000}
		return append(dst, minute.Labelled(visit[:2]))
	}, levada.Windowing{})
	counts := levada.CountPerKey(levada.KeyBy(regions, "by-user", func(visit string) string { return visit[3:] }), "count")
	levada.ForEach(counts, "print", func(*levada.Setup) levada.Process[levada.KV[string, int64]] {
		return func(c *levada.Ctx, kv levada.KV[string, int64]) error {
			fmt.Println(c.Window().Label(), kv)
			return nil
		}
	})
	mustRun(p)
	// Output:
	// eu anna: 2
	// us anna: 1
}

// A window that takes late elements fires again for each. What its later panes show must be said: here all that there is.
// (The test driver gives the elements and moves the watermark; in a program both come from the source.)
func ExampleWindowing_late() {
	d := levadatest.NewDriver()
	visits := levadatest.AddScript[string](d, "visits")
	minutes := levada.WindowInto(visits.Out, "minutes", levada.Windowing{
		Windows:         window.Fixed(time.Minute),
		AllowedLateness: time.Hour,
		Accumulation:    levada.Accumulating,
	})
	counts := levada.CountPerKey(levada.KeyBy(minutes, "by-user", func(user string) string { return user }), "count")
	got := levadatest.Gather(counts, "got")

	must(visits.Add(10_000, "anna"))
	must(visits.Watermark(60_000))
	must(visits.Add(20_000, "anna")) // late, but within the hour
	for _, e := range got.Take() {
		fmt.Println(e.Value, e.Pane.Timing)
	}
	d.Stop()
	// Output:
	// anna: 1 on-time
	// anna: 2 late
}

// Results have the time of their window's end, or that of their first or last element.
func ExampleOutputTime() {
	for _, when := range []levada.OutputTime{levada.EndOfWindow, levada.Earliest, levada.Latest} {
		p := levada.New()
		visits := levada.CreateTimed(p, "visits", at10(7, "anna"), at10(20, "anna"))
		minutes := levada.WindowInto(visits, "minutes", levada.Windowing{Windows: window.Fixed(time.Minute), OutputTime: when})
		printTimed(levada.CountPerKey(levada.KeyBy(minutes, "by-user", func(user string) string { return user }), "count"))
		mustRun(p)
	}
	// Output:
	// anna: 2 at 1970-01-01T10:00:59.999Z
	// anna: 2 at 1970-01-01T10:00:07.000Z
	// anna: 2 at 1970-01-01T10:00:20.000Z
}

// What comes after its window was closed is dropped and counted; with LateTo it is also a collection of its own.
// (The test driver gives the elements and moves the watermark; in a program both come from the source.)
func ExampleLateTo() {
	d := levadatest.NewDriver()
	visits := levadatest.AddScript[string](d, "visits")
	minutes := levada.WindowInto(visits.Out, "minutes", levada.Windowing{Windows: window.Fixed(time.Minute)})
	byUser := levada.KeyBy(minutes, "by-user", func(user string) string { return user })
	var late levada.LateOf[string, string]
	levada.CountPerKey(byUser, "count", levada.LateTo(&late))
	missed := levadatest.Gather(late, "missed")

	must(visits.Add(10_000, "anna"))
	must(visits.Watermark(60_000))
	must(visits.Add(20_000, "ben"))
	for _, e := range missed.Take() {
		fmt.Println(e.Value.Value, "came too late for", e.Window)
	}
	fmt.Println(d.Result().Counter("count", "dropped_late"), "dropped")
	d.Stop()
	// Output:
	// ben came too late for [1970-01-01T00:00:00.000Z, 1970-01-01T00:01:00.000Z)
	// 1 dropped
}

func ExampleGroupByKey() {
	p := levada.New()
	scores := levada.Create(p, "scores",
		levada.KV[string, int]{Key: "anna", Value: 3},
		levada.KV[string, int]{Key: "ben", Value: 5},
		levada.KV[string, int]{Key: "anna", Value: 4})
	grouped := levada.GroupByKey(scores, "group")
	levada.ForEach(grouped, "print", func(*levada.Setup) levada.Process[levada.KV[string, levada.Values[int]]] {
		return func(_ *levada.Ctx, kv levada.KV[string, levada.Values[int]]) error {
			best := 0
			for score := range kv.Value.All() {
				best = max(best, score)
			}
			fmt.Println(kv.Key, "played", kv.Value.Len(), "times, at best", best)
			return nil
		}
	})
	mustRun(p)
	// Unordered output:
	// anna played 2 times, at best 4
	// ben played 1 times, at best 5
}

func ExampleCountPerKey() {
	p := levada.New()
	words := levada.Create(p, "words", "runs", "water", "down")
	printEach(levada.CountPerKey(levada.KeyBy(words, "by-length", func(w string) int { return len(w) }), "count"))
	mustRun(p)
	// Unordered output:
	// 4: 2
	// 5: 1
}

func ExampleSumPerKey() {
	p := levada.New()
	scores := levada.Create(p, "scores",
		levada.KV[string, float64]{Key: "anna", Value: 1.5},
		levada.KV[string, float64]{Key: "ben", Value: 5},
		levada.KV[string, float64]{Key: "anna", Value: 2})
	printEach(levada.SumPerKey(scores, "sum"))
	mustRun(p)
	// Unordered output:
	// anna: 3.5
	// ben: 5
}

// longest is a combine.Fn[string, string, string]: it keeps the longest text.
type longest struct{}

func (longest) Zero() string { return "" }
func (longest) Add(acc *string, v string) {
	if len(v) > len(*acc) {
		*acc = v
	}
}
func (f longest) Merge(acc *string, other string) { f.Add(acc, other) }
func (longest) Result(acc string) string          { return acc }

// A combining function of one's own is a type with four methods:
//
//	type longest struct{}
//
//	func (longest) Zero() string { return "" }
//	func (longest) Add(acc *string, v string) {
//		if len(v) > len(*acc) {
//			*acc = v
//		}
//	}
//	func (f longest) Merge(acc *string, other string) { f.Add(acc, other) }
//	func (longest) Result(acc string) string          { return acc }
func ExampleCombinePerKey() {
	p := levada.New()
	words := levada.Create(p, "words", "down", "water", "way", "delta")
	byLetter := levada.KeyBy(words, "by-letter", func(w string) string { return w[:1] })
	printEach(levada.CombinePerKey(byLetter, "longest", longest{}))
	mustRun(p)
	// Unordered output:
	// d: delta
	// w: water
}
