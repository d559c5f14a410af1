package model

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// pollCall is a call of a source that is polled.
type pollCall struct {
	elements []line
	reports  bool
	mark     int64
	resume   int64
}

func (c pollCall) String() string {
	var parts []string
	for _, e := range c.elements {
		parts = append(parts, fmt.Sprintf("%s %d @%d", e.key, e.v, e.t))
	}
	s := strings.Join(parts, ", ")
	if c.reports {
		s += fmt.Sprintf(" wm=%d", c.mark)
	}
	return strings.TrimSpace(s + fmt.Sprintf(" resume=%d", c.resume))
}

// pollModel is a run of a polled source in front of a grouping.
type pollModel struct {
	calls []pollCall
	next  int   // the call to come; there is an empty one behind the last
	due   int64 // by the clock
	clock int64
	of    *model
}

// run makes the calls that are due and returns what must be printed.
func (m *pollModel) run() []string {
	var out []string
	for m.next <= len(m.calls) && m.due <= m.clock {
		if m.next == len(m.calls) {
			m.next++
			out = append(out, m.of.step(line{kind: "watermark", t: wmMax})...)
			break
		}
		c := m.calls[m.next]
		for _, e := range c.elements {
			out = append(out, m.of.step(e)...)
		}
		if c.reports {
			out = append(out, m.of.step(line{kind: "watermark", t: c.mark})...)
		}
		m.next, m.due = m.next+1, m.clock+c.resume
	}
	slices.Sort(out)
	return out
}

// pollText is the scenario with what the model says. Clock steps are given; then the source goes on to its end.
func pollText(p program, calls []pollCall, steps []int64) string {
	m := &pollModel{calls: calls, of: newModel(p)}
	var texts []string
	for _, c := range calls {
		texts = append(texts, c.String())
	}
	var x transcript
	x.b.WriteString(strings.Replace(p.String(), "src = script", "src = poll "+strings.Join(texts, "; "), 1))
	x.write("feed", m.run())
	for _, d := range steps {
		m.clock += d
		x.write(fmt.Sprintf("feed\nclock +%d", d), m.run())
	}
	var out []string
	for m.next <= len(m.calls) {
		m.clock = max(m.clock, m.due)
		out = append(out, m.run()...)
	}
	slices.Sort(out)
	x.write("finish", append(out, "done"))
	return x.String()
}

// TestRandomPolls compares the engine with the model of a polled source.
func TestRandomPolls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t)
		for has(p.trigger, "after-delay") { // whether that or the next call comes first is not said
			p = drawProgram(t)
		}
		var calls []pollCall
		value := int64(1)
		for range ints(t, "calls", 1, 6) {
			c := pollCall{resume: ints(t, "resume", 0, 10), reports: rapid.Bool().Draw(t, "reports"), mark: ints(t, "mark", -20, 80)}
			for range ints(t, "elements", 0, 3) {
				key := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key")
				c.elements = append(c.elements, line{kind: "element", key: key, v: value, t: ints(t, "time", -20, 60)})
				value *= 2
			}
			calls = append(calls, c)
		}
		var steps []int64
		for range ints(t, "steps", 0, 6) {
			steps = append(steps, ints(t, "by", 1, 12))
		}
		compare(t, pollText(p, calls, steps))
	})
}
