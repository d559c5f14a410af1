package exec_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/levadatest"
	"github.com/levadaflow/levada/window"
)

// everyMode are the executions between which no result may differ.
func everyMode() (all []levada.Embedded) {
	for _, general := range []bool{false, true} {
		for _, parallelism := range []int{1, 2, 4} {
			for _, bundle := range []int{1, 1000} {
				all = append(all, levada.Embedded{Parallelism: parallelism, MaxBundle: bundle, GeneralPath: general})
			}
		}
	}
	return all
}

// own is a window function of a user's type that embeds one of package window, from which it has a Grid method, but gives windows of
// its own. It cannot be compared.
type own struct {
	window.FixedWindows
	as   window.Fn
	note []string
}

func (o own) Validate() error { return nil }
func (o own) Assign(dst []event.Window, t event.Time) []event.Window {
	n := len(dst)
	dst = o.as.Assign(dst, t)
	slices.Reverse(dst[n:])
	return dst
}
func (o own) Merging() bool               { return o.as.Merging() }
func (o own) Compatible(f window.Fn) bool { _, ok := f.(own); return ok }
func (o own) String() string              { return fmt.Sprintf("own(%v)", o.as) }

// intersecting is the merge rule of sessions, as a user would write it.
func intersecting(windows []event.Window, merge func(parts []event.Window, into event.Window)) {
	for from := 0; from < len(windows); {
		span, to := windows[from], from+1
		for to < len(windows) && span.Intersects(windows[to]) {
			span = span.Span(windows[to])
			to++
		}
		if to > from+1 {
			merge(windows[from:to], span)
		}
		from = to
	}
}

// TestCustomIsBuiltIn shows that a window function of a user's gives what the built-in one gives that it is made of, on both paths, at
// every parallelism and bundle size: every pane at the same move, all that is late, and the counters.
func TestCustomIsBuiltIn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRandom(t)
		if rapid.IntRange(0, 2).Draw(t, "merging") > 0 {
			r.fn = window.Sessions(time.Duration(rapid.IntRange(1, 12).Draw(t, "gap")) * time.Millisecond)
		}
		want := r.run(t, levada.Embedded{Parallelism: 1, MaxBundle: 1, GeneralPath: true})
		var all []random
		asOwn, asFunc, by, named := r, r, r, r
		asOwn.fn = own{as: r.fn, FixedWindows: window.Fixed(5 * time.Millisecond), note: []string{"mine"}}
		f, kind := window.Func("own", r.fn.Assign), window.ByElement("own")
		if r.fn.Merging() {
			f, kind = f.Merged(), kind.Merged()
			rule, byRule := r, r
			rule.fn = f.MergedBy(intersecting)
			byRule.byElement, byRule.kind = true, kind.MergedBy(intersecting)
			all = append(all, rule, byRule)
		} else {
			by.byElement = true
			all = append(all, by)
		}
		asFunc.fn = f
		named.byElement, named.kind = true, kind
		all = append(all, asOwn, asFunc, named)
		modes := everyMode()
		for i, c := range all {
			mode := modes[(i+rapid.IntRange(0, len(modes)-1).Draw(t, "mode"))%len(modes)]
			if d := gocmp.Diff(want, c.run(t, mode)); d != "" {
				t.Fatalf("%v (by element %v, %v), %v, %+v: - built in, + own:\n%s", c.fn, c.byElement, c.kind, c.trigger, mode, d)
			}
		}
	})
}

// visit is an element with a gap of its own.
type visit struct {
	item
	gap event.Time
}

// TestDynamicSessions compares sessions whose gap and label depend on the element with what brute force makes of all elements:
// the components of those that intersect, by key and label.
func TestDynamicSessions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []visit
		for _, it := range drawItems(t) {
			all = append(all, visit{it, event.Time(rapid.IntRange(1, 12).Draw(t, "gap"))})
		}
		own := func(v visit) event.Window {
			return event.Window{Start: v.time, End: v.time + v.gap}.Labelled([]string{"", "eu", "us"}[(v.value+9)%3])
		}
		want := map[cell]int{}
		for _, v := range all {
			w := own(v)
			for grown := true; grown; {
				grown = false
				for _, o := range all {
					x := own(o)
					if o.key == v.key && x.Label() == w.Label() && x.Start < w.End && w.Start < x.End && (x.Start < w.Start || w.End < x.End) {
						w = event.Window{Start: min(w.Start, x.Start), End: max(w.End, x.End)}.Labelled(w.Label())
						grown = true
					}
				}
			}
			want[cell{v.key, w.String()}] += v.value
		}
		mode := rapid.SampledFrom(everyMode()).Draw(t, "mode")
		d := levadatest.NewDriver()
		d.Run = mode
		defer d.Stop()
		src := levadatest.AddScript[visit](d, "src")
		sessions := levada.WindowBy(src.Out, "sessions", func(dst []event.Window, v visit, _ event.Time) []event.Window {
			return append(dst, own(v))
		}, levada.Windowing{Windows: window.ByElement("sessions").Merged()})
		keyed := levada.KeyValue(sessions, "key", func(v visit) (string, int) { return v.key, v.value })
		sums := levadatest.Gather(levada.SumPerKey(keyed, "sum"), "out")
		for _, v := range all {
			if err := src.Add(v.time, v); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Finish(); err != nil {
			t.Fatal(err)
		}
		got := map[cell]int{}
		for _, e := range sums.Take() {
			got[cellOf(e)] += e.Value.Value
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatalf("%+v, %+v: - brute force, + engine:\n%s", mode, all, diff)
		}
	})
}

