package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

const (
	wmMin = math.MinInt64
	wmMax = math.MaxInt64
)

// program is one source, one window step, one grouping and its late output.
type program struct {
	fn           string // fixed, sliding or sessions
	size, period int64  // period: sliding only; size is the gap of sessions
	lateness     int64
	trigger      *expr
	accumulate   bool
	closing      string
	onTime       string
	time         string
	op           string // group, sum or count
	unsafe       bool
	noLate       bool // nobody reads the late output
}

// line is an input line.
type line struct {
	kind string // element, watermark or clock
	key  string
	v    int64
	t    int64 // the element's time, the watermark, or how far the clock moves
}

func (l line) String() string {
	switch l.kind {
	case "element":
		return fmt.Sprintf("src %s %d @%d", l.key, l.v, l.t)
	case "watermark":
		return fmt.Sprintf("src watermark %d", l.t)
	}
	return fmt.Sprintf("clock +%d", l.t)
}

// interval is a window, with the end exclusive.
type interval struct{ start, end int64 }

func (i interval) String() string { return fmt.Sprintf("[%d,%d)", i.start, i.end) }

// element is one that a window has.
type element struct {
	v, t   int64
	counts bool // for earliest and latest
	holds  bool // came before the window's end
	fired  bool // in some pane
}

// win is a window of one key.
type win struct {
	interval
	elements []element
	trigger  *node
	panes    int  // fired so far
	onTime   int  // those of them that were not early
	closed   bool // the trigger has finished
}

// model is the state of a run.
type model struct {
	p            program
	watermark    int64
	before       int64 // the watermark before the present step; the same between steps
	clock        int64
	wins         map[string][]*win
	out          []string
	late, closed int
}

func newModel(p program) *model {
	return &model{p: p, watermark: wmMin, before: wmMin, wins: map[string][]*win{}}
}

// dropped is how many elements came too late; 0 for a model that is not there.
func (m *model) dropped() int {
	if m == nil {
		return 0
	}
	return m.late
}

// step takes one input line and returns what must be printed.
func (m *model) step(l line) []string {
	m.out = nil
	switch l.kind {
	case "element":
		for _, w := range m.assign(l.t) {
			m.element(l, w)
		}
	case "watermark":
		m.advance(l.t)
	case "clock":
		m.tick(l.t)
	}
	slices.Sort(m.out)
	return m.out
}

// assign returns the windows of a time.
func (m *model) assign(t int64) []interval {
	if m.p.fn == "sessions" {
		return []interval{{t, t + m.p.size}}
	}
	period := m.p.period
	if m.p.fn == "fixed" {
		period = m.p.size
	}
	var out []interval
	for start := int64(-1000 * period); start <= t; start += period {
		if t < start+m.p.size {
			out = append(out, interval{start, start + m.p.size})
		}
	}
	return out
}

func (m *model) expired(i interval) bool {
	return m.watermark == wmMax || m.watermark >= i.end+m.p.lateness
}

func (m *model) element(l line, own interval) {
	if m.expired(own) {
		m.late++
		if !m.p.hasLate() {
			return
		}
		m.out = append(m.out, fmt.Sprintf("l %s %d @%d %v", l.key, l.v, l.t, own))
		return
	}
	w := m.find(l.key, own)
	if w.closed {
		m.closed++
		return
	}
	open := m.watermark < w.end
	counts := l.t >= m.ownWatermark(w) && (open || withCountingAfterEnd)
	w.elements = append(w.elements, element{v: l.v, t: l.t, counts: counts, holds: open})
	w.trigger.element(m.now(w))
	m.evaluate(l.key, w)
}

// find returns the window that takes an element with that window of its own; for sessions, after merging.
func (m *model) find(key string, own interval) *win {
	result, into := own, []*win{}
	if m.p.fn == "sessions" {
		for again := true; again; {
			again = false
			for _, w := range m.wins[key] {
				if w.start < result.end && result.start < w.end && !slices.Contains(into, w) {
					into = append(into, w)
					result = interval{min(result.start, w.start), max(result.end, w.end)}
					again = true
				}
			}
		}
	}
	for _, w := range m.wins[key] {
		if w.interval == result {
			return w
		}
	}
	// A new window, which may have taken in others. Its panes start anew.
	w := &win{interval: result, trigger: fresh(m.p.trigger)}
	var states []*node
	for _, x := range into {
		w.elements = append(w.elements, x.elements...)
		states = append(states, x.trigger)
	}
	if len(into) > 0 {
		w.trigger = merged(m.p.trigger, states, m.watermark >= w.end)
	}
	m.wins[key] = slices.DeleteFunc(m.wins[key], func(x *win) bool { return slices.Contains(into, x) })
	m.wins[key] = append(m.wins[key], w)
	return w
}

