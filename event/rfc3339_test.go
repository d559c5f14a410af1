package event_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/levadaflow/levada/event"
)

const (
	year0     event.Time = -62167219200000
	endOf9999 event.Time = 253402300799999
	layout               = "2006-01-02T15:04:05.000Z"
	shortForm            = "2006-01-02T15:04:05Z"
)

// slowFormat moves t by whole cycles of 400 years to where the time package knows it, and the year back.
func slowFormat(t event.Time, layout string) string {
	const cycle = 146097 * 24 * 60 * 60 * 1000
	base := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	n, rest := new(big.Int).DivMod(new(big.Int).Sub(bigInt(t.Millis()), bigInt(base)), bigInt(cycle), new(big.Int))
	at := time.UnixMilli(base + rest.Int64()).UTC()
	year := int64(at.Year()) + 400*n.Int64()
	text := at.Format(layout)[4:]
	switch {
	case year < 0:
		return fmt.Sprintf("-%04d%s", -year, text)
	case year > 9999:
		return fmt.Sprintf("+%d%s", year, text)
	}
	return fmt.Sprintf("%04d%s", year, text)
}

func TestAppendRFC3339(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := anyTime().Draw(t, "at")
		if got, want := string(at.AppendRFC3339([]byte("x"))), "x"+slowFormat(at, layout); got != want {
			t.Errorf("%d: got %s, want %s", at, got, want)
		}
		if got, want := string(at.AppendRFC3339Seconds(nil)), slowFormat(at, shortForm); got != want {
			t.Errorf("%d: got %s, want %s", at, got, want)
		}
		if got := at.String(); !strings.HasPrefix(got, slowFormat(at, layout)) {
			t.Errorf("%d.String() = %s", at, got)
		}
	})
}

func TestCommonYearsAsTheTimePackage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := event.Time(rapid.Int64Range(int64(year0), int64(endOf9999)).Draw(t, "at"))
		if got, want := string(at.AppendRFC3339(nil)), at.Time().Format(layout); got != want {
			t.Errorf("%d: got %s, want %s", at, got, want)
		}
		if got, err := event.ParseRFC3339(at.String()); got != at || err != nil {
			t.Errorf("ParseRFC3339(%v) = %d, %v, want %d", at, got, err, at)
		}
		cut := at.AppendRFC3339Seconds(nil)
		if got, err := event.ParseRFC3339(cut); err != nil || got > at || at-got >= 1000 || got%1000 != 0 {
			t.Errorf("ParseRFC3339(%s) = %d, %v, for %d", cut, got, err, at)
		}
	})
}

// text draws something that is, or nearly is, a time in RFC 3339.
func text(t *rapid.T) string {
	number := func(name string, format string, low, high int) string {
		return fmt.Sprintf(format, rapid.IntRange(low, high).Draw(t, name))
	}
	years := []string{"0000", "0001", "1600", "1900", "1969", "1970", "2000", "2024", "2026", "9999"}
	year := rapid.SampledFrom(years).Draw(t, "year")
	if rapid.Bool().Draw(t, "any year") {
		year = number("year", "%04d", 0, 9999)
	}
	s := year + "-" + number("month", "%02d", 0, 13) + "-" + number("day", "%02d", 0, 32) + "T" +
		number("hour", "%02d", 0, 24) + ":" + number("minute", "%02d", 0, 60) + ":" + number("second", "%02d", 0, 60)
	s += rapid.SampledFrom([]string{"", rapid.StringMatching(`[.][0-9]{3}`).Draw(t, "millis"),
		rapid.StringMatching(`[.,][0-9]{1,9}`).Draw(t, "fraction"), "."}).Draw(t, "which")
	offset := rapid.StringMatching(`[+-][012][0-9]:[0-6][0-9]`).Draw(t, "offset")
	s += rapid.SampledFrom([]string{"Z", "Z", "z", "", offset}).Draw(t, "zone")
	if rapid.IntRange(0, 3).Draw(t, "mutate") == 0 {
		i := rapid.IntRange(0, len(s)-1).Draw(t, "at")
		bytes := []string{"", "0", "9", "-", ":", "T", "t", " ", "Z", ".", "/", "\xff", "é", "\x00"}
		with := rapid.SampledFrom(bytes).Draw(t, "with")
		s = s[:i] + with + s[i+rapid.IntRange(0, 1).Draw(t, "drop"):]
	}
	return s
}

func checkParse(t errorer, s string) {
	want, wantErr := time.Parse(time.RFC3339Nano, s)
	got, err := event.ParseRFC3339(s)
	if (err == nil) != (wantErr == nil) || err == nil && got.Millis() != want.UnixMilli() {
		t.Errorf("ParseRFC3339(%q) = %d, %v; the time package says %d, %v", s, got, err, want.UnixMilli(), wantErr)
	}
	if fromBytes, bytesErr := event.ParseRFC3339([]byte(s)); fromBytes != got || (bytesErr == nil) != (err == nil) {
		t.Errorf("ParseRFC3339([]byte(%q)) = %d, %v; of the string: %d, %v", s, fromBytes, bytesErr, got, err)
	}
}

func TestParseAsTheTimePackage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			checkParse(t, text(t))
		}
	})
	rapid.Check(t, func(t *rapid.T) { checkParse(t, rapid.String().Draw(t, "s")) })
}

// Every day that there is, and every one that there is not, at all lengths of February.
func TestParseEveryDay(t *testing.T) {
	for _, year := range []int{0, 1, 4, 100, 400, 1900, 1968, 1970, 2000, 2023, 2024, 2100, 9999} {
		for month := range 14 {
			for day := range 34 {
				checkParse(t, fmt.Sprintf("%04d-%02d-%02dT12:34:56.789Z", year, month, day))
			}
		}
	}
}

