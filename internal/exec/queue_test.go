package exec

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/levadaflow/levada/event"
)

// modelEntry is a window in the model of the queue, which is a list.
type modelEntry struct {
	at event.Time
	n  int // of the push: windows that are due together fire in the order in which they came
	o  *open[string, int]
}

// TestDueQueue compares the queue with a list that is sorted before every look. A window that moves is due at its new time only,
// and one that is gone never.
func TestDueQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q dueQueue[string, int]
		var model []modelEntry
		in, pushes := event.Time(0), 0
		push := func(o *open[string, int], at event.Time) {
			o.due = at
			q.push(o)
			model = append(model, modelEntry{at, pushes, o})
			pushes++
		}
		forget := func(o *open[string, int]) {
			model = slices.DeleteFunc(model, func(m modelEntry) bool { return m.o == o })
		}
		pop := func(t *rapid.T) {
			slices.SortFunc(model, func(a, b modelEntry) int {
				if a.at != b.at {
					return int(a.at - b.at)
				}
				return a.n - b.n
			})
			var want *open[string, int]
			if len(model) > 0 && model[0].at <= in {
				want = model[0].o
				forget(want)
			}
			if got := q.pop(in); got != want {
				t.Fatalf("pop at %d gives %+v, want %+v", in, got, want)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				push(&open[string, int]{}, event.Time(rapid.Int64Range(0, 20).Draw(t, "at")))
			},
			"later": func(t *rapid.T) {
				if len(model) > 0 {
					o := rapid.SampledFrom(model).Draw(t, "window").o
					forget(o)
					push(o, o.due+event.Time(rapid.Int64Range(1, 5).Draw(t, "by")))
				}
			},
			"gone": func(t *rapid.T) {
				if len(model) > 0 {
					o := rapid.SampledFrom(model).Draw(t, "window").o
					forget(o)
					o.gone = true
				}
			},
			"pop":     pop,
			"advance": func(t *rapid.T) { in += event.Time(rapid.Int64Range(1, 3).Draw(t, "by")) },
		})
		for in = event.Max; len(model) > 0; {
			pop(t)
		}
		pop(t)
		if len(q.heap) != 0 {
			t.Fatalf("%d entries are left", len(q.heap))
		}
		for _, x := range q.heap[:cap(q.heap)] {
			if x.o != nil {
				t.Fatal("the queue holds on to a window that is not in it")
			}
		}
	})
}
