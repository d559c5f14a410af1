package scenario

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/levadaflow/levada/event"
)

// Inf is what [ParseBound] returns for "inf", in milliseconds.
const Inf = math.MaxInt64

// The times that have a name.
const (
	minName = "min"
	maxName = "max"
	endName = "eogw"
)

// ParseTime parses an event time: an integer in milliseconds since the epoch (any int64, also one outside of the range of
// event times), a Go duration since the epoch ("1m30s", "-1ms") in whole milliseconds, or "min", "max" or "eogw" (the last
// instant of the global window).
func ParseTime(s string) (event.Time, error) {
	switch s {
	case minName:
		return event.Min, nil
	case maxName:
		return event.Max, nil
	case endName:
		return event.EndOfGlobal, nil
	}
	ms, ok := parseMillis(s)
	if !ok {
		return 0, fmt.Errorf("bad time %q: want milliseconds, a duration in whole milliseconds, min, max or eogw", s)
	}
	return event.Time(ms), nil
}

// FormatTime returns t as "min", "max", "eogw" or an integer in milliseconds. ParseTime is its inverse, for every t.
func FormatTime(t event.Time) string {
	switch t {
	case event.Min:
		return minName
	case event.Max:
		return maxName
	case event.EndOfGlobal:
		return endName
	}
	return strconv.FormatInt(int64(t), 10)
}

// ParseDuration parses a duration and returns it in milliseconds: an integer in milliseconds (any int64), or a Go duration
// in whole milliseconds. It may be negative.
func ParseDuration(s string) (int64, error) {
	ms, ok := parseMillis(s)
	if !ok {
		return 0, fmt.Errorf("bad duration %q: want milliseconds or a duration in whole milliseconds", s)
	}
	return ms, nil
}

// ParseBound parses what ParseDuration does, and "inf", which is [Inf]: a lateness or a skew.
func ParseBound(s string) (int64, error) {
	if s == "inf" {
		return Inf, nil
	}
	ms, ok := parseMillis(s)
	if !ok {
		return 0, fmt.Errorf("bad duration %q: want milliseconds, a duration in whole milliseconds, or inf", s)
	}
	return ms, nil
}

// parseMillis parses an integer or a Go duration, without a leading plus.
func parseMillis(s string) (int64, bool) {
	if strings.HasPrefix(s, "+") {
		return 0, false
	}
	if ms, err := strconv.ParseInt(s, 10, 64); err == nil {
		return ms, true
	}
	d, err := time.ParseDuration(s)
	if err != nil || d%time.Millisecond != 0 {
		return 0, false
	}
	return int64(d / time.Millisecond), true
}

// FormatWindow returns "global", or "[start,end)" with the end exclusive and the bounds as FormatTime has them: a bound
// beyond min or max is the integer it is. A label is not written.
func FormatWindow(w event.Window) string {
	if w.IsGlobal() {
		return "global"
	}
	return "[" + FormatTime(w.Start) + "," + FormatTime(w.End) + ")"
}

// FormatPane returns "timing/index/on-time-index/flags", as [event.Pane.String] does, and "" for [event.NoPane]: an element
// that no trigger has fired has no pane field.
func FormatPane(p event.Pane) string {
	if p == event.NoPane {
		return ""
	}
	return p.String()
}
