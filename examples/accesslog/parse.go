package main

import (
	"math"
	"strings"

	"github.com/levadaflow/levada/event"
)

// request is what a line says, but for its time.
type request struct {
	line, user, status string // user and status are parts of the line
	bytes              int64
}

// parseLine parses "2026-03-01T00:00:00.123Z user04217 200 5321": four fields with single spaces between them, the first a
// time in RFC 3339, the last digits of a number that int64 holds. ok is false for everything else.
func parseLine(line string) (at event.Time, r request, ok bool) {
	stamp, rest, _ := strings.Cut(line, " ")
	user, rest, _ := strings.Cut(rest, " ")
	status, size, _ := strings.Cut(rest, " ")
	if user == "" || status == "" {
		return 0, request{}, false
	}
	bytes, ok := parseDigits(size)
	if !ok {
		return 0, request{}, false
	}
	at, err := event.ParseRFC3339(stamp)
	return at, request{line, user, status, bytes}, err == nil
}

// parseDigits parses a number without a sign.
func parseDigits(s string) (n int64, ok bool) {
	for _, c := range []byte(s) {
		digit := int64(c) - '0'
		if digit < 0 || digit > 9 || n > (math.MaxInt64-digit)/10 {
			return 0, false
		}
		n = n*10 + digit
	}
	return n, s != ""
}
