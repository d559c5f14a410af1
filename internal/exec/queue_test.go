package exec

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/store"
)

// TestDueQueue compares the queue with a set that is searched at every look. A window that moves, to a later or an earlier time, is due
// at its new time only, and one that is gone never.
func TestDueQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := dueQueue[*open[string, int]]{func(o *open[string, int]) *place { return o.at(&o.due) }, &store.Heap[*open[string, int]]{}}
		model := map[*open[string, int]]event.Time{}
		var order []*open[string, int] // so that rapid draws the same ones again
		var idle []*open[string, int]
		in := event.Time(0)
		forget := func(o *open[string, int]) {
			delete(model, o)
			order = slices.DeleteFunc(order, func(x *open[string, int]) bool { return x == o })
		}
		pop := func(t *rapid.T) {
			least, due := event.Max, false
			for _, at := range model {
				least, due = min(least, at), due || at <= in
			}
			if first, ok := q.next(); ok != (len(model) > 0) || ok && first != least {
				t.Fatalf("the first is due at %d, %v, want %d", first, ok, least)
			}
			got, ok := q.pop(in)
			if ok != due {
				t.Fatalf("pop at %d gives %+v, want one: %v", in, got, due)
			}
			if ok {
				if at, ok := model[got]; !ok || at != least {
					t.Fatalf("pop at %d gives one that is due at %d (%v), want %d", in, at, ok, least)
				}
				forget(got)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"new": func(t *rapid.T) {
				o := &open[string, int]{}
				model[o] = event.Time(rapid.Int64Range(0, 20).Draw(t, "at"))
				order = append(order, o)
				q.set(o, &o.due, model[o], true)
			},
			"move": func(t *rapid.T) {
				if len(order) > 0 {
					o := rapid.SampledFrom(order).Draw(t, "window")
					model[o] += event.Time(rapid.Int64Range(-5, 5).Draw(t, "by"))
					q.set(o, &o.due, model[o], true)
				}
			},
			"not due any more": func(t *rapid.T) {
				if len(order) > 0 {
					o := rapid.SampledFrom(order).Draw(t, "window")
					forget(o)
					q.set(o, &o.due, 0, false)
					idle = append(idle, o)
				}
			},
			"due again": func(t *rapid.T) {
				if len(idle) > 0 {
					o := idle[len(idle)-1]
					idle = idle[:len(idle)-1]
					model[o] = in + event.Time(rapid.Int64Range(-2, 20).Draw(t, "at"))
					order = append(order, o)
					q.set(o, &o.due, model[o], true)
				}
			},
			"gone": func(t *rapid.T) {
				if len(order) > 0 {
					o := rapid.SampledFrom(order).Draw(t, "window")
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
		if _, _, left := q.all.First(); left {
			t.Fatal("an entry is left")
		}
	})
}
