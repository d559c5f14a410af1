package main

import (
	"testing"

	"github.com/levadaflow/levada/event"
)

func TestParseLine(t *testing.T) {
	var r request
	at, ok := r.parseLine("2026-03-01T00:00:00.123Z user04217 200 9223372036854775807")
	if !ok || at.String() != "2026-03-01T00:00:00.123Z" || r.user != "user04217" || r.status != "200" || r.bytes != 1<<63-1 {
		t.Errorf("got %v %+v %v", at, r, ok)
	}
	if at, ok := r.parseLine("1970-01-01T01:00:00+01:00 u s 0"); !ok || at != event.Time(0) {
		t.Errorf("got %v %v", at, ok)
	}
	const stamp = "2026-03-01T00:00:00.123Z"
	for _, line := range []string{
		"", " ", "-", stamp, stamp + " u 200", stamp + " u 200 ", stamp + " u 200 5 ", stamp + " u 200 5 6", stamp + "  200 5", stamp + " u  5",
		" " + stamp + " u 200 5", stamp + "  u 200 5", stamp + " u 200  5", stamp + "\tu 200 5", stamp + " u 200 -5", stamp + " u 200 +5",
		stamp + " u 200 5x", stamp + " u 200 0x5", stamp + " u 200 5_0", stamp + " u 200 9223372036854775808", stamp + " u 200 5\r",
		"yesterday u 200 5", "2026-02-29T00:00:00Z u 200 5", "2026-03-01T24:00:00Z u 200 5", "2026-03-01 00:00:00Z u 200 5",
	} {
		if _, ok := r.parseLine(line); ok {
			t.Errorf("%q was taken", line)
		}
	}
}

func FuzzParseLine(f *testing.F) {
	f.Add("2026-03-01T00:00:00.123Z user04217 200 5321")
	f.Fuzz(func(t *testing.T, line string) {
		var r request
		at, ok := r.parseLine(line)
		want, good := refParse(line)
		if ok != good {
			t.Fatalf("%q: taken %v, want %v", line, ok, good)
		}
		if ok && (at.Millis() != want.at.UnixMilli() || r.user != want.user || r.status != want.status || r.bytes != want.bytes || r.line != line) {
			t.Errorf("%q: got %v %+v, want %+v", line, at, r, want)
		}
	})
}
