package window

import (
	"fmt"
	"time"

	"github.com/levadaflow/levada/event"
)

// CalendarWindows are days, weeks, months or years of a time zone's calendar, with the length that they have there: a day
// may have 23 hours. See [Days], [Weeks], [Months] and [Years].
type CalendarWindows struct {
	unit unit
	zone *time.Location
}

type unit string

const (
	days   unit = "Days"
	weeks  unit = "Weeks"
	months unit = "Months"
	years  unit = "Years"
)

// Days begin at the zone's midnight. A nil zone is an error. (Beam's CalendarWindows.days; that one is wrong before 1970.)
func Days(zone *time.Location) CalendarWindows { return CalendarWindows{days, zone} }

// Weeks begin on Monday at the zone's midnight. A nil zone is an error.
func Weeks(zone *time.Location) CalendarWindows { return CalendarWindows{weeks, zone} }

// Months begin on their first day at the zone's midnight. A nil zone is an error.
func Months(zone *time.Location) CalendarWindows { return CalendarWindows{months, zone} }

// Years begin on the first of January at the zone's midnight. A nil zone is an error.
func Years(zone *time.Location) CalendarWindows { return CalendarWindows{years, zone} }

// Validate implements [Fn].
func (c CalendarWindows) Validate() error {
	if c.unit == "" || c.zone == nil {
		return fmt.Errorf("%w: %v: the zone must be set", ErrBadWindow, c)
	}
	return nil
}

// Assign implements [Fn]: one window; none for a time after event.EndOfGlobal.
func (c CalendarWindows) Assign(dst []event.Window, t event.Time) []event.Window {
	if t > event.EndOfGlobal {
		return dst
	}
	local := t.Time().In(c.zone)
	y, m, d := local.Date()
	var start, end event.Time
	switch c.unit {
	case days:
		start, end = c.midnight(y, m, d), c.midnight(y, m, d+1)
	case weeks:
		d -= (int(local.Weekday()) + 6) % 7
		start, end = c.midnight(y, m, d), c.midnight(y, m, d+7)
	case months:
		start, end = c.midnight(y, m, 1), c.midnight(y, m+1, 1)
	case years:
		start, end = c.midnight(y, 1, 1), c.midnight(y+1, 1, 1)
	}
	return append(dst, event.Window{Start: min(start, t), End: min(end, event.EndOfGlobal+1)})
}

// midnight returns when a day begins.
func (c CalendarWindows) midnight(y int, m time.Month, d int) event.Time {
	return event.Time(time.Date(y, m, d, 0, 0, 0, 0, c.zone).UnixMilli())
}

// Merging implements [Fn]: false.
func (c CalendarWindows) Merging() bool { return false }

// Compatible implements [Fn]: with the same unit of a zone of the same name.
func (c CalendarWindows) Compatible(o Fn) bool {
	x, ok := o.(CalendarWindows)
	return ok && x.unit == c.unit && c.zone != nil && x.zone != nil && x.zone.String() == c.zone.String()
}

// String implements [Fn].
func (c CalendarWindows) String() string {
	if c.zone == nil {
		return fmt.Sprintf("window.%s(nil)", string(c.unit))
	}
	return fmt.Sprintf("window.%s(%v)", string(c.unit), c.zone)
}
