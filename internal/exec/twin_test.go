package exec_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/levadatest"
	"github.com/levadaflow/levada/window"
)

// item is an element of a random program.
type item struct {
	key   string
	value int
	time  event.Time
}

// cell is a key in a window, as text.
type cell struct{ key, window string }

// drawFn gives a window function with sizes of a few milliseconds.
func drawFn(t *rapid.T) window.Fn {
	ms := func(name string) time.Duration {
		return time.Duration(rapid.IntRange(1, 12).Draw(t, name)) * time.Millisecond
	}
	switch rapid.SampledFrom([]string{"fixed", "sliding", "sessions"}).Draw(t, "windows") {
	case "fixed":
		return window.Fixed(ms("size"))
	case "sliding":
		return window.Sliding(ms("size"), ms("period"))
	}
	return window.Sessions(ms("gap"))
}

func drawItems(t *rapid.T) []item {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) item {
		return item{
			key:   rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "key"),
			value: rapid.IntRange(-9, 9).Draw(t, "value"),
			time:  event.Time(rapid.IntRange(-20, 40).Draw(t, "time")),
		}
	}), 0, 15).Draw(t, "items")
}

// span is a window by its bounds.
type span struct{ from, to event.Time }

// twin computes the sums of each key and window from all elements at once, by trying every window that there could be.
func twin(fn window.Fn, items []item) map[cell]int {
	sums := map[cell]int{}
	for _, it := range items {
		for _, w := range spansOf(fn, items, it) {
			sums[cell{it.key, event.Window{Start: w.from, End: w.to}.String()}] += it.value
		}
	}
	return sums
}

// spansOf returns the windows of one element among all.
func spansOf(fn window.Fn, items []item, it item) []span {
	if fn.Merging() {
		return []span{session(fn, items, it)}
	}
	var all []span
	for _, w := range fn.Assign(nil, it.time) {
		all = append(all, span{w.Start, w.End})
	}
	return all
}

// session grows the element's own span by all of its key that intersect it, until nothing is added.
func session(fn window.Fn, items []item, it item) span {
	own := fn.Assign(nil, it.time)[0]
	s := span{own.Start, own.End}
	for grown := true; grown; {
		grown = false
		for _, o := range items {
			w := fn.Assign(nil, o.time)[0]
			if o.key == it.key && w.Start < s.to && s.from < w.End && (w.Start < s.from || s.to < w.End) {
				s, grown = span{min(s.from, w.Start), max(s.to, w.End)}, true
			}
		}
	}
	return s
}

// scripted is a program that runs step by step.
type scripted struct {
	d    *levadatest.Driver
	src  *levadatest.Script[levada.KV[string, int]]
	sums *levadatest.Collected[levada.KV[string, int]]
}

func newScripted(parallelism int, w levada.Windowing) *scripted {
	d := levadatest.NewDriver()
	d.Run.Parallelism = parallelism
	src := levadatest.AddScript[levada.KV[string, int]](d, "src")
	sums := levadatest.Gather(levada.SumPerKey(levada.WindowInto(src.Out, "windows", w), "sum"), "out")
	return &scripted{d, src, sums}
}

func (s *scripted) must(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

// play adds the elements, moves the watermark to marks[i] before element i, and ends.
func (s *scripted) play(t *rapid.T, items []item, marks []event.Time) []levadatest.Element[levada.KV[string, int]] {
	for i, it := range items {
		s.must(t, s.src.Watermark(marks[i]))
		s.must(t, s.src.Add(it.time, levada.KV[string, int]{Key: it.key, Value: it.value}))
	}
	s.must(t, s.d.Finish())
	return s.sums.Take()
}

func cellOf(e levadatest.Element[levada.KV[string, int]]) cell {
	return cell{e.Value.Key, e.Window.String()}
}

// TestGroupingTwin compares the sums of random programs in which nothing is late with the twin's: each key and window has one
// pane, at its end, and nothing is dropped.
func TestGroupingTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fn, items := drawFn(t), drawItems(t)
		marks := make([]event.Time, len(items))
		least := event.Max
		for i, it := range slices.Backward(items) { // none may be after an element that is still to come
			least = min(least, it.time)
			marks[i] = least - event.Time(rapid.IntRange(0, 5).Draw(t, "behind"))
		}
		want := twin(fn, items)
		for _, parallelism := range []int{1, 4} {
			s := newScripted(parallelism, levada.Windowing{Windows: fn})
			got := map[cell]int{}
			for _, e := range s.play(t, items, marks) {
				c := cellOf(e)
				if _, twice := got[c]; twice || e.Pane.Timing != event.OnTime || !e.Pane.First || !e.Pane.Last || e.Time != e.Window.Last() {
					t.Fatalf("parallelism %d, %v: a second or wrong pane %+v", parallelism, fn, e)
				}
				got[c] = e.Value.Value
			}
			dropped := s.d.Result().Counter("sum", "dropped_late")
			s.d.Stop()
			if diff := cmp.Diff(want, got); diff != "" || dropped != 0 {
				t.Fatalf("parallelism %d, %v, %v, watermarks %v, %d dropped: - want, + got:\n%s", parallelism, fn, items, marks, dropped, diff)
			}
		}
	})
}

// TestLateGroupingTwin is the same where elements come at any time, and nothing is too late: the last pane of each key and window
// has all, or all panes of a key together have.
func TestLateGroupingTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fn, items := drawFn(t), drawItems(t)
		marks := make([]event.Time, len(items))
		for i := range marks {
			marks[i] = event.Time(rapid.IntRange(-30, 60).Draw(t, "watermark"))
		}
		want := twin(fn, items)
		for _, parallelism := range []int{1, 4} {
			for _, how := range []levada.Accumulation{levada.Accumulating, levada.Discarding} {
				s := newScripted(parallelism, levada.Windowing{Windows: fn, AllowedLateness: levada.AnyLateness, Accumulation: how})
				panes := s.play(t, items, marks)
				s.d.Stop()
				about := fmt.Sprintf("parallelism %d, accumulation %d, %v, %v, watermarks %v", parallelism, how, fn, items, marks)
				if how == levada.Accumulating {
					checkLast(t, about, want, panes)
				} else {
					checkTotals(t, about, want, panes)
				}
			}
		}
	})
}

// checkLast compares the last pane of each key and window. Sessions that were merged later have panes too, of windows that the
// twin does not know.
func checkLast(t *rapid.T, about string, want map[cell]int, panes []levadatest.Element[levada.KV[string, int]]) {
	got, index := map[cell]int{}, map[cell]int64{}
	for _, e := range panes {
		c := cellOf(e)
		if _, known := want[c]; !known {
			continue
		}
		if last, seen := index[c]; !seen || e.Pane.Index > last {
			got[c], index[c] = e.Value.Value, e.Pane.Index
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s: - want, + got:\n%s\nof %v", about, diff, panes)
	}
}

// checkTotals compares what all panes of a key have together.
func checkTotals(t *rapid.T, about string, want map[cell]int, panes []levadatest.Element[levada.KV[string, int]]) {
	got, total := map[string]int{}, map[string]int{}
	for _, e := range panes {
		got[e.Value.Key] += e.Value.Value
	}
	for c, v := range want {
		total[c.key] += v
	}
	if diff := cmp.Diff(total, got); diff != "" {
		t.Fatalf("%s: - want, + got:\n%s\nof %v", about, diff, panes)
	}
}
