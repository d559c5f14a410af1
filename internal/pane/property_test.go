package pane

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/trigger"
)

// earlyAtWill fires when the watermark is past the window's end, as the default does, and before that when it is told to.
type earlyAtWill struct {
	defaultMachine
	now *bool
}

func (x earlyAtWill) ready(m moment) bool { return *x.now || x.defaultMachine.ready(m) }

func anyStrategy(t *rapid.T) Strategy {
	return Strategy{
		LatenessMillis: rapid.SampledFrom([]int64{0, 1, 30}).Draw(t, "lateness"),
		Accumulating:   rapid.Bool().Draw(t, "accumulate"),
		Time:           rapid.SampledFrom([]TimeCombiner{EndOfWindow, Earliest, Latest}).Draw(t, "time"),
		ClosingAlways:  rapid.Bool().Draw(t, "closing always"),
		OnTimeNonEmpty: rapid.Bool().Draw(t, "on-time non-empty"),
	}
}

// history checks what is true of all panes of one window.
type history struct {
	*rapid.T
	k        *key
	accepted []int64 // the times of all elements that were taken
	shown    []int64 // those in panes, one after the other
	panes    []event.Pane
	fresh    bool       // elements came since the last pane,
	waiting  bool       // and some of them before the window's end
	own      event.Time // how far the window has let the watermark go
	closed   bool
}

// saw takes a pane; hold and held are what the window reported before it.
func (h *history) saw(hold event.Time, held bool, pane []int64, e Effect) {
	window := event.Window{Start: 0, End: 100}
	h.closed = h.closed || e.Close
	asked := e.Close && h.k.s.ClosingAlways
	if !e.Emit {
		if asked || e.Close && h.fresh {
			h.Errorf("the window closes without a pane")
		}
		return
	}
	if !h.fresh && !asked && (h.k.s.OnTimeNonEmpty || e.Pane.Timing != event.OnTime) {
		h.Errorf("pane %v is empty, and nobody has asked for it", e.Pane)
	}
	if first := !slices.ContainsFunc(h.panes, notEarly); h.fresh && h.k.in > window.Last() {
		if onTime := first && h.waiting; onTime != (e.Pane.Timing == event.OnTime) {
			h.Errorf("pane %v, with elements from before the end: %v, the first from then on: %v", e.Pane, h.waiting, first)
		}
	}
	h.fresh, h.waiting = false, false
	if want := window.Last(); held && e.Time != hold || !held && e.Time != want || e.Time > want {
		h.Errorf("pane %v has the time %d, with the hold %d, %v", e.Pane, e.Time, hold, held)
	}
	if e.Pane.Timing != event.Late && e.Time < h.own {
		h.Errorf("pane %v has the time %d, and the watermark %d has gone out", e.Pane, e.Time, h.own)
	}
	if early(e.Pane) != (h.k.in <= window.Last()) {
		h.Errorf("pane %v at the watermark %d", e.Pane, h.k.in)
	}
	if e.Pane.Last != e.Close {
		h.Errorf("pane %v, and the window closes: %v", e.Pane, e.Close)
	}
	if n := len(h.panes); n > 0 {
		old, now := h.panes[n-1], e.Pane
		if now.Timing < old.Timing || now.Timing == event.OnTime && old.Timing == event.OnTime {
			h.Errorf("pane %v after %v", now, old)
		}
	}
	onTimeIndex := int64(-1)
	if notEarly(e.Pane) {
		onTimeIndex = int64(len(slices.DeleteFunc(slices.Clone(h.panes), early)))
	}
	index := int64(len(h.panes))
	if e.Pane.Index != index || e.Pane.First != (index == 0) || e.Pane.OnTimeIndex != onTimeIndex {
		h.Errorf("pane %v is number %d, and %d of those that are not early", e.Pane, index, onTimeIndex)
	}
	h.panes = append(h.panes, e.Pane)
	if h.k.s.Accumulating {
		if diff := cmp.Diff(h.accepted, pane); diff != "" {
			h.Errorf("pane %v does not show all elements (-want +got):\n%s", e.Pane, diff)
		}
		h.shown = pane
	} else {
		h.shown = append(h.shown, pane...)
	}
}

func early(p event.Pane) bool    { return p.Timing == event.Early }
func notEarly(p event.Pane) bool { return !early(p) }

// passed checks that the watermark which the window lets pass never goes back.
func (h *history) passed(w *contents) {
	own := h.k.in
	if hold, ok := w.Hold(); ok {
		own = min(own, hold)
		if hold > w.Window.Last() || h.k.in > w.Window.Last() {
			h.Errorf("a hold at %d with the watermark at %d", hold, h.k.in)
		}
	}
	if own < h.own {
		h.Errorf("the watermark that the window lets pass goes back from %d to %d", h.own, own)
	}
	h.own = own
}

