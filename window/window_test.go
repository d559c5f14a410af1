package window_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/window"
)

const ms = time.Millisecond

func win(start, end event.Time) event.Window { return event.Window{Start: start, End: end} }

func sameWindow(a, b event.Window) bool { return a == b }

// elementTime draws a time from which an element can have a window, often near an edge.
func elementTime(t *rapid.T) event.Time {
	at := event.Time(rapid.Int64Range(int64(event.Min), int64(event.EndOfGlobal)).Draw(t, "time"))
	if rapid.Bool().Draw(t, "near") {
		edge := rapid.SampledFrom([]event.Time{event.Min, -1000, 0, 1000, event.EndOfGlobal}).Draw(t, "edge")
		at = edge + event.Time(rapid.Int64Range(-100, 100).Draw(t, "by"))
	}
	return max(event.Min, min(event.EndOfGlobal, at))
}

// width draws a size or period in milliseconds.
func width(t *rapid.T, name string) int64 {
	return rapid.OneOf(rapid.Int64Range(1, 100), rapid.Int64Range(1, 1e11)).Draw(t, name)
}

func floorMod(a, b event.Time) event.Time { return (a%b + b) % b }

func TestGlobalTakesEveryTime(t *testing.T) {
	for _, at := range []event.Time{event.Min, -1, 0, event.EndOfGlobal, event.EndOfGlobal + 1, event.Max} {
		if got := window.Global().Assign(nil, at); len(got) != 1 || got[0] != event.Global() {
			t.Errorf("an element at %v is in %v", at, got)
		}
	}
}

// An element is in exactly one fixed window: the one that starts on the grid, at most one size before it.
func TestFixedIsTheGrid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := width(t, "size")
		offset := rapid.Int64Range(0, size-1).Draw(t, "offset")
		fn := window.Fixed(time.Duration(size) * ms).Offset(time.Duration(offset) * ms)
		if err := fn.Validate(); err != nil {
			t.Fatal(err)
		}
		at := elementTime(t)
		got := fn.Assign(nil, at)
		if len(got) != 1 {
			t.Fatalf("an element at %d is in %v", at, got)
		}
		w := got[0]
		if !w.Contains(at) || floorMod(w.Start-event.Time(offset), event.Time(size)) != 0 {
			t.Errorf("an element at %d is in [%d, %d), offset %d", at, w.Start, w.End, offset)
		}
		if want := min(w.Start+event.Time(size), event.EndOfGlobal+1); w.End != want {
			t.Errorf("the window of %d ends at %d, want %d", at, w.End, want)
		}
	})
}

// An element is in all the windows of the grid that contain it, and no other, in the order of their starts.
func TestSlidingIsBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		period := width(t, "period")
		offset := rapid.Int64Range(0, period-1).Draw(t, "offset")
		size := rapid.OneOf(rapid.Int64Range(1, 2*period), rapid.Int64Range(1, 20*period),
			rapid.Map(rapid.Int64Range(1, 5), func(n int64) int64 { return n * period })).Draw(t, "size")
		fn := window.Sliding(time.Duration(size)*ms, time.Duration(period)*ms).Offset(time.Duration(offset) * ms)
		if err := fn.Validate(); err != nil {
			t.Fatal(err)
		}
		at := elementTime(t)
		var want []event.Window
		// The multiple of the period below at, and from there more periods back and forth than can matter.
		near := (int64(at)/period)*period + offset
		for n := int64(-23); n <= 3; n++ {
			start := event.Time(near + n*period)
			if w := win(start, min(start+event.Time(size), event.EndOfGlobal+1)); w.Contains(at) {
				want = append(want, w)
			}
		}
		if diff := cmp.Diff(want, fn.Assign(nil, at), cmp.Comparer(sameWindow)); diff != "" {
			t.Errorf("an element at %d (-want +got):\n%s", at, diff)
		}
		if n := int64(len(want)); n != size/period && n != (size+period-1)/period {
			t.Errorf("an element is in %d windows of size %d and period %d", n, size, period)
		}
	})
}