func TestParseRFC3339(t *testing.T) {
	const bad = "error"
	for _, c := range []struct{ in, want string }{
		{"1970-01-01T00:00:00.000Z", "0"},
		{"1970-01-01T00:00:00Z", "0"},
		{"1969-12-31T23:59:59.999Z", "-1"},
		{"1969-12-31T23:59:59.9989Z", "-2"},
		{"2026-03-01T00:00:00.123999999Z", "1772323200123"},
		{"2026-03-01T01:00:00.1+01:00", "1772323200100"},
		{"2026-02-28T23:30:00-00:30", "1772323200000"},
		{"2024-02-29T00:00:00.000Z", "1709164800000"},
		{"2000-02-29T00:00:00.000Z", "951782400000"},
		{"2023-02-29T00:00:00.000Z", bad},
		{"1900-02-29T00:00:00.000Z", bad},
		{"2016-12-31T23:59:60.000Z", bad}, // a leap second
		{"2016-12-31T23:59:60Z", bad},
		{"2026-03-01T24:00:00.000Z", bad},
		{"2026-03-01T00:60:00.000Z", bad},
		{"0000-01-01T00:00:00.000Z", "-62167219200000"},
		{"0001-01-01T00:00:00.000Z", "-62135596800000"},
		{"9999-12-31T23:59:59.999Z", "253402300799999"},
		{"9999-12-31T23:59:59.999-23:59", "253402387139999"},
		{"+10000-01-01T00:00:00.000Z", bad},
		{"2026-03-01", bad},
		{"", bad},
	} {
		checkParse(t, c.in)
		got := bad
		if at, err := event.ParseRFC3339(c.in); err == nil {
			got = fmt.Sprint(at.Millis())
		}
		if got != c.want {
			t.Errorf("ParseRFC3339(%q) = %s, want %s", c.in, got, c.want)
		}
	}
}

func TestNoAllocations(t *testing.T) {
	s, b, buf := "2026-03-01T12:34:56.789Z", []byte("2026-03-01T12:34:56.789Z"), make([]byte, 0, 64)
	var sum event.Time
	for name, f := range map[string]func(){
		"ParseRFC3339(string)": func() { at, _ := event.ParseRFC3339(s); sum += at },
		"ParseRFC3339([]byte)": func() { at, _ := event.ParseRFC3339(b); sum += at },
		"AppendRFC3339":        func() { buf = event.Time(1772323200123).AppendRFC3339(buf[:0]) },
		"AppendRFC3339Seconds": func() { buf = event.Time(-1772323200123).AppendRFC3339Seconds(buf[:0]) },
		"CheckMove":            func() { _ = event.CheckMove(1000, 500, 500) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkParseRFC3339(b *testing.B) {
	s := "2026-03-01T00:00:00.123Z"
	b.ReportAllocs()
	for b.Loop() {
		if _, err := event.ParseRFC3339(s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendRFC3339(b *testing.B) {
	var buf [32]byte
	b.ReportAllocs()
	for b.Loop() {
		event.Time(1772323200123).AppendRFC3339Seconds(buf[:0])
	}
}

func TestCutRFC3339(t *testing.T) {
	for _, c := range []struct {
		s, rest string
		ok      bool
	}{
		{"1970-01-01T00:00:01.000Z a b", "a b", true}, {"1970-01-01T00:00:01Z a", "a", true}, {"1970-01-01T00:00:01Z", "", true},
		{"1970-01-01T00:00:01.000Z", "", true}, {"1970-01-01T00:00:01.000Z ", "", true}, {"1970-01-01T01:00:01+01:00  x", " x", true},
		{"1970-01-01T00:00:01.000000000Z x", "x", true}, {"", "", false}, {" 1970-01-01T00:00:01Z", "1970-01-01T00:00:01Z", false},
		{"1970-01-01T00:00:01.000Y a", "a", false}, {"1970-01-01T00:00:01.000Za b", "b", false},
	} {
		at, rest, ok := event.CutRFC3339(c.s)
		if rest != c.rest || ok != c.ok || ok && at != 1000 {
			t.Errorf("%q: %v, %q, %v", c.s, at, rest, ok)
		}
		if at2, rest2, ok2 := event.CutRFC3339([]byte(c.s)); at2 != at || string(rest2) != rest || ok2 != ok {
			t.Errorf("%q as bytes: %v, %q, %v", c.s, at2, rest2, ok2)
		}
	}
	line := "2026-03-01T00:00:00.123Z user04217 200 5321"
	if n := testing.AllocsPerRun(100, func() { event.CutRFC3339(line) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestParseEveryByte shows that every byte at every place of the fixed form is taken or refused as the standard library does.
func TestParseEveryByte(t *testing.T) {
	for _, good := range []string{"2026-03-01T05:04:03.123Z", "2026-03-01T05:04:03Z", "1999-12-31T23:59:59.999Z"} {
		for i := range good {
			for b := range 256 {
				s := good[:i] + string([]byte{byte(b)}) + good[i+1:]
				want, wantErr := time.Parse(time.RFC3339Nano, s)
				got, err := event.ParseRFC3339(s)
				if (err == nil) != (wantErr == nil) || err == nil && got.Millis() != want.UnixMilli() {
					t.Errorf("%q: %v, %v; want %v, %v", s, got, err, want, wantErr)
				}
			}
		}
	}
}
