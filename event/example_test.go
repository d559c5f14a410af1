package event_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/levadaflow/levada/event"
)

func ExampleFromTime() {
	at, _ := event.FromTime(time.Date(1969, 12, 31, 23, 59, 59, 999_999_999, time.UTC))
	fmt.Println(at.Millis(), at)

	var forgotten struct{ At time.Time }
	_, err := event.FromTime(forgotten.At)
	fmt.Println(errors.Is(err, event.ErrZeroTime))
	// Output:
	// -1 1969-12-31T23:59:59.999Z
	// true
}

func ExampleParseRFC3339() {
	at, err := event.ParseRFC3339("2026-03-01T01:00:00.123+01:00")
	fmt.Println(at, err)
	at, err = event.ParseRFC3339([]byte("2026-03-01T00:00:00.123Z"))
	fmt.Println(at.Millis(), err)
	// Output:
	// 2026-03-01T00:00:00.123Z <nil>
	// 1772323200123 <nil>
}

func ExampleWindow() {
	w := event.Window{Start: 0, End: 60_000}
	fmt.Println(w)
	fmt.Println(w.Contains(0), w.Contains(59_999), w.Contains(60_000))
	fmt.Println("takes elements up to the watermark", w.Expiry(5_000))
	// Output:
	// [1970-01-01T00:00:00.000Z, 1970-01-01T00:01:00.000Z)
	// true true false
	// takes elements up to the watermark 1970-01-01T00:01:04.999Z
}

func ExampleCheckMove() {
	fmt.Println(event.CheckMove(10_000, 9_000, 1_000))
	err := event.CheckMove(10_000, 8_999, 1_000)
	fmt.Println(errors.Is(err, event.ErrSkew))
	fmt.Println(event.CheckMove(10_000, event.Min, event.AnySkew))
	// Output:
	// <nil>
	// true
	// <nil>
}

func ExamplePane() {
	fmt.Println(event.Pane{Timing: event.OnTime, First: true})
	fmt.Println(event.Pane{Timing: event.Late, Last: true, Index: 1, OnTimeIndex: 1})
	fmt.Println(event.NoPane)
	// Output:
	// on-time/0/0/F
	// late/1/1/L
	// none
}

func ExampleKV() {
	fmt.Println(event.KV[string, int]{Key: "clicks", Value: 3})
	// Output: clicks: 3
}
