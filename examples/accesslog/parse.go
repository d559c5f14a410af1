package main

import (
	"strconv"

	"github.com/levadaflow/levada/event"
)

// request is what a line says, but for its time.
type request struct {
	who
	hit
}

// who are the parts of a line that can be keys.
type who struct{ user, status string }

// hit is what is needed of a request when its key is known: it goes from task to task and should be small.
type hit struct {
	line  string // the whole line
	bytes int64
}

// parseLine parses "2026-03-01T00:00:00.123Z user04217 200 5321": four fields with single spaces between them, the first a
// time in RFC 3339, the last digits of a number that int64 holds. ok is false for everything else. (It returns little, so that
// the request is put together where it is emitted: see the doc of levada.Map.)
func parseLine(line string) (w who, bytes int64, ok bool) {
	_, rest, timed := event.CutRFC3339(line)
	user, rest := cut(rest)
	status, size := cut(rest)
	bytes, ok = parseDigits(size)
	return who{user, status}, bytes, timed && ok && user != "" && status != ""
}

// cut cuts s at its first space, which goes. (Fields are short: this is faster than strings.Cut.)
func cut(s string) (before, after string) {
	for i := range len(s) {
		if s[i] == ' ' {
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

// parseDigits parses a number without a sign.
func parseDigits(s string) (n int64, ok bool) {
	if len(s) > 18 { // it may be more than int64 holds
		n, err := strconv.ParseUint(s, 10, 63)
		return int64(n), err == nil
	}
	for _, c := range []byte(s) {
		digit := c - '0'
		if digit > 9 {
			return 0, false
		}
		n = n*10 + int64(digit)
	}
	return n, s != ""
}
