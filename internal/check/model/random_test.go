package model

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/internal/invariants"
)

// Switches: what the random programs use.
const (
	// What a group drops can be read as what a sum drops.
	withLateOfGroup = true

	// An element that comes after its window's end, while an unfired one of the window holds its watermark below the new
	// one's time: does it count for earliest and latest? Beam says no (the window's end must be at or after the
	// watermark of the input too), the format's rule 8 by its words says yes. The engine does as Beam does.
	withCountingAfterEnd = false

	withTriggers      = true  // or else the default trigger only
	withUnsafe        = true  // triggers that finish
	withSessionUnsafe = false // what merging does with a finished trigger is in no rule

	// Sessions that merge while after-each is past a part with a delay or the window's end. In Beam such a part starts
	// again (a delay always, the window's end if it is ahead); in the engine the most advanced of the merging windows
	// decides. The rules say nothing. For counts both take the most advanced.
	withSessionAfterEach = false
)

var modes = []levada.Embedded{
	{Parallelism: 1, MaxBundle: 1},
	{Parallelism: 4, MaxBundle: 1000},
	{Parallelism: 2, GeneralPath: true},
	{Parallelism: 2, Unfused: true},
}

func (p program) String() string {
	fn := fmt.Sprintf("%s(%d)", p.fn, p.size)
	if p.fn == "sliding" {
		fn = fmt.Sprintf("sliding(%d,%d)", p.size, p.period)
	}
	yes := map[bool]string{true: "yes", false: "no"}
	s := fmt.Sprintf("w = window src %s lateness=%d accumulate=%s trigger=%v closing=%s on-time=%s time=%s",
		fn, p.lateness, yes[p.accumulate], p.trigger, p.closing, p.onTime, p.time)
	if p.unsafe {
		s += " unsafe=yes"
	}
	s += "\ng = " + p.op + " w\n"
	if p.hasLate() {
		s += "l = late g\n"
	}
	return "pipeline\nsrc = script\n" + s + "----\nok\n\n"
}

func (p program) hasLate() bool { return !p.noLate && (p.op != "group" || withLateOfGroup) }

// text}

// transcript is a scenario that is being written.
type transcript struct{ b strings.Builder }

// write appends a block.
func (x *transcript) write(head string, out []string) {
	x.b.WriteString(head + "\n----\n" + strings.Join(append(slices.Clone(out), "\n"), "\n"))
}

// counters appends the counters that are not zero: name, number and so on.
func (x *transcript) counters(names string, all ...any) {
	var lines []string
	for i := 0; i < len(all); i += 2 {
		if n := all[i+1].(int); n > 0 {
			lines = append(lines, fmt.Sprintf("%s %d", all[i], n))
		}
	}
	x.write("metrics "+names, lines)
}

func (x *transcript) String() string { return strings.ReplaceAll(x.b.String(), "\n\n\n", "\n\n") }

// text is the scenario with what the model says.
func text(p program, lines []line) string {
	m := newModel(p)
	var x transcript
	x.b.WriteString(p.String())
	for _, l := range lines {
		x.write("feed\n"+l.String(), m.step(l))
	}
	x.write("finish", append(m.step(line{kind: "watermark", t: wmMax}), "done"))
	x.counters("dropped_late dropped_closed", "g dropped_late", m.late, "g dropped_closed", m.closed)
	return x.String()
}

func ints(t *rapid.T, name string, from, to int) int64 {
	return int64(rapid.IntRange(from, to).Draw(t, name))
}