// pairing is a merge rule that looks at all windows of the key: of three or more, the first two become their span.
func pairing(windows []event.Window, merge func(parts []event.Window, into event.Window)) {
	if len(windows) >= 3 {
		merge(windows[:2], windows[0].Span(windows[1]))
	}
}

// pairs is what pairing makes of one key's elements, by brute force: the sum of each open window.
type pairs map[event.Window]int

func (p pairs) add(w event.Window, v int) {
	if _, there := p[w]; !there {
		var all []event.Window
		for x := range p {
			all = append(all, x)
		}
		all = append(all, w)
		slices.SortFunc(all, func(a, b event.Window) int {
			return cmp.Or(int(a.Start-b.Start), int(a.End-b.End))
		})
		if len(all) >= 3 {
			span := event.Window{Start: all[0].Start, End: max(all[0].End, all[1].End)}
			sum := p[all[0]] + p[all[1]]
			delete(p, all[0])
			delete(p, all[1])
			p[span] = sum
			if w == all[0] || w == all[1] {
				w = span
			}
		}
	}
	p[w] += v
}

// TestRuleOfAllWindows compares a merge rule under which an element of one window merges others with brute force: every pane at the
// same move.
func TestRuleOfAllWindows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := levadatest.NewDriver()
		d.Run = rapid.SampledFrom(everyMode()).Draw(t, "mode")
		defer d.Stop()
		src := levadatest.AddScript[item](d, "src")
		windows := levada.WindowBy(src.Out, "pairs", func(dst []event.Window, v item, at event.Time) []event.Window {
			return append(dst, event.Window{Start: at, End: at + 1 + event.Time(v.value+9)/3})
		}, levada.Windowing{Windows: window.ByElement("pairs").MergedBy(pairing)})
		keyed := levada.KeyValue(windows, "key", func(v item) (string, int) { return v.key, v.value })
		sums := levadatest.Gather(levada.SumPerKey(keyed, "sum"), "out")

		model := map[string]pairs{"a": {}, "b": {}}
		now := event.Min
		advance := func(to event.Time) map[cell]int {
			now = max(now, to)
			due := map[cell]int{}
			for key, open := range model {
				for w, sum := range open {
					if w.End <= now {
						due[cell{key, w.String()}] = sum
						delete(open, w)
					}
				}
			}
			return due
		}
		compare := func(what string, err error, want map[cell]int) {
			got := map[cell]int{}
			for _, e := range sums.Take() {
				got[cellOf(e)] = e.Value.Value
			}
			if diff := gocmp.Diff(want, got); err != nil || diff != "" {
				t.Fatalf("%s: %v: - brute force, + engine:\n%s", what, err, diff)
			}
		}
		for range rapid.IntRange(0, 15).Draw(t, "moves") {
			if rapid.IntRange(0, 4).Draw(t, "watermark") == 0 {
				to := event.Time(rapid.IntRange(0, 60).Draw(t, "to"))
				compare(fmt.Sprint("watermark ", to), src.Watermark(to), advance(to))
				continue
			}
			it := item{rapid.SampledFrom([]string{"a", "a", "b"}).Draw(t, "key"), rapid.IntRange(-9, 9).Draw(t, "value"),
				event.Time(rapid.IntRange(0, 40).Draw(t, "time"))}
			w := event.Window{Start: it.time, End: it.time + 1 + event.Time(it.value+9)/3}
			if w.End > now {
				model[it.key].add(w, it.value)
			}
			compare(fmt.Sprintf("%+v", it), src.Add(it.time, it), map[cell]int{})
		}
		compare("the end", d.Finish(), advance(event.Max))
	})
}