// paneTime is the time of the pane that w would have now. None says that no element counts.
func (m *model) paneTime(w *win) (t int64, none bool) {
	t, none = w.end-1, true
	for _, e := range w.elements {
		switch {
		case m.p.time == "end" || e.fired || !e.counts:
		case none, m.p.time == "earliest" && e.t < t, m.p.time == "latest" && e.t > t:
			t, none = e.t, false
		}
	}
	return t, none
}

// ownWatermark is the watermark by which w is judged: that of the input, held by what w has and has not fired.
func (m *model) ownWatermark(w *win) int64 {
	t, none := m.paneTime(w)
	held := slices.ContainsFunc(w.elements, func(e element) bool { return e.holds && !e.fired })
	if held || !none {
		return min(m.before, t)
	}
	return m.before
}

func (m *model) now(w *win) now { return now{m.clock, m.watermark >= w.end} }

// evaluate fires w's trigger if it is ready.
func (m *model) evaluate(key string, w *win) {
	if w.closed || !w.trigger.ready(m.now(w)) {
		return
	}
	finished := w.trigger.fire(m.now(w))
	m.pane(key, w, finished)
	w.closed = finished
}

// pane prints a pane of w unless it is empty and not wanted.
func (m *model) pane(key string, w *win, last bool) {
	timing := "on-time"
	switch {
	case w.onTime > 0 || m.ownWatermark(w) >= w.end:
		timing = "late"
	case m.watermark < w.end:
		timing = "early"
	}
	empty := !slices.ContainsFunc(w.elements, func(e element) bool { return !e.fired })
	always := timing == "on-time" && m.p.onTime == "always" || last && m.p.closing == "always"
	if empty && !always {
		return
	}
	index, flags := -1, ""
	if timing != "early" {
		index = w.onTime
		w.onTime++
	}
	if w.panes == 0 {
		flags = "F"
	}
	if last {
		flags += "L"
	}
	t, _ := m.paneTime(w)
	m.out = append(m.out, fmt.Sprintf("g %s %s @%d %v %s/%d/%d/%s",
		key, m.value(w), t, w.interval, timing, w.panes, index, cmp.Or(flags, "-")))
	w.panes++
	for i := range w.elements {
		w.elements[i].fired = true
	}
}

// value is what the grouping says of w's elements: all, or those that no pane has had.
func (m *model) value(w *win) string {
	var values []int64
	sum := int64(0)
	for _, e := range w.elements {
		if m.p.accumulate || !e.fired {
			values = append(values, e.v)
			sum += e.v
		}
	}
	switch m.p.op {
	case "sum":
		return fmt.Sprint(sum)
	case "count":
		return fmt.Sprint(len(values))
	}
	slices.Sort(values)
	return strings.Trim(fmt.Sprint(values), " ")
}

// advance moves the watermark. A window that expires fires for the last time, and not at its end too.
func (m *model) advance(t int64) {
	if t <= m.watermark {
		return
	}
	m.before, m.watermark = m.watermark, t
	for key, wins := range m.wins {
		for _, w := range wins {
			if m.expired(w.interval) {
				if !w.closed {
					m.pane(key, w, true)
				}
			} else if m.before < w.end && w.end <= m.watermark {
				m.evaluate(key, w)
			}
		}
		m.wins[key] = slices.DeleteFunc(wins, func(w *win) bool { return m.expired(w.interval) })
	}
	m.before = m.watermark
}

// tick moves the clock. The windows are independent of each other; in each, what is due happens in order.
func (m *model) tick(d int64) {
	before := m.clock
	m.clock += d
	for key, wins := range m.wins {
		for _, w := range wins {
			if w.closed {
				continue
			}
			due := w.trigger.deadlines()
			slices.Sort(due)
			for _, t := range slices.Compact(due) {
				if before < t && t <= m.clock && !w.closed && slices.Contains(w.trigger.deadlines(), t) {
					m.evaluate(key, w)
				}
			}
		}
	}
}
