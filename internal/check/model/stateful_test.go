package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/levadaflow/levada/internal/scenario"
)

// stateful is one source, one window step, one step with state and its late output, and perhaps a count of what comes out of it in
// windows of its own.
type stateful struct {
	op           string // batch, expire or sorted
	fn           string // global, fixed or sliding
	size, period int64
	lateness     int64
	n, after     int64 // of batch
	processing   bool  // batch waits for the clock
	second       int64 // size of the count's windows; 0: there is none
}

func (p stateful) String() string {
	fn := "global"
	switch p.fn {
	case "fixed":
		fn = fmt.Sprintf("fixed(%d)", p.size)
	case "sliding":
		fn = fmt.Sprintf("sliding(%d,%d)", p.size, p.period)
	}
	s := fmt.Sprintf("w = window src %s lateness=%d accumulate=no\n", fn, p.lateness)
	switch {
	case p.op != "batch":
		s += "x = " + p.op + " w\n"
	case p.processing:
		s += fmt.Sprintf("x = batch w n=%d after=%d domain=processing\n", p.n, p.after)
	default:
		s += fmt.Sprintf("x = batch w n=%d after=%d\n", p.n, p.after)
	}
	s += "l = late x\n"
	if p.second > 0 {
		s += fmt.Sprintf("v = window x fixed(%d) lateness=%d accumulate=no time=earliest\ng = sum v\n", p.second, p.lateness)
	} else {
		s += "y = add x 0\n"
	}
	return "pipeline\nsrc = script\n" + s + "----\nok\n\n"
}

// buffer is what the step has of a key and window.
type buffer struct {
	key string
	w   interval
	all []line // its elements, by arrival
	at  int64  // when its timer is due, if it has elements and the step is batch
	out int64  // the timer's output time
}

// release is something that the step emits.
type release struct {
	when int64 // by the clock that counts, for the order
	key  string
	v, t int64
	w    interval
}

// statefulModel is the state of a run.
type statefulModel struct {
	p         stateful
	watermark int64
	clock     int64
	out       int64 // the step's output watermark
	buffers   []*buffer
	emitted   []release
	lines     []string
	late      int
	second    *model
}

func newStatefulModel(p stateful) *statefulModel {
	m := &statefulModel{p: p, watermark: wmMin, out: wmMin}
	if p.second > 0 {
		m.second = newModel(program{
			fn: "fixed", size: p.second, lateness: p.lateness, trigger: &expr{op: "default"}, closing: "non-empty", onTime: "always",
			time: "earliest", op: "sum", noLate: true,
		})
	}
	return m
}

// eogw is the last instant of the global window, as far as the model can see.
const eogw = math.MaxInt64 - 1

func (m *statefulModel) windows(t int64) []interval {
	switch m.p.fn {
	case "global":
		return []interval{{math.MinInt64, eogw + 1}}
	case "fixed":
		return newModel(program{fn: "fixed", size: m.p.size}).assign(t)
	}
	return newModel(program{fn: "sliding", size: m.p.size, period: m.p.period}).assign(t)
}

func (m *statefulModel) expiry(w interval) int64 {
	if m.p.fn == "global" {
		return eogw
	}
	return w.end - 1 + m.p.lateness
}

func (m *statefulModel) printWindow(w interval) string {
	if m.p.fn == "global" {
		return "global"
	}
	return w.String()
}

func printTime(t int64) string {
	if t == eogw {
		return "eogw"
	}
	return fmt.Sprint(t)
}

// step takes one input line and returns what must be printed.
func (m *statefulModel) step(l line) []string {
	m.emitted, m.lines = nil, nil
	switch l.kind {
	case "element":
		for _, w := range m.windows(l.t) {
			m.element(l, w)
			m.settle()
		}
	case "watermark":
		m.watermark = max(m.watermark, l.t)
		m.settle()
	case "clock":
		m.clock += l.t
		m.settle()
	}
	m.forward(l)
	return m.lines
}

func (m *statefulModel) element(l line, w interval) {
	if m.expiry(w) < m.watermark || m.p.op == "sorted" && l.t+m.p.lateness < m.watermark {
		m.late++
		m.lines = append(m.lines, fmt.Sprintf("l %s %d @%d %s", l.key, l.v, l.t, m.printWindow(w)))
		return
	}
	at := slices.IndexFunc(m.buffers, func(b *buffer) bool { return b.key == l.key && b.w == w })
	if at < 0 {
		at = len(m.buffers)
		m.buffers = append(m.buffers, &buffer{key: l.key, w: w})
	}
	b := m.buffers[at]
	if len(b.all) == 0 {
		b.at, b.out = min(l.t+m.p.after, m.expiry(w)), min(l.t+m.p.after, m.expiry(w))
		if m.p.processing {
			b.at, b.out = m.clock+m.p.after, l.t
		}
	}
	b.all = append(b.all, l)
	if m.p.op == "batch" && int64(len(b.all)) == m.p.n {
		m.emitted = append(m.emitted, b.sum(l.t, 0))
		b.all = nil
	}
}