// drawTrigger draws an expression of at most the given depth.
func drawTrigger(t *rapid.T, depth int) *expr {
	ops := []string{"after-count", "after-delay", "after-end-of-window", "default", "never"}
	if depth > 1 {
		ops = append(ops, "repeat", "after-watermark", "after-any", "after-all", "or-finally", "after-each", "repeat",
			"after-watermark")
	}
	e := &expr{op: rapid.SampledFrom(ops).Draw(t, "trigger")}
	kids := 0
	switch e.op {
	case "after-count":
		e.n = ints(t, "count", 1, 4)
	case "after-delay":
		e.n = ints(t, "delay", 0, 10)
	case "repeat":
		kids = 1
	case "after-watermark":
		e.args = []*expr{nil, nil}
		which := ints(t, "early-late", 0, 3)
		if which&1 != 0 {
			e.args[0] = drawTrigger(t, depth-1)
		}
		if which&2 != 0 {
			e.args[1] = drawTrigger(t, depth-1)
		}
	case "or-finally":
		kids = 2
	case "after-any", "after-all", "after-each":
		kids = int(ints(t, "parts", 1, 3))
	}
	for range kids {
		e.args = append(e.args, drawTrigger(t, depth-1))
	}
	return e
}

// safe says that e never finishes.
func safe(e *expr) bool {
	return e.op == "repeat" || e.op == "default" || e.op == "never" || e.op == "after-watermark" && e.args[1] != nil
}

// has says that e is, or has in it, one of the operators.
func has(e *expr, ops ...string) bool {
	return e != nil && (slices.Contains(ops, e.op) || slices.ContainsFunc(e.args, func(a *expr) bool { return has(a, ops...) }))
}

// goesBack says that a merge may take an after-each in e back to an earlier part.
func goesBack(e *expr) bool {
	if e == nil {
		return false
	}
	return e.op == "after-each" && has(e, "after-delay", "after-end-of-window", "after-watermark") ||
		slices.ContainsFunc(e.args, goesBack)
}

func drawProgram(t *rapid.T) program {
	choose := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
	p := program{
		fn:         choose("fn", "fixed", "sliding", "sessions"),
		size:       ints(t, "size", 1, 20),
		lateness:   max(0, ints(t, "lateness", -10, 20)),
		trigger:    &expr{op: "default"},
		accumulate: rapid.Bool().Draw(t, "accumulate"),
		closing:    choose("closing", "non-empty", "always"),
		onTime:     choose("on-time", "always", "non-empty"),
		time:       choose("time", "end", "earliest", "latest"),
		op:         choose("op", "group", "sum", "count"),
	}
	if p.fn == "sliding" {
		p.period = ints(t, "period", 3, 20)
	}
	if withTriggers {
		p.trigger = drawTrigger(t, 3)
	}
	ok := safe(p.trigger)
	if p.fn == "sessions" && !withSessionAfterEach && goesBack(p.trigger) {
		p.trigger, ok = &expr{op: "default"}, true
	}
	if !ok && (!withUnsafe || p.fn == "sessions" && !withSessionUnsafe) {
		p.trigger, ok = &expr{op: "repeat", args: []*expr{p.trigger}}, true
	}
	p.unsafe = !ok
	return p
}

func drawLines(t *rapid.T) []line {
	var lines []line
	watermark := int64(-30)
	value := int64(1)
	for range ints(t, "lines", 1, 15) {
		l := line{kind: rapid.SampledFrom([]string{"element", "element", "element", "watermark", "clock"}).Draw(t, "kind")}
		switch l.kind {
		case "element":
			l.key = rapid.SampledFrom([]string{"a", "a", "b"}).Draw(t, "key")
			l.v, l.t = value, ints(t, "time", -20, 60)
			value *= 2
		case "watermark":
			watermark += ints(t, "by", 1, 30)
			l.t = watermark
		case "clock":
			l.t = ints(t, "clock", 1, 12)
		}
		lines = append(lines, l)
	}
	return lines
}

func TestMain(m *testing.M) {
	flag.Parse()
	checks := "2000"
	if invariants.Enabled { // also with the race detector: each costs ten times as much
		checks = "200"
	}
	if os.Getenv("LEVADA_LONG") != "" {
		checks = "20000"
	}
	for name, value := range map[string]string{"rapid.checks": checks, "rapid.nofailfile": "true", "rapid.shrinktime": "8s"} {
		given := false
		flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
		if given {
			continue
		}
		if err := flag.Set(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	os.Exit(m.Run())
}

// TestRandomPrograms compares the engine with the model.
func TestRandomPrograms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t)
		compare(t, text(p, drawLines(t)))
	})
}
