package exec_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/trigger"
	"github.com/levadaflow/levada/window"
)

// These benchmarks show how the cost of an element grows: with open windows, with keys, and with windows that overlap. The panes
// are part of it. One task, no exchange: go test ./internal/exec -run xxx -bench Growth

func growth(b *testing.B, w levada.Windowing, keys int, spread event.Time, general bool) {
	g := newGrouping(b, w, general)
	names := keyNames(min(keys, 1<<16))
	if keys > len(names) {
		names = keyNames(keys)
	}
	r := rand.New(rand.NewPCG(1, 2))
	const perMinute = 100_000 // elements in a minute of event time
	n := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		at := event.Time(n * 60_000 / perMinute)
		g.add(names[r.IntN(len(names))], at+event.Time(r.Int64N(int64(spread)+1)))
		if n++; n%1000 == 0 {
			g.reader.Advance(g.e, at)
		}
	}
}

func BenchmarkGrowthOpenWindows(b *testing.B) {
	for _, open := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprint(open), func(b *testing.B) {
			growth(b, minutes(), 100, event.Time((open-1)*60_000), false)
		})
	}
}

func BenchmarkGrowthKeys(b *testing.B) {
	for _, keys := range []int{1, 100, 10_000, 1_000_000, 10_000_000} {
		b.Run(fmt.Sprint(keys), func(b *testing.B) {
			if keys > 1_000_000 && testing.Short() {
				b.Skip("needs a gigabyte")
			}
			growth(b, levada.Windowing{Windows: window.Global()}, keys, 0, false)
		})
	}
}

func BenchmarkGrowthOverlap(b *testing.B) {
	for _, overlap := range []time.Duration{1, 6, 12, 60} {
		b.Run(fmt.Sprint(int(overlap)), func(b *testing.B) {
			growth(b, levada.Windowing{Windows: window.Sliding(overlap*time.Minute, time.Minute)}, 100, 0, false)
		})
	}
}

func BenchmarkGrowthPaths(b *testing.B) {
	count, ten := trigger.Repeat{Trigger: trigger.AfterCount(10)}, window.Sliding(10*time.Minute, time.Minute)
	for _, c := range []struct {
		name    string
		w       levada.Windowing
		general bool
	}{
		{"fast", minutes(), false}, {"general", minutes(), true},
		{"sessions", levada.Windowing{Windows: window.Sessions(30 * time.Second)}, false},
		{"trigger", firings(count), false},
		{"trigger, ten windows", levada.Windowing{Windows: ten, Trigger: count, Accumulation: levada.Accumulating}, false},
	} {
		b.Run(c.name, func(b *testing.B) { growth(b, c.w, 10_000, 2000, c.general) })
	}
}
