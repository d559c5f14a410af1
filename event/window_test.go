package event_test

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/levadaflow/levada/event"
)

// smallWindow draws a window, which may be empty, of times from 0 to 12.
func smallWindow(t *rapid.T, name string) event.Window {
	w := event.Window{Start: event.Time(rapid.Int64Range(0, 12).Draw(t, name+" start"))}
	w.End = w.Start + event.Time(rapid.Int64Range(0, 12-int64(w.Start)).Draw(t, name+" size"))
	return w
}

// Intersects and Span are what Contains says, tried at every instant.
func TestWindowsAsSetsOfInstants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := smallWindow(t, "a"), smallWindow(t, "b")
		common, span := false, a.Span(b)
		for at := event.Time(-1); at < 15; at++ {
			common = common || a.Contains(at) && b.Contains(at)
			if (a.Contains(at) || b.Contains(at)) && !span.Contains(at) {
				t.Errorf("%v.Span(%v) = %v does not contain %d", a, b, span, at)
			}
			if a.Contains(at) && (at < a.Start || at > a.Last()) {
				t.Errorf("%v contains %d", a, at)
			}
		}
		if a.Intersects(b) != common || b.Intersects(a) != common {
			t.Errorf("%v.Intersects(%v) = %v, %v the other way, want %v", a, b, a.Intersects(b), b.Intersects(a), common)
		}
		if span.Start != a.Start && span.Start != b.Start || span.End != a.End && span.End != b.End {
			t.Errorf("%v.Span(%v) = %v is too wide", a, b, span)
		}
		if covers := b.Start >= a.Start && b.End <= a.End; a.Covers(b) != covers || !span.Covers(a) || !span.Covers(b) {
			t.Errorf("%v.Covers(%v) = %v, want %v; their span is %v", a, b, !covers, covers, span)
		}
	})
}

func TestWindowEnds(t *testing.T) {
	w := event.Window{Start: 10, End: 20}
	for at, want := range map[event.Time]bool{9: false, 10: true, 19: true, 20: false} {
		if w.Contains(at) != want {
			t.Errorf("%v.Contains(%d) = %v", w, at, !want)
		}
	}
	if touching := (event.Window{Start: 20, End: 30}); w.Intersects(touching) || touching.Intersects(w) {
		t.Error("windows that touch intersect")
	}
	if (event.Window{}).Contains(0) || (event.Window{}).IsGlobal() {
		t.Error("the zero value is not the empty window")
	}
}

func TestGlobalWindow(t *testing.T) {
	g := event.Global()
	if g.Last() != event.EndOfGlobal || g.Expiry(math.MaxInt64) != event.EndOfGlobal || g.Expiry(0) != event.EndOfGlobal {
		t.Errorf("the global window ends at %v and expires at %v", g.Last(), g.Expiry(0))
	}
	if g != event.Global() || !g.IsGlobal() || g.String() != "global" {
		t.Errorf("the global window is %v", g)
	}
	if bounded := (event.Window{Start: g.Start, End: g.End}); bounded.IsGlobal() || bounded == g {
		t.Error("a window of the same span is the global one")
	}
	rapid.Check(t, func(t *rapid.T) {
		if at := anyTime().Draw(t, "at"); !g.Contains(at) {
			t.Errorf("%v is not in the global window", at)
		}
	})
}

// Expiry is the last instant plus the lateness, computed without overflow, but not after the end of the global window.
func TestExpiry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		last := max(event.Min, min(event.EndOfGlobal, anyTime().Draw(t, "last")))
		lateness := rapid.OneOf(rapid.Int64Range(0, 1e6), rapid.Int64Range(0, math.MaxInt64), rapid.Just[int64](math.MaxInt64),
			rapid.Just(int64(event.EndOfGlobal-last))).Draw(t, "lateness")
		want := event.EndOfGlobal
		if room := uint64(event.EndOfGlobal) - uint64(last); uint64(lateness) < room {
			want = last + event.Time(lateness)
		}
		if got := (event.Window{End: last + 1}).Expiry(lateness); got != want {
			t.Errorf("a window with the last instant %d expires after %d at %d, want %d", last, lateness, got, want)
		}
	})
}

func TestLabels(t *testing.T) {
	w := event.Window{Start: 0, End: 10}
	a, b := w.Labelled("a"), w.Labelled("b")
	if a == b || a == w || a != w.Labelled("a") || a.Labelled("") != w {
		t.Error("windows are the same if and only if span and label are")
	}
	if a.Label() != "a" || w.Label() != "" || a.IsGlobal() {
		t.Errorf("labels are %q and %q", a.Label(), w.Label())
	}
	if !a.Intersects(b) || a.Span(b) != w {
		t.Error("a label takes part in the span")
	}
	longer := event.Window{Start: 5, End: 20}.Labelled("a")
	if got, want := a.Span(longer), (event.Window{Start: 0, End: 20}).Labelled("a"); got != want {
		t.Errorf("the span of windows with the label a is %v, want %v", got, want)
	}
	if !strings.HasSuffix(a.String(), ") a") {
		t.Errorf("%v does not show its label", a)
	}
}

func TestStringsOfAnyValue(t *testing.T) {
	timing := rapid.Map(rapid.Uint8(), func(v uint8) event.Timing { return event.Timing(v) })
	rapid.Check(t, func(t *rapid.T) {
		at, tm := anyTime().Draw(t, "at"), timing.Draw(t, "timing")
		p := event.Pane{Timing: tm, First: rapid.Bool().Draw(t, "first"), Last: rapid.Bool().Draw(t, "last"),
			Index: rapid.Int64().Draw(t, "index"), OnTimeIndex: rapid.Int64().Draw(t, "on-time index")}
		w := event.Window{Start: at, End: anyTime().Draw(t, "end")}
		move := event.MoveError{From: at, To: w.End, Lower: w.Start, Err: event.ErrSkew}
		for _, s := range []string{at.String(), tm.String(), p.String(), w.String(), w.Labelled("x").String(), move.Error(),
			event.KV[event.Window, event.Pane]{Key: w, Value: p}.String()} {
			if s == "" || strings.Contains(s, "%!") {
				t.Errorf("a value is shown as %q", s)
			}
		}
		if tm > event.Unknown && strings.Count(p.String(), "/") != 3 {
			t.Errorf("a pane is shown as %q", p)
		}
	})
}

func TestPaneString(t *testing.T) {
	for _, c := range []struct {
		pane event.Pane
		want string
	}{
		{event.NoPane, "none"},
		{event.Pane{Timing: event.OnTime, First: true, Last: true}, "on-time/0/0/FL"},
		{event.Pane{Timing: event.Early, First: true, OnTimeIndex: -1}, "early/0/-1/F"},
		{event.Pane{Timing: event.Early, Index: 1, OnTimeIndex: -1}, "early/1/-1/-"},
		{event.Pane{Timing: event.Late, Last: true, Index: 3, OnTimeIndex: 2}, "late/3/2/L"},
		{event.Pane{Timing: event.Unknown}, "unknown/0/0/-"},
		{event.Pane{Timing: 4}, "timing(4)/0/0/-"},
	} {
		if got := c.pane.String(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}