func TestSessionStartsAtItsElement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gap, at := width(t, "gap"), elementTime(t)
		want := []event.Window{win(at, min(at+event.Time(gap), event.EndOfGlobal+1))}
		got := window.Sessions(time.Duration(gap)*ms).Assign(nil, at)
		if diff := cmp.Diff(want, got, cmp.Comparer(sameWindow)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

var bounded = []window.Fn{
	window.Fixed(time.Hour), window.Fixed(time.Hour).Offset(ms), window.Sliding(time.Hour, time.Minute),
	window.Sliding(time.Minute, time.Hour), window.Sessions(time.Hour),
}

// A bounded window takes nothing after the end of the global window, and dst is kept as it is.
func TestNothingAfterTheGlobalWindow(t *testing.T) {
	for _, fn := range bounded {
		for _, at := range []event.Time{event.EndOfGlobal + 1, event.Max} {
			dst := []event.Window{win(1, 2)}
			if got := fn.Assign(dst, at); len(got) != 1 || got[0] != dst[0] {
				t.Errorf("%v: an element at %v is in %v", fn, at, got[1:])
			}
		}
	}
}

// The last windows end with the global one, whatever their size (FixedWindowsTest.testEndOfTime).
func TestLastWindowIsCapped(t *testing.T) {
	fns := []window.Fn{window.Fixed(time.Hour), window.Sliding(time.Hour, time.Minute), window.Sessions(time.Hour)}
	for _, fn := range fns {
		got := fn.Assign(nil, event.EndOfGlobal)
		if len(got) == 0 {
			t.Errorf("%v: the last instant is in no window", fn)
		}
		for _, w := range got {
			if w.Last() != event.EndOfGlobal {
				t.Errorf("%v: the last instant is in %v", fn, w)
			}
		}
	}
}

// The cases of Beam's FixedWindowsTest, SlidingWindowsTest and SessionsTest (beam-semantics 7.6).
func TestAssignments(t *testing.T) {
	for _, c := range []struct {
		fn   window.Fn
		want map[event.Time][]event.Window
	}{
		{window.Fixed(10 * ms), map[event.Time][]event.Window{
			1: {win(0, 10)}, 2: {win(0, 10)}, 9: {win(0, 10)}, 10: {win(10, 20)}, 11: {win(10, 20)},
			-1: {win(-10, 0)}, -10: {win(-10, 0)}, -11: {win(-20, -10)}, -10001: {win(-10010, -10000)}}},
		{window.Fixed(10 * ms).Offset(5 * ms), map[event.Time][]event.Window{
			1: {win(-5, 5)}, 2: {win(-5, 5)}, 5: {win(5, 15)}, 9: {win(5, 15)}, 10: {win(5, 15)}, 11: {win(5, 15)}}},
		{window.Fixed(10 * time.Second).Offset(3 * time.Second), map[event.Time][]event.Window{
			-10000: {win(-17000, -7000)}, -7000: {win(-7000, 3000)}}},
		{window.Sliding(10*ms, 5*ms), map[event.Time][]event.Window{
			1: {win(-5, 5), win(0, 10)}, 5: {win(0, 10), win(5, 15)}, 9: {win(0, 10), win(5, 15)}, 10: {win(5, 15), win(10, 20)},
			-6: {win(-15, -5), win(-10, 0)}}},
		{window.Sliding(7*ms, 5*ms), map[event.Time][]event.Window{
			1: {win(-5, 2), win(0, 7)}, 2: {win(0, 7)}, 5: {win(0, 7), win(5, 12)}, 9: {win(5, 12)}, 10: {win(5, 12), win(10, 17)},
			11: {win(5, 12), win(10, 17)}}},
		{window.Sliding(3*ms, 3*ms), map[event.Time][]event.Window{
			1: {win(0, 3)}, 2: {win(0, 3)}, 3: {win(3, 6)}, -1: {win(-3, 0)}}},
		{window.Sliding(3*ms, 10*ms), map[event.Time][]event.Window{
			0: {win(0, 3)}, 1: {win(0, 3)}, 2: {win(0, 3)}, 3: nil, 9: nil, 10: {win(10, 13)}, -1: nil, -8: {win(-10, -7)}}},
		{window.Sliding(10*ms, 5*ms).Offset(2 * ms), map[event.Time][]event.Window{
			1: {win(-8, 2), win(-3, 7)}, 2: {win(-3, 7), win(2, 12)}, 5: {win(-3, 7), win(2, 12)}, 7: {win(2, 12), win(7, 17)}}},
		{window.Sessions(10 * ms), map[event.Time][]event.Window{
			0: {win(0, 10)}, 10: {win(10, 20)}, 101: {win(101, 111)}, -3: {win(-3, 7)}}},
	} {
		for at, want := range c.want {
			if diff := cmp.Diff(want, c.fn.Assign(nil, at), cmp.Comparer(sameWindow)); diff != "" {
				t.Errorf("%v: an element at %d (-want +got):\n%s", c.fn, at, diff)
			}
		}
	}
}

// merge makes of the windows of times what a grouping step makes of them.
func merge(fn window.Fn, times ...event.Time) []event.Window {
	var active []event.Window
	for _, at := range times {
		w := fn.Assign(nil, at)[0]
		var apart []event.Window
		for _, a := range active {
			if a.Intersects(w) {
				w = w.Span(a)
			} else {
				apart = append(apart, a)
			}
		}
		active = append(apart, w)
	}
	return active
}

func TestSessionsMerge(t *testing.T) {
	fn := window.Sessions(10 * ms)
	for _, c := range []struct {
		times []event.Time
		want  []event.Window
	}{
		{[]event.Time{0, 10, 101}, []event.Window{win(0, 10), win(10, 20), win(101, 111)}}, // touching does not merge
		{[]event.Time{1, 2, 5, 9}, []event.Window{win(1, 19)}},
		{[]event.Time{1, 15, 30, 22, 10}, []event.Window{win(1, 40)}}, // 22 joins 15 and 30, and 10 joins all
	} {
		if diff := cmp.Diff(c.want, merge(fn, c.times...), cmp.Comparer(sameWindow)); diff != "" {
			t.Errorf("sessions of %v (-want +got):\n%s", c.times, diff)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		fn   window.Fn
		good bool
		text string
	}{
		{window.Global(), true, "window.Global()"},
		{window.Fixed(ms), true, "window.Fixed(1ms)"},
		{window.Fixed(0), false, "window.Fixed(0s)"},
		{window.Fixed(-time.Second), false, "window.Fixed(-1s)"},
		{window.Fixed(ms - 1), false, "window.Fixed(999.999µs)"},
		{window.Fixed(ms + 1), false, "window.Fixed(1.000001ms)"},
		{window.Fixed(2 * ms).Offset(ms), true, "window.Fixed(2ms).Offset(1ms)"},
		{window.Fixed(ms).Offset(2 * ms), false, "window.Fixed(1ms).Offset(2ms)"}, // Beam's (1,2)
		{window.Fixed(ms).Offset(ms), false, "window.Fixed(1ms).Offset(1ms)"},
		{window.Fixed(ms).Offset(-ms), false, "window.Fixed(1ms).Offset(-1ms)"}, // Beam's (1,-1)
		{window.Fixed(time.Second).Offset(ms / 2), false, "window.Fixed(1s).Offset(500µs)"},
		{window.Sliding(10*ms, 5*ms), true, "window.Sliding(10ms, 5ms)"},
		{window.Sliding(5*ms, 10*ms), true, "window.Sliding(5ms, 10ms)"},
		{window.Sliding(0, ms), false, "window.Sliding(0s, 1ms)"},
		{window.Sliding(-ms, ms), false, "window.Sliding(-1ms, 1ms)"},
		{window.Sliding(ms, 0), false, "window.Sliding(1ms, 0s)"},
		{window.Sliding(ms, -ms), false, "window.Sliding(1ms, -1ms)"},
		{window.Sliding(time.Second, ms/2), false, "window.Sliding(1s, 500µs)"},
		{window.Sliding(time.Second, 1500*time.Microsecond), false, "window.Sliding(1s, 1.5ms)"},
		{window.Sliding(10*ms, 5*ms).Offset(4 * ms), true, "window.Sliding(10ms, 5ms).Offset(4ms)"},
		{window.Sliding(10*ms, 5*ms).Offset(5 * ms), false, "window.Sliding(10ms, 5ms).Offset(5ms)"},
		{window.Sliding(10*ms, 5*ms).Offset(-ms), false, "window.Sliding(10ms, 5ms).Offset(-1ms)"},
		{window.Sessions(ms), true, "window.Sessions(1ms)"},
		{window.Sessions(0), false, "window.Sessions(0s)"},
		{window.Sessions(-ms), false, "window.Sessions(-1ms)"},
		{window.Sessions(ms / 2), false, "window.Sessions(500µs)"},
	} {
		err := c.fn.Validate()
		if (err == nil) != c.good || err != nil && !errors.Is(err, window.ErrBadWindow) {
			t.Errorf("%v: %v", c.fn, err)
		}
		if err != nil && !strings.Contains(err.Error(), c.text) {
			t.Errorf("%q does not name %s", err, c.text)
		}
		if got := c.fn.String(); got != c.text {
			t.Errorf("got %s, want %s", got, c.text)
		}
	}
}

// Functions are compatible if they are equal, or both sessions; only sessions merge.
func TestCompatible(t *testing.T) {
	fns := []window.Fn{
		window.Global(), window.Fixed(time.Hour), window.Fixed(time.Minute), window.Fixed(time.Hour).Offset(ms),
		window.Sliding(time.Hour, time.Minute), window.Sliding(time.Hour, time.Second),
		window.Sliding(time.Hour, time.Minute).Offset(ms), window.Sessions(time.Hour), window.Sessions(time.Minute),
	}
	for i, a := range fns {
		_, sessions := a.(window.SessionWindows)
		if a.Merging() != sessions {
			t.Errorf("%v merges: %v", a, a.Merging())
		}
		for j, b := range fns {
			_, both := b.(window.SessionWindows)
			if want := i == j || sessions && both; a.Compatible(b) != want {
				t.Errorf("%v.Compatible(%v) = %v", a, b, !want)
			}
		}
	}
	if window.Fixed(time.Hour) != window.Fixed(60*time.Minute).Offset(0) {
		t.Error("equal functions are not ==")
	}
}

func TestAssignAllocatesNothing(t *testing.T) {
	dst := make([]event.Window, 0, 100)
	for _, fn := range append(bounded, window.Global()) {
		n := testing.AllocsPerRun(100, func() { dst = fn.Assign(dst[:0], 1772323200123) })
		if n != 0 || cap(dst) != 100 {
			t.Errorf("%v: %v allocations", fn, n)
		}
	}
}
