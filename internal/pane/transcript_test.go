package pane

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/levadaflow/levada/event"
)

// key is a grouping step of one key: what internal/exec does with states, without its queues.
type key struct {
	s    Strategy
	in   event.Time
	wins []*contents
}

type contents struct {
	State
	elements []int64 // the times of those that the next pane shows
}

func newKey(s Strategy) *key {
	if s.machine == nil {
		if err := s.SetTrigger(nil); err != nil {
			panic(err)
		}
	}
	return &key{s: s, in: event.Min}
}

func (k *key) open(s State) *contents {
	w := &contents{State: s}
	k.wins = append(k.wins, w)
	return w
}

func (k *key) remove(w *contents) {
	k.wins = slices.DeleteFunc(k.wins, func(x *contents) bool { return x == w })
}

// join returns the window that w has become with those that it intersects, and how many these are.
func (k *key) join(w event.Window) (*contents, int) {
	var active []event.Window
	for _, x := range k.wins {
		active = append(active, x.Window)
	}
	span, hits := Span(nil, active, w)
	if len(hits) == 0 {
		return k.open(State{Window: span}), 0
	}
	var olds []*State
	var elements []int64
	for _, i := range hits {
		olds = append(olds, &k.wins[i].State)
		elements = append(elements, k.wins[i].elements...)
	}
	merged := k.s.Merge(span, olds, k.in, 0)
	for i := range slices.Backward(hits) {
		k.remove(k.wins[hits[i]])
	}
	m := k.open(merged)
	m.elements = elements
	return m, len(hits)
}

// element returns what happens when an element comes into w.
func (k *key) element(w *contents, t event.Time) (pane []int64, e Effect) {
	w.elements = append(w.elements, t.Millis())
	return k.apply(w, k.s.Element(&w.State, t, k.in, 0))
}

func (k *key) apply(w *contents, e Effect) ([]int64, Effect) {
	pane := slices.Clone(w.elements)
	if e.Clear {
		w.elements = nil
	}
	if e.Close {
		k.remove(w)
	}
	return pane, e
}

// next returns the window that is due first at the watermark, nil if there is none.
func (k *key) next() *contents {
	var first *contents
	for _, w := range k.wins {
		if due := k.s.Due(&w.State); due <= k.in && (first == nil || due < k.s.Due(&first.State)) {
			first = w
		}
	}
	return first
}

// due does what is due first at the watermark.
func (k *key) due(w *contents) (pane []int64, e Effect) {
	return k.apply(w, k.s.Watermark(&w.State, k.in, 0))
}

func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if strings.Contains(path, "rapid") {
			t.Skip("what a failed property test left")
		}
		k := newKey(Strategy{})
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return k.run(t, d) })
	})
}

// run does one command of a transcript:
//
//	strategy [lateness=N] [time=end|earliest|latest] [accumulate=yes] [closing=always] [on-time=non-empty]
//	window W           a window of its own
//	merge W            a window which is merged with those that it intersects
//	element t=T [w=W]  an element into W, or the only window there is
//	watermark T        what is due at T, one after the other
func (k *key) run(t *testing.T, d *datadriven.TestData) string {
	var b strings.Builder
	switch d.Cmd {
	case "strategy":
		*k = *newKey(strategy(t, d))
		return "ok"
	case "window":
		w := k.open(State{Window: parseWindow(t, d.CmdArgs[0].Key)})
		if k.s.Expired(w.Window, k.in) {
			b.WriteString("expired\n")
		}
	case "merge":
		w, n := k.join(parseWindow(t, d.CmdArgs[0].Key))
		fmt.Fprintf(&b, "%d become %s\n", n, showWindow(w.Window))
	case "element":
		w := k.wins[0]
		if arg, ok := d.Arg("w"); ok {
			at := parseWindow(t, arg.Vals[0])
			w = k.wins[slices.IndexFunc(k.wins, func(x *contents) bool { return x.Window == at })]
		}
		arg, _ := d.Arg("t")
		if k.s.Expired(w.Window, k.in) {
			b.WriteString("dropped\n")
			break
		}
		pane, e := k.element(w, parseTime(t, arg.Vals[0]))
		fmt.Fprintln(&b, showEffect(pane, e))
	case "watermark":
		k.in = max(k.in, parseTime(t, d.CmdArgs[0].Key))
		if k.next() == nil {
			b.WriteString("nothing is due\n")
		}
		for w := k.next(); w != nil; w = k.next() {
			pane, e := k.due(w)
			fmt.Fprintf(&b, "%s: %s\n", showWindow(w.Window), showEffect(pane, e))
		}
	default:
		t.Fatalf("%s: no command %q", d.Pos, d.Cmd)
	}
	for _, w := range k.wins {
		fmt.Fprintln(&b, "  "+k.showState(w))
	}
	return b.String()
}

func strategy(t *testing.T, d *datadriven.TestData) (s Strategy) {
	for _, arg := range d.CmdArgs {
		switch arg.String() {
		case "time=end":
		case "time=earliest":
			s.Time = Earliest
		case "time=latest":
			s.Time = Latest
		case "accumulate=yes":
			s.Accumulating = true
		case "closing=always":
			s.ClosingAlways = true
		case "on-time=non-empty":
			s.OnTimeNonEmpty = true
		default:
			if arg.Key != "lateness" {
				t.Fatalf("%s: bad argument %v", d.Pos, arg)
			}
			s.LatenessMillis = parseTime(t, arg.Vals[0]).Millis()
		}
	}
	return s
}

var names = map[string]event.Time{
	"min": event.Min, "max": event.Max, "eogw": event.EndOfGlobal, "eogw+1": event.EndOfGlobal + 1,
}

func parseTime(t *testing.T, s string) event.Time {
	if at, ok := names[s]; ok {
		return at
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return event.Time(v)
}

func parseWindow(t *testing.T, s string) event.Window {
	if s == "global" {
		return event.Global()
	}
	start, end, ok := strings.Cut(strings.Trim(s, "[)"), ",")
	if !ok {
		t.Fatalf("%q is not a window", s)
	}
	return event.Window{Start: parseTime(t, start), End: parseTime(t, end)}
}

func showTime(at event.Time) string {
	for name, v := range names {
		if at == v {
			return name
		}
	}
	return strconv.FormatInt(at.Millis(), 10)
}

func showWindow(w event.Window) string {
	if w.IsGlobal() {
		return "global"
	}
	return fmt.Sprintf("[%s,%s)", showTime(w.Start), showTime(w.End))
}

func showEffect(pane []int64, e Effect) string {
	s := "no pane"
	if e.Emit {
		s = fmt.Sprintf("%v @%s %v", e.Pane, showTime(e.Time), pane)
	}
	if e.Clear && !e.Close {
		s += ", clear"
	}
	if e.Close {
		s += ", close"
	}
	return s
}

func (k *key) showState(w *contents) string {
	hold := "none"
	if at, ok := w.Hold(); ok {
		hold = showTime(at)
		if !w.counts {
			hold += " (no element counts)"
		}
	}
	s := fmt.Sprintf("%s panes=%d on-time=%d hold=%s", showWindow(w.Window), w.panes, w.onTime, hold)
	if w.fresh {
		s += " fresh"
	}
	if w.ended {
		s += " ended"
	}
	return s + " due=" + showTime(k.s.Due(&w.State))
}
