package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/scenario"
	"github.com/levadaflow/levada/levadatest"
	"github.com/levadaflow/levada/trigger"
	"github.com/levadaflow/levada/window"
)

// everyMode are the executions between which no result may differ.
func everyMode() (all []levada.Embedded) {
	for _, parallelism := range []int{1, 2, 4} {
		for _, bundle := range []int{1, 7, 1000} {
			for path := range 4 {
				all = append(all, levada.Embedded{
					Parallelism: parallelism, MaxBundle: bundle, GeneralPath: path&1 != 0, Unfused: path&2 != 0,
				})
			}
		}
	}
	return all
}

// simplest is the execution that the others are compared with.
var simplest = levada.Embedded{Parallelism: 1, MaxBundle: 1, GeneralPath: true}

func drawModes(t *rapid.T, n int) []levada.Embedded {
	return rapid.Permutation(everyMode()).Draw(t, "modes")[:n]
}

// plain says that the trigger of p fires at the window's end and at no other time, so that without lateness the panes do not depend
// on the order of the elements between two watermarks.
func (p program) plain() bool {
	return slices.Contains([]string{"default", "never", "after-watermark", "after-end-of-window"}, p.trigger.op) &&
		!slices.ContainsFunc(p.trigger.args, func(e *expr) bool { return e != nil })
}

// drawPipeline draws the pipeline block of p with more steps: before the window step, between it and the grouping, and behind that,
// where the panes may be grouped once more.
func drawPipeline(t *rapid.T, p program) string {
	var lines []string
	last := "src"
	step := func(name, op, rest string) {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s = %s %s %s", name, op, last, rest)))
		last = name
	}
	chain := func(where string, most int) {
		for i := range rapid.IntRange(0, most).Draw(t, where) {
			if name := fmt.Sprint(where, i); rapid.Bool().Draw(t, "reshuffle") {
				step(name, "reshuffle", "")
			} else {
				step(name, "add", "0")
			}
		}
	}
	chain("before", 2)
	if p.plain() && p.lateness == 0 && rapid.Bool().Draw(t, "flatten") { // the two copies of an element come in any order
		one := last
		step("copy", "add", "1000000")
		lines = append(lines, "both = flatten "+one+" copy")
		last = "both"
	}
	_, window, _ := strings.Cut(p.String(), "w = window src ")
	window, _, _ = strings.Cut(window, "\n")
	step("w", "window", window)
	chain("between", 2)
	step("g", p.op, "")
	lines = append(lines, "late-g = late g")
	if p.op != "group" {
		chain("behind", 2)
		if rapid.Bool().Draw(t, "again") {
			step("again", rapid.SampledFrom([]string{"sum", "group"}).Draw(t, "second"), "")
			lines = append(lines, "late-again = late again")
		}
	}
	return "pipeline\nsrc = script\n" + strings.Join(lines, "\n") + "\n----\nok\n\n"
}

// TestModesAgree shows that no execution changes what random programs give, step by step: every pane, all that is late, and what is
// counted, at the line that causes it. Everything is determined here, because after each line all that it causes happens.
func TestModesAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t)
		if p.fn != "sessions" && rapid.IntRange(0, 2).Draw(t, "fast") == 0 { // what the fast path is for
			p.trigger, p.unsafe, p.closing, p.time = &expr{op: "default"}, false, "non-empty", "end"
		}
		text := drawPipeline(t, p)
		for _, l := range drawLines(t) {
			text += fmt.Sprintf("feed\n%v\n----\n\n", l)
		}
		text += "finish\n----\n\nmetrics dropped_late dropped_closed no_window\n----\n\n"
		f, err := scenario.Parse("random", []byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		run := func(mode levada.Embedded) [][]string {
			r, err := scenario.Run(f, mode)
			if err != nil || len(r.NotYet) > 0 || !slices.Equal(r.Outputs[0], []string{"ok"}) {
				t.Fatalf("%v %+v\n%s", err, r, text)
			}
			return r.Outputs
		}
		want := run(simplest)
		for _, mode := range drawModes(t, 3) {
			if got := run(mode); !gocmp.Equal(want, got) {
				t.Fatalf("the program, with what comes of it with %+v:\n%s\nWith %+v:\n%s", simplest, f.Rewrite(want), mode, f.Rewrite(got))
			}
		}
	})
}

