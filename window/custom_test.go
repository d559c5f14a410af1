package window_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/window"
)

func half(dst []event.Window, t event.Time) []event.Window {
	start := t.Floor(500, 0)
	return append(dst, event.Window{Start: start, End: start + 500})
}

func all(windows []event.Window, merge func(parts []event.Window, into event.Window)) {
	merge(windows, windows[0].Span(windows[len(windows)-1]))
}

func TestCustomValidate(t *testing.T) {
	for _, c := range []struct {
		fn   window.Fn
		good bool
		text string
	}{
		{window.Func("half", half), true, `window.Func("half")`},
		{window.Func("half", half).Merged(), true, `window.Func("half").Merged()`},
		{window.Func("half", half).MergedBy(all), true, `window.Func("half").MergedBy(...)`},
		{window.ByElement("half"), true, `window.ByElement("half")`},
		{window.ByElement("half").MergedBy(all), true, `window.ByElement("half").MergedBy(...)`},
		{window.Func("", half), false, `window.Func("")`},
		{window.Func("half", nil), false, `window.Func("half")`},
		{window.ByElement(""), false, `window.ByElement("")`},
		{window.ByElement("").Merged(), false, `window.ByElement("").Merged()`},
		{window.ByElement("").MergedBy(all), false, `window.ByElement("").MergedBy(...)`},
		{window.Func("half", nil).MergedBy(all), false, `window.Func("half").MergedBy(...)`},
		{window.ByElement("half").MergedBy(nil), false, `window.ByElement("half").MergedBy(...)`},
		{window.CustomWindows{}, false, `window.ByElement("")`},
		{window.MergedWindows{}, false, `window.ByElement("").MergedBy(...)`},
	} {
		if err := c.fn.Validate(); (err == nil) != c.good || err != nil && !errors.Is(err, window.ErrBadWindow) {
			t.Errorf("%v: %v", c.fn, err)
		}
		if got := c.fn.String(); got != c.text {
			t.Errorf("got %s, want %s", got, c.text)
		}
	}
}

// TestCustomCompatible shows that the name and the way of merging decide, and that equal values are ==.
func TestCustomCompatible(t *testing.T) {
	fns := []window.Fn{
		window.Func("a", half), window.Func("b", half), window.Func("a", half).Merged(), window.Func("a", half).MergedBy(all),
		window.Func("b", half).MergedBy(all), window.Fixed(time.Second), window.Sessions(time.Second), window.Global(),
	}
	again := []window.Fn{
		window.ByElement("a"), window.ByElement("b"), window.ByElement("a").Merged(), window.ByElement("a").MergedBy(all),
		window.ByElement("b").MergedBy(all), window.Fixed(time.Second), window.Sessions(time.Minute), window.Global(),
	}
	for i, a := range fns {
		if a != fns[i] || a == again[i] && i < 5 {
			t.Errorf("== of %v is not what it is", a)
		}
		for j, b := range again {
			if got := a.Compatible(b); got != (i == j) {
				t.Errorf("%v.Compatible(%v) = %v", a, b, got)
			}
			if got := b.Compatible(a); got != (i == j) {
				t.Errorf("%v.Compatible(%v) = %v", b, a, got)
			}
		}
	}
}

func TestCustomAssign(t *testing.T) {
	before := win(1, 2)
	for _, fn := range []window.Fn{window.Func("half", half), window.Func("half", half).Merged(), window.Func("half", half).MergedBy(all)} {
		if got := fn.Assign([]event.Window{before}, -1); len(got) != 2 || got[0] != before || got[1] != win(-500, 0) {
			t.Errorf("%v gives %v", fn, got)
		}
	}
	for _, fn := range []window.Fn{window.ByElement("half"), window.ByElement("half").MergedBy(all)} {
		if got := fn.Assign(nil, 7); len(got) != 0 {
			t.Errorf("%v gives %v", fn, got)
		}
	}
	if window.ByElement("a").Merging() || !window.ByElement("a").Merged().Merging() || !window.ByElement("a").MergedBy(all).Merging() {
		t.Error("what merges is not what says so")
	}
	if !window.Func("a", half).MergedBy(all).ByTime() || window.ByElement("a").MergedBy(all).ByTime() {
		t.Error("what follows from the time is not what says so")
	}
}

// Early and late shifts of a day: from 6 to 14 and from 14 to 22 o'clock. At night there is no window.
func ExampleFunc() {
	const hour = 3_600_000
	shifts := window.Func("shifts", func(dst []event.Window, t event.Time) []event.Window {
		day := t.Floor(24*hour, 0)
		for _, start := range []event.Time{day + 6*hour, day + 14*hour} {
			if w := (event.Window{Start: start, End: start + 8*hour}); w.Contains(t) {
				dst = append(dst, w)
			}
		}
		return dst
	})
	fmt.Println(shifts, shifts.Assign(nil, 15*hour), shifts.Assign(nil, 23*hour))
	// Output: window.Func("shifts") [[1970-01-01T14:00:00.000Z, 1970-01-01T22:00:00.000Z)] []
}

// A merge rule: windows that lie in a longer one become part of it, and others stay as they are.
func ExampleCustomWindows_MergedBy() {
	rule := func(windows []event.Window, merge func(parts []event.Window, into event.Window)) {
		for i := 0; i < len(windows); { // by start, then end
			longest, end := windows[i], i+1
			for end < len(windows) && (longest.Covers(windows[end]) || windows[end].Covers(longest)) {
				if windows[end].Covers(longest) {
					longest = windows[end]
				}
				end++
			}
			merge(windows[i:end], longest)
			i = end
		}
	}
	fn := window.ByElement("visits").MergedBy(rule)
	fn.Merge([]event.Window{{Start: 0, End: 9}, {Start: 2, End: 5}, {Start: 8, End: 11}}, func(parts []event.Window, into event.Window) {
		fmt.Println(len(parts), "become", into)
	})
	// Output:
	// 2 become [1970-01-01T00:00:00.000Z, 1970-01-01T00:00:00.009Z)
	// 1 become [1970-01-01T00:00:00.008Z, 1970-01-01T00:00:00.011Z)
}
