package exec

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/levadaflow/levada/event"
)

func win(start, end event.Time, label ...string) event.Window {
	w := event.Window{Start: start, End: end}
	if len(label) > 0 {
		w = w.Labelled(label[0])
	}
	return w
}

func TestOwnWindows(t *testing.T) {
	const end = event.EndOfGlobal + 1
	type windows = []event.Window
	for name, c := range map[string]struct {
		got  windows
		at   event.Time
		want windows
		text string // of the error
	}{
		"none":             {nil, 5, nil, ""},
		"one":              {windows{win(0, 10)}, 9, windows{win(0, 10)}, ""},
		"start belongs":    {windows{win(0, 10)}, 0, windows{win(0, 10)}, ""},
		"end does not":     {windows{win(0, 10)}, 10, nil, "does not contain 1970-01-01T00:00:00.010Z: Start <= time < End"},
		"before":           {windows{win(-5, 0)}, -6, nil, "does not contain"},
		"before 1970":      {windows{win(-10, 0)}, -1, windows{win(-10, 0)}, ""},
		"second is wrong":  {windows{win(0, 10), win(20, 30)}, 5, nil, "[1970-01-01T00:00:00.020Z, 1970-01-01T00:00:00.030Z)"},
		"empty":            {windows{win(5, 5)}, 5, nil, "is empty"},
		"zero value":       {windows{{}}, 0, nil, "is empty"},
		"backwards":        {windows{win(7, 3)}, 5, nil, "is empty"},
		"unordered, twice": {windows{win(3, 9), win(0, 9), win(3, 9), win(0, 8)}, 5, windows{win(0, 8), win(0, 9), win(3, 9)}, ""},
		"twice":            {windows{win(3, 9), win(3, 9)}, 5, windows{win(3, 9)}, ""},
		"labels":           {windows{win(0, 9, "b"), win(0, 9), win(0, 9, "a")}, 5, windows{win(0, 9), win(0, 9, "a"), win(0, 9, "b")}, ""},
		"global":           {windows{event.Global()}, event.Max, windows{event.Global()}, ""},
		"global by name":   {windows{win(0, 9, "global")}, 5, nil, `has the label "global"`},
		"after global":     {windows{win(0, event.Max)}, event.EndOfGlobal + 1, nil, ""},
		"last of global":   {windows{win(0, event.Max)}, event.EndOfGlobal, windows{win(0, end)}, ""},
		"cut, then twice":  {windows{win(0, event.Max), win(0, end)}, 5, windows{win(0, end)}, ""},
		"after, one stays": {windows{win(0, event.Max), event.Global()}, event.EndOfGlobal + 1, windows{event.Global()}, ""},
	} {
		got, err := OwnWindows(windows{win(1, 2), win(3, 4)}, c.got, c.at)
		switch {
		case c.text != "":
			if !errors.Is(err, ErrNotInWindow) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil || !slices.Equal(got, c.want):
			t.Errorf("%s: %v, %v, want %v", name, got, err, c.want)
		}
	}
}