// sum is the sum of a buffer's elements, emitted at t.
func (b *buffer) sum(t, when int64) release {
	r := release{when: when, key: b.key, t: t, w: b.w}
	for _, l := range b.all {
		r.v += l.v
	}
	return r
}

// settle does what is due, in the order of due times.
func (m *statefulModel) settle() {
	var all []release
	for _, b := range m.buffers {
		expired := m.expiry(b.w) < m.watermark
		switch {
		case len(b.all) == 0:
		case m.p.op == "sorted":
			ripe := func(l line) bool { return min(l.t+m.p.lateness, m.expiry(b.w)) <= m.watermark }
			for _, l := range b.all {
				if ripe(l) {
					all = append(all, release{min(l.t+m.p.lateness, m.expiry(b.w)), l.key, l.v, l.t, b.w})
				}
			}
			b.all = slices.DeleteFunc(b.all, ripe)
		case m.p.op == "batch" && (!m.p.processing && b.at <= m.watermark || m.p.processing && b.at <= m.clock && !expired):
			all = append(all, b.sum(b.out, b.at))
			b.all = nil
		case expired:
			last := b.w.end - 1
			all = append(all, b.sum(last, m.expiry(b.w)+1))
			b.all = nil
		}
	}
	slices.SortStableFunc(all, func(a, b release) int { return cmp.Or(cmp.Compare(a.when, b.when), cmp.Compare(a.t, b.t)) })
	m.emitted = append(m.emitted, all...)
	m.buffers = slices.DeleteFunc(m.buffers, func(b *buffer) bool { return len(b.all) == 0 })
}

// hold is the step's output watermark.
func (m *statefulModel) hold() int64 {
	low := m.watermark
	for _, b := range m.buffers {
		switch m.p.op {
		case "expire":
			low = min(low, b.w.end-1)
		case "batch":
			low = min(low, b.out)
			if m.p.processing {
				low = min(low, b.w.end-1)
			}
		case "sorted":
			for _, l := range b.all {
				low = min(low, l.t)
			}
		}
	}
	return low
}

// forward prints what was emitted, or gives it to the count.
func (m *statefulModel) forward(l line) {
	if m.second != nil && l.kind == "clock" {
		m.lines = append(m.lines, m.second.step(l)...)
	}
	for _, r := range m.emitted {
		if m.second == nil {
			m.lines = append(m.lines, fmt.Sprintf("y %s %d @%s %s", r.key, r.v, printTime(r.t), m.printWindow(r.w)))
		} else {
			m.lines = append(m.lines, m.second.step(line{kind: "element", key: r.key, v: r.v, t: r.t})...)
		}
	}
	if m.out = max(m.out, m.hold()); m.second != nil {
		m.lines = append(m.lines, m.second.step(line{kind: "watermark", t: m.out})...)
	}
	slices.Sort(m.lines)
}

// statefulText is the scenario with what the model says.
func statefulText(p stateful, lines []line) string {
	m := newStatefulModel(p)
	var x transcript
	x.b.WriteString(p.String())
	for _, l := range lines {
		x.write("feed\n"+l.String(), m.step(l))
	}
	x.write("finish", append(m.step(line{kind: "watermark", t: wmMax}), "done"))
	x.counters("dropped_late", "x dropped_late", m.late, "g dropped_late", m.second.dropped())
	return x.String()
}

func drawStateful(t *rapid.T) stateful {
	choose := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
	p := stateful{
		op:       choose("op", "batch", "expire", "sorted"),
		fn:       choose("fn", "global", "fixed", "fixed", "sliding"),
		size:     ints(t, "size", 1, 20),
		lateness: max(0, ints(t, "lateness", -10, 20)),
		n:        ints(t, "n", 1, 4),
		after:    ints(t, "after", 0, 15),
	}
	p.processing = p.op == "batch" && rapid.Bool().Draw(t, "processing")
	switch atEnd := p.op == "expire" || p.processing; {
	case p.fn == "sliding": // the order of emission in two windows of a key would count in the second step
		p.period = ints(t, "period", 3, 20)
	case p.fn == "global" && atEnd: // the second step's windows would be at the end of time
	default:
		p.second = max(0, ints(t, "second", -10, 20))
	}
	return p
}

// TestRandomState compares the engine with the model of state and timers.
func TestRandomState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawStateful(t)
		compare(t, statefulText(p, drawLines(t)))
	})
}

// compare runs a scenario in all modes and fails, with the scenario, if what it says is not what comes.
func compare(t *rapid.T, want string) {
	f, err := scenario.Parse("random", []byte(want))
	if err != nil {
		t.Fatalf("%v\n%s", err, want)
	}
	for _, mode := range modes {
		r, err := scenario.Run(f, mode)
		if err != nil {
			t.Fatalf("%v\n%s", err, want)
		}
		if len(r.Failed()) > 0 {
			t.Fatalf("engine and model differ with %+v. What the model says:\n%s\nWhat the engine says:\n%s", mode, want, f.Rewrite(r.Outputs))
		}
	}
}
