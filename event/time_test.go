package event_test

import (
	"errors"
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/levadaflow/levada/event"
)

// edges are the instants where arithmetic goes wrong if it does.
var edges = []event.Time{
	math.MinInt64, event.Min, -62167219200000, -62135596800000, -1000, 0, 253402300800000, event.EndOfGlobal, event.Max,
	math.MaxInt64,
}

// anyTime draws from all of int64, often from around an edge.
func anyTime() *rapid.Generator[event.Time] {
	return rapid.Custom(func(t *rapid.T) event.Time {
		if rapid.Bool().Draw(t, "near") {
			return event.Time(int64(rapid.SampledFrom(edges).Draw(t, "edge")) + rapid.Int64Range(-2000, 2000).Draw(t, "by"))
		}
		return event.Time(rapid.Int64().Draw(t, "millis"))
	})
}

// anyMillis draws from all of int64, often from around its ends and the range of event times.
func anyMillis() *rapid.Generator[int64] { return rapid.Map(anyTime(), event.Time.Millis) }

func bigInt(v int64) *big.Int { return big.NewInt(v) }

func clamp(v *big.Int, low, high int64) int64 {
	switch {
	case v.Cmp(bigInt(low)) < 0:
		return low
	case v.Cmp(bigInt(high)) > 0:
		return high
	}
	return v.Int64()
}

func TestFromTimeIsTheInverseOfTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := anyTime().Draw(t, "at")
		got, err := event.FromTime(at.Time())
		if at.Time().IsZero() {
			if !errors.Is(err, event.ErrZeroTime) {
				t.Fatalf("the zero time: %v", err)
			}
			return
		}
		if got != at || err != nil {
			t.Errorf("FromTime(%d.Time()) = %d, %v", at, got, err)
		}
	})
}

// FromTime floors: the millisecond that it gives begins at or before the time, and the next begins after it.
func TestFromTimeFloors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sec := rapid.Int64Range(math.MinInt64/1000, math.MaxInt64/1000-1).Draw(t, "sec")
		nano := rapid.Int64Range(0, 999_999_999).Draw(t, "nano")
		zone := time.FixedZone("", rapid.IntRange(-50000, 50000).Draw(t, "zone"))
		at := time.Unix(sec, nano).In(zone)
		if at.IsZero() {
			return
		}
		got, err := event.FromTime(at)
		exact := new(big.Int).Add(new(big.Int).Mul(bigInt(sec), bigInt(1000)), bigInt(nano/1_000_000))
		if err != nil || got.Millis() != exact.Int64() {
			t.Errorf("FromTime(%v) = %d, %v, want %v", at, got, err, exact)
		}
	})
}

func TestFromTime(t *testing.T) {
	utc := func(y int, m time.Month, d, h, min, s, ns int) time.Time {
		return time.Date(y, m, d, h, min, s, ns, time.UTC)
	}
	for _, c := range []struct {
		name string
		at   time.Time
		want event.Time
	}{
		{"epoch", utc(1970, 1, 1, 0, 0, 0, 0), 0},
		{"a nanosecond before the epoch", utc(1969, 12, 31, 23, 59, 59, 999_999_999), -1},
		{"a nanosecond before a millisecond of 1969", utc(1969, 12, 31, 23, 59, 59, 997_999_999), -3},
		{"a nanosecond after the epoch", utc(1970, 1, 1, 0, 0, 0, 1), 0},
		{"year 1, a millisecond", utc(1, 1, 1, 0, 0, 0, 1_000_000), -62135596799999},
		{"year 0", utc(0, 1, 1, 0, 0, 0, 0), -62167219200000},
		{"before the range of nanoseconds", utc(1600, 2, 29, 12, 0, 0, 0), -11670955200000},
		{"the last day of nanoseconds", utc(2262, 4, 11, 23, 47, 16, 854_775_807), 9223372036854},
		{"after the range of nanoseconds", utc(2262, 4, 12, 0, 0, 0, 0), 9223372800000},
		{"2300", utc(2300, 1, 1, 0, 0, 0, 0), 10413792000000},
		{"9999", utc(9999, 12, 31, 23, 59, 59, 999_999_999), 253402300799999},
		{"in another zone", time.Date(2026, 3, 1, 1, 0, 0, 0, time.FixedZone("", 3600)), 1772323200000},
		{"min", time.UnixMilli(int64(event.Min)), event.Min},
		{"max", time.UnixMilli(int64(event.Max)), event.Max},
		{"the last millisecond of int64", time.Unix(9223372036854775, 807_999_999), math.MaxInt64},
		{"before that", time.Unix(9223372036854775, 5_000_000), math.MaxInt64 - 802},
		{"one later", time.Unix(9223372036854775, 808_000_000), math.MaxInt64},
		{"much later", time.Unix(math.MaxInt64/2, 0), math.MaxInt64},
		{"the first millisecond of int64", time.Unix(-9223372036854776, 192_000_000), math.MinInt64},
		{"the second", time.Unix(-9223372036854776, 193_000_000), math.MinInt64 + 1},
		{"one earlier", time.Unix(-9223372036854776, 191_999_999), math.MinInt64},
		{"much earlier", time.Unix(math.MinInt64/2, 0), math.MinInt64},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := event.FromTime(c.at)
			if err != nil || got != c.want {
				t.Errorf("FromTime(%v) = %d, %v, want %d", c.at, got, err, c.want)
			}
		})
	}
}