func TestOwnWindowsAllocatesNothing(t *testing.T) {
	dst, got := make([]event.Window, 0, 4), []event.Window{win(0, 10), win(2, 12), win(2, 12, "a")}
	if n := testing.AllocsPerRun(100, func() { dst, _ = OwnWindows(dst, got, 5) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestMergeRules shows what a window.Merger may do, and what the failure says if it does something else.
func TestMergeRules(t *testing.T) {
	type windows = []event.Window
	type mergeFunc func(parts []event.Window, into event.Window)
	a, b, c, labelled := win(0, 10), win(5, 12), win(20, 30), win(20, 30, "x")
	for name, x := range map[string]struct {
		f     func(all windows, merge mergeFunc)
		group []int // expected
		text  string
	}{
		"nothing":            {func(windows, mergeFunc) {}, []int{0, 0, 0, 0}, ""},
		"two into a span":    {func(_ windows, m mergeFunc) { m(windows{a, b}, a.Span(b)) }, []int{1, 1, 0, 0}, ""},
		"into a part":        {func(_ windows, m mergeFunc) { m(windows{labelled, c}, c) }, []int{0, 0, 1, 1}, ""},
		"into itself":        {func(_ windows, m mergeFunc) { m(windows{a}, a) }, []int{1, 0, 0, 0}, ""},
		"two sets":           {func(_ windows, m mergeFunc) { m(windows{c}, win(20, 40)); m(windows{a, b}, win(0, 20)) }, []int{2, 2, 1, 0}, ""},
		"spoils what it got": {func(all windows, m mergeFunc) { clear(all); m(windows{b}, b) }, []int{0, 1, 0, 0}, ""},
		"reuses parts": {func(all windows, m mergeFunc) {
			parts := windows{a}
			m(parts, a)
			parts[0] = b
			m(parts, b)
		}, []int{1, 2, 0, 0}, ""},
		"no parts":           {func(_ windows, m mergeFunc) { m(nil, a) }, nil, "[] into"},
		"a foreign part":     {func(_ windows, m mergeFunc) { m(windows{win(0, 11)}, win(0, 11)) }, nil, "the key has no window"},
		"a part of no label": {func(_ windows, m mergeFunc) { m(windows{win(0, 10, "x")}, win(0, 10, "x")) }, nil, "the key has no window"},
		"a part twice":       {func(_ windows, m mergeFunc) { m(windows{a, a}, a) }, nil, "is merged already"},
		"a part in two sets": {func(_ windows, m mergeFunc) { m(windows{a, b}, win(0, 12)); m(windows{b}, b) }, nil, "is merged already"},
		"too small":          {func(_ windows, m mergeFunc) { m(windows{a, b}, a) }, nil, "does not cover"},
		"into another":       {func(_ windows, m mergeFunc) { m(windows{labelled}, c) }, nil, "there already"},
		"into one of another set": {func(_ windows, m mergeFunc) { m(windows{c}, win(20, 40)); m(windows{labelled}, c) }, nil,
			"there already"},
		"into the same":       {func(_ windows, m mergeFunc) { m(windows{c}, win(0, 40)); m(windows{labelled}, win(0, 40)) }, nil, "there already"},
		"into a false global": {func(_ windows, m mergeFunc) { m(windows{a}, win(0, 40, "global")) }, nil, "into global"},
		"the first is told":   {func(_ windows, m mergeFunc) { m(windows{a, b}, a); m(nil, a) }, nil, "does not cover"},
	} {
		m := merges{group: []int{7}, into: windows{a}, err: ErrStopped} // what an earlier use left
		m.windows = windows{a, b, c, labelled}
		err := m.ask(func(all windows, merge func(parts []event.Window, into event.Window)) { x.f(all, merge) })
		if x.text == "" && (err != nil || !slices.Equal(m.group, x.group)) {
			t.Errorf("%s: %v, %v, want %v", name, m.group, err, x.group)
		}
		if x.text != "" && (!errors.Is(err, ErrBadMerge) || !strings.Contains(err.Error(), x.text)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m := merges{windows: windows{a}}
	if err := m.ask(func(all []event.Window, merge func([]event.Window, event.Window)) { merge(all, win(0, event.Max)) }); err != nil ||
		m.into[0].End != event.EndOfGlobal+1 {
		t.Errorf("a window that ends after the global one: %v, %v", m.into, err)
	}
}

// TestByStart shows that the order is total: only equal windows compare as equal.
func TestByStart(t *testing.T) {
	some := rapid.Custom(func(t *rapid.T) event.Window {
		n := func(name string) event.Time { return event.Time(rapid.IntRange(0, 2).Draw(t, name)) }
		return win(n("start"), n("end"), rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "label"))
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := some.Draw(t, "a"), some.Draw(t, "b")
		if c := byStart(a, b); (c == 0) != (a == b) || c != -byStart(b, a) {
			t.Fatalf("%v and %v compare as %d and %d", a, b, c, byStart(b, a))
		}
	})
}
