package main

import (
	"testing"
)

func TestParseLine(t *testing.T) {
	w, bytes, ok := parseLine("2026-03-01T00:00:00.123Z user04217 200 9223372036854775807")
	if !ok || w != (who{"user04217", "200"}) || bytes != 1<<63-1 {
		t.Errorf("got %+v %v %v", w, bytes, ok)
	}
	for line, want := range map[string]string{
		"2026-03-01T00:00:00.123Z user04217 200 5": "2026-03-01T00:00:00.123Z", "1970-01-01T01:00:00+01:00 u s 0": "1970-01-01T00:00:00.000Z",
	} {
		if at, ok := lineTime(line); !ok || at.String() != want {
			t.Errorf("%q: got %v %v", line, at, ok)
		}
		if _, _, ok := parseLine(line); !ok {
			t.Errorf("%q was not taken", line)
		}
	}
	const stamp = "2026-03-01T00:00:00.123Z"
	for _, line := range []string{
		"", " ", "-", stamp, stamp + " u 200", stamp + " u 200 ", stamp + " u 200 5 ", stamp + " u 200 5 6", stamp + "  200 5", stamp + " u  5",
		" " + stamp + " u 200 5", stamp + "  u 200 5", stamp + " u 200  5", stamp + "\tu 200 5", stamp + " u 200 -5", stamp + " u 200 +5",
		stamp + " u 200 5x", stamp + " u 200 0x5", stamp + " u 200 5_0", stamp + " u 200 9223372036854775808", stamp + " u 200 5\r",
		"yesterday u 200 5", "2026-02-29T00:00:00Z u 200 5", "2026-03-01T24:00:00Z u 200 5", "2026-03-01 00:00:00Z u 200 5",
	} {
		if _, _, ok := parseLine(line); ok {
			t.Errorf("%q was taken", line)
		}
	}
}

func FuzzParseLine(f *testing.F) {
	f.Add("2026-03-01T00:00:00.123Z user04217 200 5321")
	f.Fuzz(func(t *testing.T, line string) {
		w, bytes, ok := parseLine(line)
		at, _ := lineTime(line)
		want, good := refParse(line)
		if ok != good {
			t.Fatalf("%q: taken %v, want %v", line, ok, good)
		}
		if ok && (at.Millis() != want.at.UnixMilli() || w.user != want.user || w.status != want.status || bytes != want.bytes) {
			t.Errorf("%q: got %v %+v %v, want %+v", line, at, w, bytes, want)
		}
	})
}
