package levadatest_test

import (
	"fmt"
	"log"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/levadatest"
	"github.com/levadaflow/levada/window"
)

// must ends the program after an error.
func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// countMinutes is what the examples test: visits are counted by user and minute, and late ones within the hour too.
func countMinutes(visits levada.PCollection[string]) levada.PCollection[levada.KV[string, int64]] {
	minutes := levada.WindowInto(visits, "minutes", levada.Windowing{
		Windows: window.Fixed(time.Minute), AllowedLateness: time.Hour, Accumulation: levada.Accumulating,
	})
	return levada.CountPerKey(levada.KeyBy(minutes, "by-user", func(user string) string { return user }), "count")
}

// Elements come, the watermark moves, and after each call all that it caused has happened.
func ExampleDriver() {
	d := levadatest.NewDriver()
	src := levadatest.AddScript[string](d, "visits")
	counts := levadatest.Gather(countMinutes(src.Out), "counts")
	show := func(when string) {
		fmt.Println(when)
		for _, e := range counts.Take() {
			fmt.Println(" ", e.Value, e.Pane.Timing)
		}
	}

	must(src.Add(10_000, "anna"))
	must(src.Add(20_000, "anna"))
	show("two visits:")
	must(src.Watermark(60_000))
	show("the minute is over:")
	must(src.Add(59_999, "anna"))
	show("a late visit:")
	must(d.Clock(time.Hour))
	show("an hour of processing time goes by:")
	must(src.Add(70_000, "ben"))
	must(d.Finish())
	show("the end:")
	d.Stop()
	// Output:
	// two visits:
	// the minute is over:
	//   anna: 2 on-time
	// a late visit:
	//   anna: 3 late
	// an hour of processing time goes by:
	// the end:
	//   ben: 1 on-time
}

// In a test a harness takes the place of the driver: its calls fail the test, and it is stopped when the test ends.
func ExampleNew() {
	_ = func(t *testing.T) { // func TestCountMinutes(t *testing.T)
		h := levadatest.New(t)
		src := levadatest.Source[string](h, "visits")
		counts := levadatest.Collect(h, countMinutes(src.Out))

		src.Add(10_000, "anna")
		src.Add(20_000, "anna")
		src.Watermark(60_000)
		got := counts.Take()
		if len(got) != 1 || got[0].Value.Value != 2 || got[0].Pane.Timing != event.OnTime {
			t.Errorf("%v, want anna: 2 on time", got)
		}
	}
}

// Several sources, each with a watermark of its own: the least counts.
func ExampleAddScript() {
	d := levadatest.NewDriver()
	a, b := levadatest.AddScript[string](d, "a"), levadatest.AddScript[string](d, "b")
	counts := levadatest.Gather(countMinutes(levada.Flatten("both", a.Out, b.Out)), "counts")

	must(a.Add(10_000, "anna"))
	must(a.Watermark(60_000))
	fmt.Println(counts.Take())
	must(b.Watermark(60_000))
	fmt.Println(counts.Take()[0].Value)
	d.Stop()
	// Output:
	// []
	// anna: 1
}
