package exec

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/levadaflow/levada/event"
)

// ErrNotInWindow is the failure of a window function of the user's that gives an element a window which does not contain it.
var ErrNotInWindow = errors.New("an element is not in its window")

// OwnWindows returns, in dst's memory, the windows got that a function of the user's gave an element at time t: each once, by
// start, then end, then label, and cut where the global one ends. Bounded windows do not have elements after event.EndOfGlobal.
func OwnWindows(dst, got []event.Window, t event.Time) ([]event.Window, error) {
	dst = dst[:0]
	sorted := true
	for _, w := range got {
		switch {
		case w == event.Global():
		case w.IsGlobal():
			return dst, fmt.Errorf(`%w: [%v, %v) has the label "global", which is the global window's`, ErrNotInWindow, w.Start, w.End)
		case w.End <= w.Start:
			return dst, fmt.Errorf("%w: %v is empty: a window is from Start to before End", ErrNotInWindow, w)
		case t < w.Start || t >= w.End:
			return dst, fmt.Errorf("%w: %v does not contain %v: Start <= time < End must hold", ErrNotInWindow, w, t)
		case t > event.EndOfGlobal:
			continue
		default:
			w.End = min(w.End, event.EndOfGlobal+1)
		}
		sorted = sorted && (len(dst) == 0 || byStart(dst[len(dst)-1], w) < 0)
		dst = append(dst, w)
	}
	if !sorted {
		slices.SortFunc(dst, byStart)
		dst = slices.Compact(dst)
	}
	return dst, nil
}

// byStart is the order of a user's windows: by start, then end, then label.
func byStart(a, b event.Window) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), strings.Compare(a.Label(), b.Label()))
}