func TestZeroTimeIsRefused(t *testing.T) {
	for _, at := range []time.Time{{}, time.Date(1, 1, 1, 1, 0, 0, 0, time.FixedZone("", 3600))} {
		if _, err := event.FromTime(at); !errors.Is(err, event.ErrZeroTime) {
			t.Errorf("FromTime(%v): %v", at, err)
		}
		if _, err := event.FromStamp(at); !errors.Is(err, event.ErrZeroTime) {
			t.Errorf("FromStamp(%v): %v", at, err)
		}
	}
}

func TestFromStamp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := anyTime().Draw(t, "at")
		if got, err := event.FromStamp(at); got != at || err != nil {
			t.Errorf("FromStamp(%d) = %d, %v", at, got, err)
		}
		fromTime, wantErr := event.FromTime(at.Time())
		if got, err := event.FromStamp(at.Time()); got != fromTime || err != wantErr {
			t.Errorf("FromStamp(%v) = %d, %v, want %d, %v", at.Time(), got, err, fromTime, wantErr)
		}
	})
}

// The bounds are Beam's (beam-semantics 1.1).
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		at     event.Time
		millis int64
		text   string
	}{
		{event.Min, math.MinInt64 / 1000, "-290308-12-21T19:59:05.225Z (min)"},
		{event.Max, math.MaxInt64 / 1000, "+294247-01-10T04:00:54.775Z (max)"},
		{event.EndOfGlobal, 9223371950454775, "+294247-01-09T04:00:54.775Z (end of the global window)"},
		{event.Min + 1, math.MinInt64/1000 + 1, "-290308-12-21T19:59:05.226Z"},
		{event.Max - 1, math.MaxInt64/1000 - 1, "+294247-01-10T04:00:54.774Z"},
	} {
		if c.at.Millis() != c.millis || c.at.String() != c.text {
			t.Errorf("got %d %v, want %d %s", c.at.Millis(), c.at, c.millis, c.text)
		}
	}
}

func TestCheck(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := anyTime().Draw(t, "at")
		inside := event.Min <= at && at <= event.Max
		if err := at.Check(); (err == nil) != inside || err != nil && !errors.Is(err, event.ErrOutOfRange) {
			t.Errorf("%d.Check() = %v", at, err)
		}
	})
}

func TestSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkSums(t, anyTime().Draw(t, "at"), anyMillis().Draw(t, "ms")) })
	for _, at := range edges {
		for _, ms := range edges {
			checkSums(t, at, ms.Millis())
		}
	}
}

type errorer interface {
	Errorf(format string, args ...any)
}

func checkSums(t errorer, at event.Time, ms int64) {
	sum := new(big.Int).Add(bigInt(at.Millis()), bigInt(ms))
	if got, want := at.AddMillis(ms).Millis(), clamp(sum, math.MinInt64, math.MaxInt64); got != want {
		t.Errorf("%d.AddMillis(%d) = %d, want %d", at, ms, got, want)
	}
	if got, want := at.Plus(ms).Millis(), clamp(sum, int64(event.Min), int64(event.Max)); got != want {
		t.Errorf("%d.Plus(%d) = %d, want %d", at, ms, got, want)
	}
}

func TestAddFloorsTheDuration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at, d := anyTime().Draw(t, "at"), time.Duration(anyMillis().Draw(t, "d"))
		// Div rounds towards minus infinity for a positive divisor.
		ms := new(big.Int).Div(bigInt(int64(d)), bigInt(int64(time.Millisecond)))
		if got := event.FloorMillis(d); got != ms.Int64() {
			t.Errorf("FloorMillis(%d) = %d, want %v", d, got, ms)
		}
		want := clamp(new(big.Int).Add(bigInt(at.Millis()), ms), math.MinInt64, math.MaxInt64)
		if got := at.Add(d).Millis(); got != want {
			t.Errorf("%d.Add(%d) = %d, want %d", at, d, got, want)
		}
	})
}

func TestDifferences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyTime().Draw(t, "a"), anyTime().Draw(t, "b")
		if rapid.Bool().Draw(t, "close") {
			b = a.AddMillis(rapid.Int64Range(-10_000_000_000_000, 10_000_000_000_000).Draw(t, "by"))
		}
		checkDifferences(t, a, b)
	})
	for _, a := range edges {
		for _, b := range edges {
			checkDifferences(t, a, b)
		}
	}
}

func checkDifferences(t errorer, a, b event.Time) {
	diff := new(big.Int).Sub(bigInt(a.Millis()), bigInt(b.Millis()))
	if got, want := a.MillisSince(b), clamp(diff, math.MinInt64, math.MaxInt64); got != want {
		t.Errorf("%d.MillisSince(%d) = %d, want %d", a, b, got, want)
	}
	nanos := new(big.Int).Mul(diff, bigInt(int64(time.Millisecond)))
	if got, want := int64(a.Sub(b)), clamp(nanos, math.MinInt64, math.MaxInt64); got != want {
		t.Errorf("%d.Sub(%d) = %d, want %d", a, b, got, want)
	}
}
