package window_test

import (
	"errors"
	"fmt"
	"testing"
	"time"
	_ "time/tzdata"

	"pgregory.net/rapid"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/window"
)

var calendars = []func(*time.Location) window.CalendarWindows{window.Days, window.Weeks, window.Months, window.Years}

// TestCalendar shows that a window contains its element, that it begins and ends with a day of the zone, that all times in it
// have the same window, and that the next one begins where it ends.
func TestCalendar(t *testing.T) {
	var zones []*time.Location
	for _, name := range []string{"UTC", "America/New_York", "Europe/Berlin", "Asia/Kolkata", "Pacific/Apia", "Australia/Lord_Howe"} {
		z, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		zones = append(zones, z)
	}
	rapid.Check(t, func(t *rapid.T) {
		fn := rapid.SampledFrom(calendars).Draw(t, "unit")(rapid.SampledFrom(zones).Draw(t, "zone"))
		limit := int64(200 * 366 * 86_400_000)
		at := event.Time(rapid.Int64Range(-limit, limit).Draw(t, "time"))
		w := fn.Assign(nil, at)[0]
		if !w.Contains(at) {
			t.Fatalf("%v: %v is not in %v", fn, at, w)
		}
		for _, other := range []event.Time{w.Start, w.Last(), w.Start + (w.End-w.Start)/2} {
			if x := fn.Assign(nil, other)[0]; x != w {
				t.Fatalf("%v: %v is in %v and not in %v", fn, other, x, w)
			}
		}
		if next := fn.Assign(nil, w.End)[0]; next.Start != w.End {
			t.Fatalf("%v: %v follows %v", fn, next, w)
		}
	})
}

func TestCalendarEnds(t *testing.T) {
	for _, f := range calendars {
		fn := f(time.UTC)
		for _, at := range []event.Time{event.Min, event.EndOfGlobal} {
			if w := fn.Assign(nil, at)[0]; !w.Contains(at) || w.End > event.EndOfGlobal+1 {
				t.Errorf("%v: %v is in %v", fn, at, w)
			}
		}
		if len(fn.Assign(nil, event.EndOfGlobal+1)) != 0 {
			t.Errorf("%v has a window after the global one", fn)
		}
		if err := f(nil).Validate(); !errors.Is(err, window.ErrBadWindow) {
			t.Errorf("without a zone: %v", err)
		}
		if fn.Merging() || fn.Validate() != nil || !fn.Compatible(f(time.UTC)) || fn.Compatible(window.Fixed(time.Hour)) || fn.Compatible(f(nil)) {
			t.Errorf("%v is not what it is", fn)
		}
	}
}

// In New York the eighth of March 2026 has 23 hours.
func ExampleDays() {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		fmt.Println(err)
		return
	}
	at, _ := event.FromTime(time.Date(2026, 3, 8, 12, 0, 0, 0, zone))
	w := window.Days(zone).Assign(nil, at)[0]
	fmt.Println(w, w.End.Sub(w.Start))
	// Output: [2026-03-08T05:00:00.000Z, 2026-03-09T04:00:00.000Z) 23h0m0s
}

func ExampleWeeks() {
	at, _ := event.FromTime(time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC))
	fmt.Println(window.Weeks(time.UTC).Assign(nil, at)[0])
	fmt.Println(window.Months(time.UTC).Assign(nil, at)[0])
	fmt.Println(window.Years(time.UTC).Assign(nil, at)[0])
	// Output:
	// [2026-03-02T00:00:00.000Z, 2026-03-09T00:00:00.000Z)
	// [2026-03-01T00:00:00.000Z, 2026-04-01T00:00:00.000Z)
	// [2026-01-01T00:00:00.000Z, 2027-01-01T00:00:00.000Z)
}
