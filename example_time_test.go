package levada_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
)

// printTimed prints the elements of a collection with their times.
func printTimed[T any](in levada.PCollection[T]) {
	levada.ForEach(in, "print", func(*levada.Setup) levada.Process[T] {
		return func(c *levada.Ctx, v T) error {
			fmt.Println(v, "at", c.Time())
			return nil
		}
	})
}

// Values become event times: what the Beam guide calls "Adding timestamps to a PCollection's elements", in Go. The elements of
// a bounded source often have no time of their own, but a field that says when they happened.
func ExampleWithTimestamps() {
	type visit struct {
		Page string
		Unix int64
	}
	p := levada.New()
	visits := levada.Create(p, "visits", visit{"/home", 1772359200}, visit{"/about", 1772359265})
	timed := levada.WithTimestamps(visits, "event-time", func(v visit) time.Time { return time.Unix(v.Unix, 0) })
	levada.ForEach(timed, "print", func(*levada.Setup) levada.Process[visit] {
		return func(c *levada.Ctx, v visit) error {
			fmt.Println(v.Page, c.Time())
			return nil
		}
	})
	if _, err := p.Run(context.Background(), levada.Embedded{Parallelism: 1}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// /home 2026-03-01T10:00:00.000Z
	// /about 2026-03-01T10:01:05.000Z
}

// The function may also return an event.Time, which is in milliseconds.
func ExampleWithTimestamps_millis() {
	p := levada.New()
	millis := levada.Create[int64](p, "millis", 0, 1500)
	printTimed(levada.WithTimestamps(millis, "event-time", func(ms int64) event.Time { return event.Time(ms) }))
	mustRun(p)
	// Output:
	// 0 at 1970-01-01T00:00:00.000Z
	// 1500 at 1970-01-01T00:00:01.500Z
}

// Every element goes one minute forward, away from the watermark: none of them is late for what follows.
func ExampleWithTimestampsFrom() {
	p := levada.New()
	in := levada.CreateTimed(p, "in", levada.Timed[string]{Value: "a", Time: 0}, levada.Timed[string]{Value: "b", Time: 5000})
	later := levada.WithTimestampsFrom(in, "later", func(_ string, present event.Time) event.Time {
		return present.Add(time.Minute)
	})
	printTimed(later)
	mustRun(p)
	// Output:
	// a at 1970-01-01T00:01:00.000Z
	// b at 1970-01-01T00:01:05.000Z
}

func ExampleMapTimed() {
	p := levada.New()
	lines := levada.Create(p, "lines", "2026-03-01T10:00:00Z /home")
	pages := levada.MapTimed(lines, "parse", func(line string) (event.Time, string) {
		t, err := event.ParseRFC3339(line[:20])
		if err != nil {
			panic(err) // fails the run; ParDo with EmitAt could put it aside
		}
		return t, line[21:]
	})
	printTimed(pages)
	mustRun(p)
	// Output: /home at 2026-03-01T10:00:00.000Z
}

// A time may go back by the allowed skew, and not a millisecond further.
func ExampleAllowedSkew() {
	for _, back := range []time.Duration{10 * time.Second, 10*time.Second + time.Millisecond} {
		p := levada.New()
		in := levada.CreateTimed(p, "in", levada.Timed[string]{Value: "a", Time: 60_000})
		moved := levada.WithTimestampsFrom(in, "back", func(_ string, present event.Time) event.Time {
			return present.Add(-back)
		}, levada.AllowedSkew(10*time.Second))
		printTimed(moved)
		_, err := p.Run(context.Background(), levada.Embedded{Parallelism: 1})
		fmt.Println(errors.Is(err, levada.ErrSkew))
	}
	// Output:
	// a at 1970-01-01T00:00:50.000Z
	// false
	// true
}

// With AnySkew a time may be as far back as event.Min.
func ExampleAllowedSkew_any() {
	p := levada.New()
	in := levada.CreateTimed(p, "in", levada.Timed[string]{Value: "a", Time: 60_000})
	printTimed(levada.WithTimestamps(in, "back", func(string) event.Time { return event.Min }, levada.AnySkew))
	mustRun(p)
	// Output: a at -290308-12-21T19:59:05.225Z (min)
}

// A DoFn gives each result its time with EmitAt, under the same rule: not before the element's own.
func ExampleOut_EmitAt() {
	type call struct {
		Name  string
		Start event.Time
		Took  time.Duration
	}
	p := levada.New()
	calls := levada.CreateTimed(p, "calls", levada.Timed[call]{Value: call{"list", 1000, 250 * time.Millisecond}, Time: 1000})
	events := levada.ParDo(calls, "events", func(_ *levada.Setup, out *levada.Out[string]) levada.Process[call] {
		return func(c *levada.Ctx, v call) error {
			out.Emit(c, v.Name+" begins")
			out.EmitAt(c, v.Name+" ends", v.Start.Add(v.Took))
			return nil
		}
	})
	printTimed(events)
	mustRun(p)
	// Output:
	// list begins at 1970-01-01T00:00:01.000Z
	// list ends at 1970-01-01T00:00:01.250Z
}

// At a bundle's end there is no element at hand: time and window must be said. An instance that collects over a bundle keeps
// them.
func ExampleOut_EmitIn() {
	p := levada.New()
	in := levada.CreateTimed(p, "in", levada.Timed[int]{Value: 3, Time: 1000}, levada.Timed[int]{Value: 4, Time: 2000})
	sums := levada.ParDo(in, "sum", func(s *levada.Setup, out *levada.Out[int]) levada.Process[int] {
		sum, latest := 0, event.Min
		s.OnBundleFinish(func(c *levada.Ctx) error {
			out.EmitIn(c, sum, latest, event.Global())
			sum, latest = 0, event.Min
			return nil
		})
		return func(c *levada.Ctx, v int) error {
			sum, latest = sum+v, max(latest, c.Time())
			return nil
		}
	})
	printTimed(sums)
	mustRun(p)
	// Output: 7 at 1970-01-01T00:00:02.000Z
}
