package exec

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/levadaflow/levada/event"
)

// sample is an element with all that a batch keeps of it.
type sample struct {
	v    string
	t    event.Time
	wins []event.Window
	pane event.Pane
}

func (s sample) String() string {
	return fmt.Sprintf("%q@%d in %v, pane %v", s.v, s.t.Millis(), s.wins, s.pane)
}

func same(a, b sample) bool {
	return a.v == b.v && a.t == b.t && a.pane == b.pane && slices.Equal(a.wins, b.wins)
}

var (
	drawWindow = rapid.Custom(func(t *rapid.T) event.Window {
		if rapid.IntRange(0, 3).Draw(t, "global") == 0 {
			return event.Global()
		}
		start := event.Time(rapid.Int64Range(-3, 3).Draw(t, "start"))
		w := event.Window{Start: start, End: start + event.Time(rapid.Int64Range(1, 2).Draw(t, "size"))}
		return w.Labelled(rapid.SampledFrom([]string{"", "a"}).Draw(t, "label"))
	})
	drawPane = rapid.Custom(func(t *rapid.T) event.Pane {
		if rapid.Bool().Draw(t, "none") {
			return event.NoPane
		}
		n := rapid.Int64Range(0, 2).Draw(t, "index")
		return event.Pane{Timing: event.Late, First: n == 0, Index: n, OnTimeIndex: n}
	})
	drawTime = rapid.Custom(func(t *rapid.T) event.Time {
		return event.Time(rapid.Int64Range(event.Min.Millis(), event.Max.Millis()).Draw(t, "time"))
	})
)

// drawSamples gives elements of which windows and panes often are those of the element before, and sometimes all the same.
func drawSamples(t *rapid.T) []sample {
	all := make([]sample, rapid.IntRange(0, 20).Draw(t, "elements"))
	change := rapid.IntRange(0, 3).Draw(t, "changes")
	for i := range all {
		s := sample{v: rapid.StringN(0, 3, 10).Draw(t, "value"), t: drawTime.Draw(t, "time")}
		if i > 0 {
			s.wins, s.pane = all[i-1].wins, all[i-1].pane
		}
		if i == 0 || rapid.IntRange(0, 3).Draw(t, "windows") < change {
			s.wins = rapid.SliceOfN(drawWindow, 1, 3).Draw(t, "windows")
		}
		if i == 0 || rapid.IntRange(0, 3).Draw(t, "pane") < change {
			s.pane = drawPane.Draw(t, "pane")
		}
		all[i] = s
	}
	return all
}

// TestBatchKeeps shows that a batch gives back exactly what was put into it, also when it is used again, and that it keeps no
// windows that are not its own.
func TestBatchKeeps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := &Batch[string]{}
		scratch := make([]event.Window, 0, 3)
		for range rapid.IntRange(1, 3).Draw(t, "uses") {
			all := drawSamples(t)
			for _, s := range all {
				scratch = append(scratch[:0], s.wins...) // as window steps do
				b.add(&Elem{Time: s.t, Win: scratch, Pane: s.pane}, s.v)
			}
			if b.Len() != len(all) || len(b.Times) != len(all) {
				t.Fatalf("Len is %d, %d times, want %d", b.Len(), len(b.Times), len(all))
			}
			order := rapid.Permutation(slices.Collect(numbers(len(all)))).Draw(t, "order")
			for _, i := range order {
				var e Elem
				b.load(&e, i)
				if got := (sample{b.Vals[i], e.Time, e.Win, e.Pane}); !same(got, all[i]) {
					t.Fatalf("element %d is %v, want %v\nof %v", i, got, all[i], all)
				}
				if len(e.Win) != cap(e.Win) {
					t.Fatal("an append to the element's windows would write into the batch")
				}
			}
			b.Reset()
			checkEmpty(t, b)
		}
	})
}

func numbers(n int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for i := 0; i < n && yield(i); i++ {
		}
	}
}

// checkEmpty fails if the batch has elements, or holds on to some.
func checkEmpty(t *rapid.T, b *Batch[string]) {
	if b.Len()+len(b.Times)+len(b.sums) != 0 {
		t.Fatalf("not empty after Reset: %+v", b)
	}
	for _, v := range b.Vals[:cap(b.Vals)] {
		if v != "" {
			t.Fatalf("holds %q after Reset", v)
		}
	}
	for _, w := range b.wins[:cap(b.wins)] {
		if w != (event.Window{}) {
			t.Fatalf("holds window %v after Reset", w)
		}
	}
}

// TestBatchColumns shows that elements of the same windows and pane share one column.
func TestBatchColumns(t *testing.T) {
	b := &Batch[string]{}
	two := []event.Window{{Start: 0, End: 10}, {Start: 5, End: 15}}
	for i := range 100 {
		b.add(&Elem{Time: event.Time(i), Win: two, Pane: event.NoPane}, "x")
	}
	if len(b.wins) != 2 || len(b.ends) != 0 || len(b.panes) != 0 {
		t.Errorf("%d windows, %d ends, %d panes", len(b.wins), len(b.ends), len(b.panes))
	}
}