// item is an element of a program that is fed in one go.
type item struct {
	Key  string
	V, T int64
}

// goes cuts lines into what is fed in one go: the elements between two other lines. Each of them comes last in its go.
func goes(lines []line) [][]line {
	var all [][]line
	var open []line
	for _, l := range lines {
		if open = append(open, l); l.kind != "element" {
			all, open = append(all, open), nil
		}
	}
	return append(all, open)
}

// outcome is what came of a program that was fed in one go after the other.
type outcome struct {
	Panes   [][]string        // of each go, sorted; nil unless they are determined
	Totals  map[string]string // see totals
	Dropped int64
}

// feed runs p on lines in one mode.
func (p program) feed(t *rapid.T, lines [][]line, mode levada.Embedded) outcome {
	d := levadatest.NewDriver()
	d.Run = mode
	defer d.Stop()
	src := levadatest.AddScript[[]item](d, "src")
	items := levada.WithTimestamps(levada.FlatMap(src.Out, "each", slices.Values[[]item]), "time", func(i item) event.Time {
		return event.Time(i.T)
	})
	windows := levada.WindowInto(levada.Reshuffle(items, "spread"), "w", p.windowing())
	keyed := levada.KeyValue(windows, "key", func(i item) (string, int64) { return i.Key, i.V })
	out := levadatest.Gather(p.grouping(keyed), "out")
	var panes []pane
	step := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range out.Take() {
			panes = append(panes, pane{len(panes), e})
		}
	}
	o := outcome{}
	for _, l := range lines {
		var elements []item
		for _, x := range l {
			if x.kind == "element" {
				elements = append(elements, item{x.key, x.v, x.t})
			}
		}
		if len(elements) > 0 { // they get their times behind the source, which gives them that of the first
			first := slices.MinFunc(elements, func(a, b item) int { return cmp.Compare(a.T, b.T) })
			step(src.Add(event.Time(first.T), elements))
		}
		if len(l) > len(elements) {
			switch x := l[len(l)-1]; x.kind {
			case "watermark":
				step(src.Watermark(event.Time(x.t)))
			case "clock":
				step(d.Clock(time.Duration(x.t) * time.Millisecond))
			}
		}
		o.Panes = append(o.Panes, texts(panes))
	}
	step(d.Finish())
	o.Panes = append(o.Panes, texts(panes))
	if !p.plain() || p.lateness > 0 {
		o.Panes = nil
	}
	o.Totals, o.Dropped = p.totals(panes), d.Result().Counter("g", "dropped_late")
	return o
}

// grouping adds the grouping of p, with its values as lists.
func (p program) grouping(in levada.PCollection[levada.KV[string, int64]]) levada.PCollection[levada.KV[string, []int64]] {
	one := func(kv levada.KV[string, int64]) levada.KV[string, []int64] {
		return levada.KV[string, []int64]{Key: kv.Key, Value: []int64{kv.Value}}
	}
	switch p.op {
	case "sum":
		return levada.Map(levada.SumPerKey(in, "g"), "list", one)
	case "count":
		return levada.Map(levada.CountPerKey(in, "g"), "list", one)
	}
	return levada.Map(levada.GroupByKey(in, "g"), "list", func(kv levada.KV[string, levada.Values[int64]]) levada.KV[string, []int64] {
		return levada.KV[string, []int64]{Key: kv.Key, Value: slices.Sorted(kv.Value.All())}
	})
}

// pane is one that came out, with its number among all.
type pane struct {
	n int
	levadatest.Element[levada.KV[string, []int64]]
}

// texts are the panes so far as lines.
func texts(panes []pane) []string {
	out := []string{}
	for _, p := range panes {
		out = append(out, fmt.Sprint(p.Value, p.Time.Millis(), p.Window, p.Pane))
	}
	slices.Sort(out)
	return out
}

