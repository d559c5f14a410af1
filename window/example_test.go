package window_test

import (
	"fmt"
	"time"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/window"
)

func ExampleFixed() {
	at, _ := event.ParseRFC3339("2026-03-01T12:34:56Z")
	fmt.Println(window.Fixed(time.Hour).Assign(nil, at))
	fmt.Println(window.Fixed(time.Hour).Offset(15*time.Minute).Assign(nil, at))
	// Output:
	// [[2026-03-01T12:00:00.000Z, 2026-03-01T13:00:00.000Z)]
	// [[2026-03-01T12:15:00.000Z, 2026-03-01T13:15:00.000Z)]
}

func ExampleSliding() {
	for _, w := range window.Sliding(10*time.Second, 5*time.Second).Assign(nil, 7_000) {
		fmt.Println(w)
	}
	fmt.Println(window.Sliding(time.Second, 10*time.Second).Assign(nil, 7_000)) // in a gap
	// Output:
	// [1970-01-01T00:00:00.000Z, 1970-01-01T00:00:10.000Z)
	// [1970-01-01T00:00:05.000Z, 1970-01-01T00:00:15.000Z)
	// []
}

func ExampleSessions() {
	fn := window.Sessions(10 * time.Minute)
	a, b := fn.Assign(nil, 0)[0], fn.Assign(nil, 60_000)[0]
	fmt.Println(fn.Merging(), a.Intersects(b), a.Span(b))
	// Output: true true [1970-01-01T00:00:00.000Z, 1970-01-01T00:11:00.000Z)
}

func ExampleFn() {
	var fn window.Fn = window.Fixed(time.Minute).Offset(time.Minute)
	fmt.Println(fn.Validate())
	// Output:
	// bad window function: window.Fixed(1m0s).Offset(1m0s): the offset must be 0 <= offset < size, in whole milliseconds
}