// Of one window, for any elements and any rising watermarks: the panes are early*, on-time?, late*, numbered without gaps;
// the one that closes the window is the last, no other is; a pane's time is the hold that was reported, or the window's last
// instant; every element that was not dropped is in exactly one pane, or, accumulating, in every one after it.
func TestPanesOfAWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := false
		s := anyStrategy(t)
		if rapid.Bool().Draw(t, "early firings") {
			s.machine, s.cells = &earlyAtWill{now: &now}, 1
		}
		k := newKey(s)
		h := &history{T: t, k: k, own: event.Min}
		var w *contents
		for n := rapid.IntRange(1, 25).Draw(t, "steps"); n >= 0 && !h.closed; n-- {
			if n > 0 && rapid.Bool().Draw(t, "element") {
				window := event.Window{Start: 0, End: 100}
				if k.s.Expired(window, k.in) {
					break
				}
				if w == nil {
					w = k.open(State{Window: window})
				}
				at := event.Time(rapid.Int64Range(-5, 130).Draw(t, "time"))
				now = rapid.IntRange(0, 4).Draw(t, "early") == 0
				h.accepted = append(h.accepted, at.Millis())
				h.fresh, h.waiting = true, h.waiting || k.in <= window.Last()
				hold, held := before(k, w, at)
				pane, e := k.element(w, at)
				now = false
				h.saw(hold, held, pane, e)
				h.passed(w)
				continue
			}
			k.in = max(k.in, rapid.OneOf(rapid.SampledFrom([]event.Time{99, 100, 129, 130}),
				rapid.Map(rapid.Int64Range(0, 200), func(v int64) event.Time { return event.Time(v) })).Draw(t, "watermark"))
			if n == 0 {
				k.in = event.Max
			}
			for x := k.next(); x != nil; x = k.next() {
				hold, held := x.Hold()
				pane, e := k.due(x)
				h.saw(hold, held, pane, e)
			}
			if w != nil && !h.closed {
				h.passed(w)
			}
		}
		if w != nil != h.closed || len(k.wins) != 0 && h.closed {
			t.Errorf("at the end of time the window is closed: %v, and there are %d", h.closed, len(k.wins))
		}
		if diff := cmp.Diff(h.accepted, h.shown); diff != "" {
			t.Errorf("elements, each in one pane or in all after it (-want +got):\n%s", diff)
		}
	})
}

// before returns the hold that counts for a pane which an element fires: the one that it has made itself.
func before(k *key, w *contents, at event.Time) (event.Time, bool) {
	if k.in > w.Window.Last() {
		return w.Hold()
	}
	copied := w.State
	k.s.holdFor(&copied, at, k.in)
	return copied.Hold()
}

// Sessions whose elements all come before the watermark are the connected parts of the elements' windows, whatever the
// order of the elements; each gives one pane, with all its elements, at the time of the earliest, the latest or the end.
func TestSessionsDoNotDependOnTheOrder(t *testing.T) {
	const gap = 10
	rapid.Check(t, func(t *rapid.T) {
		k := newKey(anyStrategy(t))
		times := rapid.SliceOfN(rapid.Int64Range(-50, 100), 1, 20).Draw(t, "times")
		for _, at := range times {
			w, _ := k.join(event.Window{Start: event.Time(at), End: event.Time(at + gap)})
			if _, e := k.element(w, event.Time(at)); e.Emit {
				t.Fatalf("the element at %d fires %v", at, e.Pane)
			}
		}
		type session struct {
			Window event.Window
			Time   event.Time
			Pane   event.Pane
			Times  []int64
		}
		var want, got []session
		slices.Sort(times)
		for i, from := 1, 0; i <= len(times); i++ {
			if i < len(times) && times[i] < times[i-1]+gap {
				continue
			}
			in := times[from:i]
			w := event.Window{Start: event.Time(in[0]), End: event.Time(in[len(in)-1] + gap)}
			at := map[TimeCombiner]event.Time{EndOfWindow: w.Last(), Earliest: w.Start, Latest: w.End - gap}[k.s.Time]
			want = append(want, session{w, at, event.Pane{Timing: event.OnTime, First: true, Last: true}, in})
			from = i
		}
		k.in = event.Max
		for w := k.next(); w != nil; w = k.next() {
			pane, e := k.due(w)
			slices.Sort(pane)
			got = append(got, session{w.Window, e.Time, e.Pane, pane})
		}
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b event.Window) bool { return a == b })); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Span gives the union with exactly those of the disjoint windows that intersect.
func TestSpan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var active []event.Window
		for at := event.Time(0); at < 60; {
			at += event.Time(rapid.Int64Range(0, 10).Draw(t, "space"))
			end := at + event.Time(rapid.Int64Range(1, 15).Draw(t, "size"))
			active = append(active, event.Window{Start: at, End: end})
			at = end
		}
		active = rapid.Permutation(active).Draw(t, "active")
		w := event.Window{Start: event.Time(rapid.Int64Range(-10, 70).Draw(t, "start"))}
		w.End = w.Start + event.Time(rapid.Int64Range(1, 30).Draw(t, "size"))
		span, hits := Span([]int{-1}, active, w)
		want, wantHits := w, []int{-1}
		for i, a := range active {
			if a.Start < w.End && w.Start < a.End {
				want.Start, want.End = min(want.Start, a.Start), max(want.End, a.End)
				wantHits = append(wantHits, i)
			}
		}
		if diff := cmp.Diff(wantHits, hits); diff != "" || span != want {
			t.Errorf("Span of %v is %v, want %v (-want +got):\n%s", w, span, want, diff)
		}
		for i, a := range active {
			if slices.Contains(hits, i) != a.Intersects(span) {
				t.Errorf("%v intersects %v, and has not been merged", a, span)
			}
		}
	})
}

type noSuchTrigger struct{ trigger.Trigger }

func (noSuchTrigger) String() string  { return "no-such-trigger" }
func (noSuchTrigger) Validate() error { return nil }

func TestSetTrigger(t *testing.T) {
	var s Strategy
	for _, tr := range []trigger.Trigger{nil, trigger.Default{}} {
		if err := s.SetTrigger(tr); err != nil || !s.Default() {
			t.Errorf("the trigger %v: %v", tr, err)
		}
	}
	if err := s.SetTrigger(noSuchTrigger{}); err == nil {
		t.Errorf("a trigger that is not known: %v", err)
	}
}

func TestTimeCombinerString(t *testing.T) {
	for c, want := range map[TimeCombiner]string{EndOfWindow: "end", Earliest: "earliest", Latest: "latest"} {
		if got := c.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
