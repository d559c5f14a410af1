package scenario

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/window"
)

func TestParseTime(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want event.Time
	}{
		{"0", 0}, {"-1", -1}, {"1m30s", 90000}, {"-1ms", -1}, {"14m59.999s", 899999}, {"1h14m59.999s", 4499999},
		{"1152h", 4147200000}, {"-45m", -2700000}, {"min", event.Min}, {"max", event.Max}, {"eogw", event.EndOfGlobal},
		{"9223372036854776", event.Max + 1}, {"-62135596800000", -62135596800000}, {"1000us", 1},
		{"9223372036854775807", math.MaxInt64}, {"-9223372036854775808", math.MinInt64},
	} {
		got, err := ParseTime(tt.in)
		if err != nil || got != tt.want {
			t.Errorf("ParseTime(%q) = %d, %v, want %d", tt.in, got, err, tt.want)
		}
	}
	for _, in := range []string{"", "x", "inf", "1.5", "1us", "1ms1ns", "+1", "+1s", "--1", "0x10", "1 s",
		"9223372036854775808", "2562048h", "Max"} {
		if got, err := ParseTime(in); err == nil {
			t.Errorf("ParseTime(%q) = %d, want an error", in, got)
		}
	}
}

func TestFormatTimeIsInverse(t *testing.T) {
	named := rapid.SampledFrom([]event.Time{event.Min, event.Max, event.EndOfGlobal})
	offset := rapid.Int64Range(-2, 2)
	near := rapid.Custom(func(t *rapid.T) event.Time {
		return named.Draw(t, "named") + event.Time(offset.Draw(t, "offset"))
	})
	anywhere := rapid.Map(rapid.Int64(), func(ms int64) event.Time { return event.Time(ms) })
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.OneOf(near, anywhere).Draw(t, "time")
		if got, err := ParseTime(FormatTime(want)); err != nil || got != want {
			t.Fatalf("ParseTime(%q) = %d, %v, want %d", FormatTime(want), got, err, want)
		}
	})
	for _, end := range []event.Time{math.MinInt64, math.MaxInt64} {
		if got, err := ParseTime(FormatTime(end)); err != nil || got != end {
			t.Errorf("ParseTime(%q) = %d, %v, want %d", FormatTime(end), got, err, end)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want int64
	}{{"0", 0}, {"-60", -60}, {"1m", 60000}, {"-1001ms", -1001}, {"315537897599999", 315537897599999}} {
		if got, err := ParseDuration(tt.in); err != nil || got != tt.want {
			t.Errorf("ParseDuration(%q) = %d, %v, want %d", tt.in, got, err, tt.want)
		}
		if got, err := ParseBound(tt.in); err != nil || got != tt.want {
			t.Errorf("ParseBound(%q) = %d, %v, want %d", tt.in, got, err, tt.want)
		}
	}
	for _, in := range []string{"", "inf", "min", "+1s", "1ns", "fast"} {
		if got, err := ParseDuration(in); err == nil {
			t.Errorf("ParseDuration(%q) = %d, want an error", in, got)
		}
		if got, err := ParseBound(in); err == nil != (in == "inf") || err == nil && got != Inf {
			t.Errorf("ParseBound(%q) = %d, %v", in, got, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Int64Range(math.MinInt64/1000000, math.MaxInt64/1000000).Draw(t, "ms")
		if got, err := ParseDuration((time.Duration(want) * time.Millisecond).String()); err != nil || got != want {
			t.Fatalf("got %d, %v, want %d", got, err, want)
		}
	})
}

func TestFormat(t *testing.T) {
	first := window.Fixed(10*time.Minute).Assign(nil, event.Min)[0]
	for _, tt := range []struct {
		in   event.Window
		want string
	}{
		{event.Global(), "global"},
		{event.Window{Start: 0, End: 60000}, "[0,60000)"},
		{event.Window{Start: event.Min, End: event.EndOfGlobal + 1}, "[min,9223371950454776)"},
		{first, "[-9223372037400000,-9223372036800000)"},
	} {
		if got := FormatWindow(tt.in); got != tt.want {
			t.Errorf("FormatWindow(%v) = %s, want %s", tt.in, got, tt.want)
		}
	}
	for _, tt := range []struct {
		in   event.Pane
		want string
	}{
		{event.NoPane, ""},
		{event.Pane{Timing: event.Early, First: true, OnTimeIndex: -1}, "early/0/-1/F"},
		{event.Pane{Timing: event.OnTime, First: true, Last: true}, "on-time/0/0/FL"},
		{event.Pane{Timing: event.Late, Index: 2, OnTimeIndex: 1}, "late/2/1/-"},
	} {
		if got := FormatPane(tt.in); got != tt.want {
			t.Errorf("FormatPane(%v) = %s, want %s", tt.in, got, tt.want)
		}
	}
}
