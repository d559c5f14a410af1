package model

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// sideProgram is a main source whose elements see the sum of another's in the window that goes with theirs, and perhaps a sum of the results.
type sideProgram struct {
	main, side int64 // sizes of fixed windows; side 0: the side input is a bounded one in the global window
	lateness   int64 // of the side input
	accumulate bool
	second     bool
}

func (p sideProgram) String() string {
	yes := map[bool]string{true: "yes", false: "no"}
	s := "pipeline\nsrc = script\n"
	if p.side == 0 {
		s += "rw = create x 1000, y 2000\n"
	} else {
		s += fmt.Sprintf("ref = script\nrw = window ref fixed(%d) lateness=%d accumulate=%s\n", p.side, p.lateness, yes[p.accumulate])
	}
	s += fmt.Sprintf("mw = window src fixed(%d)\nm = side mw rw\n", p.main)
	if p.second {
		s += "g = sum m\n"
	}
	return s + "----\nok\n\n"
}

// sideModel is the state of a run.
type sideModel struct {
	p       sideProgram
	mains   int64 // the watermarks
	refs    int64
	wins    map[interval][]int64 // what the view has: the values of the latest pane
	open    map[interval][]int64 // what has come for windows that have not fired
	pending []line
	late    int
	second  *model
}

func newSideModel(p sideProgram) *sideModel {
	m := &sideModel{p: p, mains: wmMin, refs: wmMin, wins: map[interval][]int64{}, open: map[interval][]int64{}}
	if p.second {
		m.second = newModel(program{
			fn: "fixed", size: p.main, trigger: &expr{op: "default"}, closing: "non-empty", onTime: "always", time: "end", op: "sum", noLate: true,
		})
	}
	return m
}

func fixedWindow(t, size int64) interval {
	return newModel(program{fn: "fixed", size: size}).assign(t)[0]
}

// view is the side window for a time of the main input.
func (m *sideModel) view(t int64) interval {
	return fixedWindow(fixedWindow(t, m.p.main).end-1, m.p.side)
}

// sees returns what an element sees, and whether that is known.
func (m *sideModel) sees(t int64) (sum int64, ready bool) {
	if m.p.side == 0 {
		return 3000, true
	}
	w := m.view(t)
	for _, v := range m.wins[w] {
		sum += v
	}
	_, has := m.wins[w]
	return sum, has || m.refs >= w.end
}

// step takes an input line of one of the sources and returns what must be printed.
func (m *sideModel) step(source string, l line) []string {
	switch {
	case source == "ref" && l.kind == "element":
		m.refElement(l)
	case source == "ref":
		m.refs = max(m.refs, l.t)
		for w, all := range m.open {
			if w.end <= m.refs {
				m.wins[w] = all
				delete(m.open, w)
			}
		}
	case l.kind == "element" && m.p.side > 0 && fixedWindow(l.t, m.p.main).end-1 < m.mains:
		m.late++ // its side window may have been forgotten
	case l.kind == "element":
		m.pending = append(m.pending, l)
	default:
		m.mains = max(m.mains, l.t)
	}
	return m.release()
}

func (m *sideModel) refElement(l line) {
	w := fixedWindow(l.t, m.p.side)
	switch {
	case m.refs >= w.end+m.p.lateness: // dropped
	case m.refs < w.end:
		m.open[w] = append(m.open[w], l.v)
	case m.p.accumulate:
		m.wins[w] = append(m.wins[w], l.v)
	default:
		m.wins[w] = []int64{l.v}
	}
}

// release prints the elements that wait no longer, or gives them to the sum.
func (m *sideModel) release() []string {
	var out []string
	hold := m.mains
	m.pending = slices.DeleteFunc(m.pending, func(l line) bool {
		sum, ready := m.sees(l.t)
		switch {
		case !ready:
			hold = min(hold, l.t)
		case m.second != nil:
			out = append(out, m.second.step(line{kind: "element", key: l.key, v: l.v + sum, t: l.t})...)
		default:
			out = append(out, fmt.Sprintf("m %s %d @%d %v", l.key, l.v+sum, l.t, fixedWindow(l.t, m.p.main)))
		}
		return ready
	})
	if m.second != nil && hold > m.second.watermark {
		out = append(out, m.second.step(line{kind: "watermark", t: hold})...)
	}
	slices.Sort(out)
	return out
}

// sideLine is an input line of one of two sources.
type sideLine struct {
	source string
	line
}

func (l sideLine) String() string { return strings.Replace(l.line.String(), "src", l.source, 1) }

// sideText is the scenario with what the model says.
func sideText(p sideProgram, lines []sideLine) string {
	m := newSideModel(p)
	var x transcript
	x.b.WriteString(p.String())
	for _, l := range lines {
		x.write("feed\n"+l.String(), m.step(l.source, l.line))
	}
	m.mains = wmMax // both sources end at once
	out := m.step("ref", line{kind: "watermark", t: wmMax})
	if p.side == 0 {
		out = append(out, m.release()...)
	}
	slices.Sort(out)
	x.write("finish", append(out, "done"))
	x.counters("dropped_late", "m dropped_late", m.late, "g dropped_late", m.second.dropped())
	return x.String()
}

// TestRandomSides compares the engine with the model of side inputs.
func TestRandomSides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := sideProgram{
			main: ints(t, "main", 1, 20), side: max(0, ints(t, "side", -5, 20)), lateness: max(0, ints(t, "lateness", -10, 20)),
			accumulate: rapid.Bool().Draw(t, "accumulate"), second: rapid.Bool().Draw(t, "second"),
		}
		var lines []sideLine
		for _, l := range drawLines(t) {
			source := "src"
			if p.side > 0 && rapid.Bool().Draw(t, "ref") {
				source = "ref"
			}
			if l.kind != "clock" {
				lines = append(lines, sideLine{source, l})
			}
		}
		compare(t, sideText(p, lines))
	})
}
