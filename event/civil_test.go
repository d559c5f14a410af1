package event

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Days and dates are each other's inverse, and the next day's date is the next in the calendar, over all of int64
// milliseconds.
func TestCivilDays(t *testing.T) {
	const limit = math.MaxInt64/86400000 + 1
	rapid.Check(t, func(t *rapid.T) {
		days := rapid.Int64Range(-limit, limit).Draw(t, "days")
		if rapid.Bool().Draw(t, "near") {
			days = rapid.Int64Range(-1000000, 1000000).Draw(t, "days")
		}
		y, m, d := civilFromDays(days)
		if m < 1 || m > 12 || d < 1 || int(d) > daysIn(int(y), int(m)) {
			t.Fatalf("civilFromDays(%d) = %d-%d-%d", days, y, m, d)
		}
		if back := daysFromCivil(y, m, d); back != days {
			t.Errorf("civilFromDays(%d) = %d-%d-%d, which is day %d", days, y, m, d, back)
		}
		switch d++; {
		case int(d) > daysIn(int(y), int(m)) && m == 12:
			y, m, d = y+1, 1, 1
		case int(d) > daysIn(int(y), int(m)):
			m, d = m+1, 1
		}
		if y2, m2, d2 := civilFromDays(days + 1); y2 != y || m2 != m || d2 != d {
			t.Errorf("civilFromDays(%d) = %d-%d-%d, want %d-%d-%d", days+1, y2, m2, d2, y, m, d)
		}
	})
}

func TestFloorDiv(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64Range(1, math.MaxInt64).Draw(t, "b")
		q := floorDiv(a, b)
		if r := a - q*b; r < 0 || r >= b { // modulo 2^64, r is exact
			t.Errorf("floorDiv(%d, %d) = %d, remainder %d", a, b, q, r)
		}
	})
}
