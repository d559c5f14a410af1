package event

import (
	"errors"
	"math"
	"time"
)

// Time is an instant of event time, in milliseconds since the Unix epoch (1970-01-01T00:00:00Z), negative before it.
// Its zero value is the epoch. Any int64 can be held, but an element's time lies in [Min, Max].
type Time int64

const (
	// Min is the smallest time that an element can have, and where every watermark starts:
	// -290308-12-21T19:59:05.225Z (Beam's BoundedWindow.TIMESTAMP_MIN_VALUE, Long.MIN_VALUE microseconds).
	Min Time = -9223372036854775
	// Max is the largest time that an element can have; a watermark at Max says that nothing more will come:
	// +294247-01-10T04:00:54.775Z (Beam's BoundedWindow.TIMESTAMP_MAX_VALUE).
	Max Time = 9223372036854775
	// EndOfGlobal is the last instant of the global window, one day before Max (Beam's GlobalWindow.maxTimestamp).
	EndOfGlobal Time = Max - 24*60*60*1000
)

var (
	// ErrZeroTime is returned for the zero time.Time, which is what a forgotten field holds.
	ErrZeroTime = errors.New("the zero time.Time is not an event time: the field was never set")
	// ErrOutOfRange is returned for a time outside of [Min, Max].
	ErrOutOfRange = errors.New("time outside of the range of event times")
)

// Stamp is what a user's time function may return: a time.Time, which is floored to the millisecond, or a Time.
type Stamp interface{ time.Time | Time }

// FromTime floors t to the millisecond. It is exact for every year that time.Time can hold and that int64 milliseconds can
// hold; beyond, it saturates at the ends of int64. The zero time.Time is ErrZeroTime. The range [Min, Max] is not checked:
// that is done where an element is emitted.
func FromTime(t time.Time) (Time, error) {
	if t.IsZero() {
		return 0, ErrZeroTime
	}
	sec, ms := t.Unix(), int64(t.Nanosecond())/1e6
	if sec < 0 { // so that the product is in int64 wherever the sum is
		sec, ms = sec+1, ms-1000
	}
	switch {
	case sec > math.MaxInt64/1000:
		return math.MaxInt64, nil
	case sec < math.MinInt64/1000:
		return math.MinInt64, nil
	}
	return Time(sec * 1000).AddMillis(ms), nil
}

// FromStamp returns s as a Time: a Time as it is, a time.Time as [FromTime] does.
func FromStamp[S Stamp](s S) (Time, error) {
	switch v := any(s).(type) {
	case Time:
		return v, nil
	case time.Time:
		return FromTime(v)
	}
	panic("event: a Stamp is a time.Time or an event.Time")
}

// Time returns t as a time.Time in UTC, exactly.
func (t Time) Time() time.Time { return time.UnixMilli(int64(t)).UTC() }

// Millis returns the milliseconds since the epoch.
func (t Time) Millis() int64 { return int64(t) }

// Check returns an error that wraps [ErrOutOfRange] if t is outside of [Min, Max].
func (t Time) Check() error {
	if t < Min || t > Max {
		return ErrOutOfRange
	}
	return nil
}

// Add returns t+d for user code. d is floored to the millisecond. The sum saturates only at the ends of int64, so that a
// result outside of [Min, Max] is seen and refused where it is used.
func (t Time) Add(d time.Duration) Time { return t.AddMillis(FloorMillis(d)) }

// AddMillis returns t plus ms milliseconds, saturating at the ends of int64.
func (t Time) AddMillis(ms int64) Time {
	s := int64(t) + ms
	switch {
	case ms > 0 && s < int64(t):
		return math.MaxInt64
	case ms < 0 && s > int64(t):
		return math.MinInt64
	}
	return Time(s)
}

// Plus returns t plus ms milliseconds as the engine adds: within [Min, Max].
func (t Time) Plus(ms int64) Time { return min(max(t.AddMillis(ms), Min), Max) }

// Floor returns the greatest time <= t of the grid offset + n*step. step is greater than 0.
func (t Time) Floor(step, offset Time) Time {
	r := (t - offset) % step
	if r < 0 {
		r += step
	}
	return t - r
}

// Sub returns t-u, saturating at the ends of time.Duration (292 years).
func (t Time) Sub(u Time) time.Duration {
	d := t.MillisSince(u)
	const limit = math.MaxInt64 / int64(time.Millisecond)
	switch {
	case d > limit:
		return math.MaxInt64
	case d < -limit:
		return math.MinInt64
	}
	return time.Duration(d) * time.Millisecond
}

// MillisSince returns t-u in milliseconds, saturating at the ends of int64.
func (t Time) MillisSince(u Time) int64 {
	d := int64(t) - int64(u)
	switch {
	case u < 0 && t > 0 && d < 0, u < 0 && t == 0 && d < 0:
		return math.MaxInt64
	case u > 0 && t < 0 && d > 0:
		return math.MinInt64
	}
	return d
}

// String returns RFC 3339 with milliseconds, in UTC; years outside of 0 to 9999 have a sign. Min, Max and EndOfGlobal have
// their name after it.
func (t Time) String() string {
	s := string(t.AppendRFC3339(nil))
	switch t {
	case Min:
		return s + " (min)"
	case Max:
		return s + " (max)"
	case EndOfGlobal:
		return s + " (end of the global window)"
	}
	return s
}

// FloorMillis returns d in milliseconds, rounded towards minus infinity.
func FloorMillis(d time.Duration) int64 {
	ms := int64(d / time.Millisecond)
	if d%time.Millisecond < 0 {
		ms--
	}
	return ms
}