// totals are what the panes of the whole run say together, which the order of elements between two watermarks must not change,
// whatever panes it gives: with discarding, all that the panes of a key and window have; with accumulating, the last pane.
// Sessions may merge in another order after panes have come out, so for them it is all that the panes of a key have, or the last
// panes of the windows that no other window of the key covers.
func (p program) totals(panes []pane) map[string]string {
	sums := map[string][]int64{}
	if !p.accumulate {
		for _, x := range panes {
			at := x.Value.Key
			if p.fn != "sessions" {
				at += x.Window.String()
			}
			sums[at] = append(sums[at], x.Value.Value...)
		}
	} else {
		last := map[string]pane{}
		for _, x := range panes {
			covered := slices.ContainsFunc(panes, func(o pane) bool {
				return p.fn == "sessions" && o.Value.Key == x.Value.Key && o.Window != x.Window && o.Window.Covers(x.Window)
			})
			at := x.Value.Key + x.Window.String()
			if y, ok := last[at]; !covered && (!ok || y.Pane.Index < x.Pane.Index) {
				last[at] = x
			}
		}
		for at, x := range last {
			sums[at] = x.Value.Value
		}
	}
	out := map[string]string{}
	for at, values := range sums {
		slices.Sort(values)
		if p.op != "group" {
			total := int64(0)
			for _, v := range values {
				total += v
			}
			values = []int64{total}
		}
		out[at] = fmt.Sprint(values)
	}
	return out
}

// windowing is that of the window step.
func (p program) windowing() levada.Windowing {
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	firings := map[string]levada.Firing{"always": levada.Always, "non-empty": levada.NonEmpty}
	w := levada.Windowing{
		AllowedLateness: ms(p.lateness), Trigger: triggerOf(p.trigger), Accumulation: levada.Discarding,
		OutputTime: map[string]levada.OutputTime{"earliest": levada.Earliest, "latest": levada.Latest}[p.time],
		Closing:    firings[p.closing], OnTime: firings[p.onTime],
	}
	if p.accumulate {
		w.Accumulation = levada.Accumulating
	}
	switch p.fn {
	case "fixed":
		w.Windows = window.Fixed(ms(p.size))
	case "sliding":
		w.Windows = window.Sliding(ms(p.size), ms(p.period))
	default:
		w.Windows = window.Sessions(ms(p.size))
	}
	return w
}

func triggerOf(e *expr) trigger.Trigger {
	if e == nil {
		return nil
	}
	var parts []trigger.Trigger
	for _, a := range e.args {
		parts = append(parts, triggerOf(a))
	}
	switch e.op {
	case "default":
		return trigger.Default{}
	case "never":
		return trigger.Never{}
	case "after-count":
		return trigger.AfterCount(e.n)
	case "after-delay":
		return trigger.AfterDelay(time.Duration(e.n) * time.Millisecond)
	case "after-watermark":
		return trigger.AfterWatermark{Early: parts[0], Late: parts[1]}
	case "repeat":
		return trigger.Repeat{Trigger: parts[0]}
	case "or-finally":
		return trigger.OrFinally{Main: parts[0], Finally: parts[1]}
	case "after-each":
		return trigger.AfterEach(parts)
	case "after-any":
		return trigger.AfterAny(parts)
	case "after-all":
		return trigger.AfterAll(parts)
	}
	return trigger.AfterWatermark{} // after-end-of-window
}

// TestOrderDoesNotMatter shows that neither the order of the elements between two watermarks nor the execution changes what comes of
// them. They are fed in one go, so that bundles are of many and tasks race. Which panes early and late firings give does depend on the
// order, so only what is dropped and the totals are compared there; where panes come at the window's end only, every one is. Triggers
// that finish are left out: what comes after they have finished is lost, which is another element in another order.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t)
		if p.unsafe {
			p.trigger, p.unsafe = &expr{op: "repeat", args: []*expr{p.trigger}}, false
		}
		if rapid.IntRange(0, 2).Draw(t, "plain") == 0 {
			p.trigger, p.lateness = &expr{op: "default"}, 0
		}
		lines := goes(drawLines(t))
		want := p.feed(t, lines, simplest)
		for _, mode := range drawModes(t, 2) {
			shuffled := slices.Clone(lines)
			for i, l := range shuffled {
				n := len(l)
				if n > 0 && l[n-1].kind != "element" {
					n--
				}
				shuffled[i] = append(rapid.Permutation(l[:n]).Draw(t, "order"), l[n:]...)
			}
			if diff := gocmp.Diff(want, p.feed(t, shuffled, mode)); diff != "" {
				t.Fatalf("%v%v, - with %+v\n%v, + with %+v:\n%s", p, lines, simplest, shuffled, mode, diff)
			}
		}
	})
}
