package graph_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/levadaflow/levada/internal/graph"
)

type output struct{}

func (output) Join([]any) any { return nil }

var kinds = map[string]graph.Kind{"root": graph.Root, "chain": graph.Chain, "exchange": graph.Exchange, "merge": graph.Merge}

// build makes a graph from lines of "NAME KIND INPUT...", where an input is a step's name and, behind a dot, its output.
// Every step has two outputs.
func build(lines ...string) *graph.Graph {
	g := graph.New()
	for _, line := range lines {
		f := strings.Fields(line)
		s := &graph.Step{Name: f[0], Kind: kinds[f[1]], Outputs: []graph.Output{output{}, output{}}}
		for _, in := range f[2:] {
			name, second := strings.CutSuffix(in, ".1")
			port := graph.Port{Step: g.Lookup(name)}
			if second {
				port.Out = 1
			}
			s.Inputs = append(s.Inputs, port)
		}
		g.Add(s)
	}
	return g
}

// show writes a line for each stage, "STEP STEP...", and behind it the edges that leave it, "STEP.OUT>STEP.INPUT".
func show(stages []*graph.Stage) []string {
	var out []string
	for _, st := range stages {
		var words []string
		for _, s := range st.Steps {
			words = append(words, s.Name)
		}
		for _, e := range st.Edges() {
			words = append(words, fmt.Sprintf("%s.%d>%s.%d", e.From.Step.Name, e.From.Out, e.To.Name, e.Input))
		}
		out = append(out, strings.Join(words, " "))
	}
	return out
}

func TestFuse(t *testing.T) {
	for _, c := range []struct {
		name  string
		steps []string
		want  []string
	}{
		{"nothing", nil, nil},
		{"a chain is one stage", []string{"r root", "a chain r", "b chain a", "c chain r.1"}, []string{"r a b c"}},
		{"an exchange begins a stage", []string{"r root", "a chain r", "x exchange a", "b chain x"},
			[]string{"r a a.0>x.0", "x b"}},
		{"of two exchanges of one output both do", []string{"r root", "x exchange r", "y exchange r"},
			[]string{"r r.0>x.0 r.0>y.0", "x", "y"}},
		{"a chain behind an earlier stage goes there", []string{"r root", "x exchange r", "a chain r"},
			[]string{"r a r.0>x.0", "x"}},
		{"roots do not fuse", []string{"r root", "s root"}, []string{"r", "s"}},
		{"a merge in one stage is fused", []string{"r root", "a chain r", "b chain r", "m merge a b", "c chain m"},
			[]string{"r a b m c"}},
		{"a merge of several stages begins one", []string{"r root", "s root", "a chain s", "m merge r a", "c chain m"},
			[]string{"r r.0>m.0", "s a a.0>m.1", "m c"}},
		{"also of a stage and one behind it", []string{"r root", "x exchange r", "m merge r x"},
			[]string{"r r.0>x.0 r.0>m.0", "x x.0>m.1", "m"}},
		{"two of three inputs in one stage", []string{"r root", "s root", "a chain r", "m merge r a s"},
			[]string{"r a r.0>m.0 a.0>m.1", "s s.0>m.2", "m"}},
		{"the same input twice is fused", []string{"r root", "m merge r r"}, []string{"r m"}},
		{"the same input twice and another", []string{"r root", "s root", "m merge r s r"},
			[]string{"r r.0>m.0 r.0>m.2", "s s.0>m.1", "m"}},
		{"edges stand in the order of steps and outputs",
			[]string{"r root", "a chain r", "y exchange a", "x exchange r.1", "z exchange r"},
			[]string{"r a r.0>z.0 r.1>x.0 a.0>y.0", "y", "x", "z"}},
		{"a merge of nothing begins a stage", []string{"m merge", "a chain m"}, []string{"m a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, show(build(c.steps...).Fuse())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// randomLines draws a graph for build.
func randomLines(t *rapid.T) []string {
	lines := []string{"s0 root"}
	for i := 1; i < rapid.IntRange(1, 12).Draw(t, "steps"); i++ {
		kind := rapid.SampledFrom([]string{"root", "chain", "exchange", "merge", "chain", "merge"}).Draw(t, "kind")
		line := fmt.Sprintf("s%d %s", i, kind)
		inputs := map[string]int{"chain": 1, "exchange": 1, "merge": rapid.IntRange(1, 3).Draw(t, "inputs")}[kind]
		for range inputs {
			out := rapid.SampledFrom([]string{"", ".1"}).Draw(t, "out")
			line += fmt.Sprintf(" s%d%s", rapid.IntRange(0, i-1).Draw(t, "input"), out)
		}
		lines = append(lines, line)
	}
	return lines
}

// The invariants of the package, and that every input is a reader and either fused or an edge; nothing is fused in a graph that is
// cut.
func TestFuseOfAnyGraph(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := randomLines(t)
		g := build(lines...)
		stages, cut := g.Fuse(), rapid.Bool().Draw(t, "cut")
		if cut {
			stages = g.Cut()
		}
		connections, steps := map[string]int{}, 0
		for i, st := range stages {
			if st.ID != i || st.Head != st.Steps[0] || cut && len(st.Steps) > 1 {
				t.Errorf("stage %d has the number %d, the head %s and %d steps", i, st.ID, st.Head.Name, len(st.Steps))
			}
			for j, s := range st.Steps {
				steps++
				if s.Stage != st || j > 0 && s.ID <= st.Steps[j-1].ID {
					t.Errorf("step %s is out of place", s.Name)
				}
				for n, in := range s.Inputs {
					if in.Step.Stage == st {
						connections[fmt.Sprint(in.Step.Name, in.Out, s.Name, n)]++
					} else if j > 0 {
						t.Errorf("step %s is fused, its input %s is not", s.Name, in.Step.Name)
					}
				}
			}
			for _, e := range st.Edges() {
				connections[fmt.Sprint(e.From.Step.Name, e.From.Out, e.To.Name, e.Input)]++
				if e.From.Step.Stage != st || e.To.Stage.Head != e.To || e.To.Stage.ID <= i {
					t.Errorf("an edge from %s to %s", e.From.Step.Name, e.To.Name)
				}
			}
		}
		if steps != len(g.Steps) {
			t.Errorf("%d steps in stages, of %d", steps, len(g.Steps))
		}
		want, readers := map[string]int{}, map[string]int{}
		for _, s := range g.Steps {
			for n, in := range s.Inputs {
				want[fmt.Sprint(in.Step.Name, in.Out, s.Name, n)]++
			}
			for out := range s.Outputs {
				for _, r := range s.Readers(out) {
					readers[fmt.Sprint(s.Name, out, r.Step.Name, r.Input)]++
				}
			}
		}
		if diff := cmp.Diff(want, connections); diff != "" {
			t.Errorf("fused or edges (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, readers); diff != "" {
			t.Errorf("readers (-want +got):\n%s", diff)
		}
	})
}

// Fuse may be called again after more steps were added: as if it had been called only then.
func TestFuseAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := randomLines(t)
		g := build(lines...)
		g.Fuse()
		more := []graph.Port{{Step: g.Steps[0], Out: 1}}
		g.Add(&graph.Step{Name: "more", Kind: graph.Chain, Inputs: more, Outputs: []graph.Output{output{}}})
		if diff := cmp.Diff(show(build(append(lines, "more chain s0.1")...).Fuse()), show(g.Fuse())); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestLookup(t *testing.T) {
	g := build("r root", "a chain r")
	if g.Lookup("a") != g.Steps[1] || g.Lookup("b") != nil || g.Lookup("r").ID != 0 || g.Lookup("a").ID != 1 {
		t.Error("steps are not found by name")
	}
}

// The fingerprint is that of the steps: the same for the same, another one for any other name, kind, number of outputs or
// connection.
func TestFingerprint(t *testing.T) {
	base := []string{"r root", "s root", "a chain r", "m merge a s"}
	seen := map[uint64]string{}
	for _, lines := range [][]string{
		base,
		{"r root", "s root", "b chain r", "m merge b s"},       // a name
		{"r root", "s root", "a exchange r", "m merge a s"},    // a kind
		{"r root", "s root", "a chain s", "m merge a s"},       // an input
		{"r root", "s root", "a chain r.1", "m merge a s"},     // its output
		{"r root", "s root", "a chain r", "m merge s a"},       // the order of inputs
		{"r root", "s root", "a chain r", "m merge a s s"},     // their number
		{"s root", "r root", "a chain r", "m merge a s"},       // the order of steps
		{"r root", "s root", "a chain r"},                      // their number
		{"r root", "s root", "a chain r", "m merge", "n root"}, // an input less
		nil,
	} {
		got, again := build(lines...).Fingerprint(), build(lines...)
		again.Fuse()
		again.Lookup("r")
		if again.Fingerprint() != got {
			t.Errorf("%q has two fingerprints", lines)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%q has the fingerprint of %s", lines, other)
		}
		seen[got] = fmt.Sprintf("%q", lines)
	}
	fewer := build(base...)
	fewer.Steps[2].Outputs = fewer.Steps[2].Outputs[:1]
	if fewer.Fingerprint() == build(base...).Fingerprint() {
		t.Error("the number of outputs does not count")
	}
}

// Names may hold anything, also what looks like the end of a name.
func TestFingerprintOfStrangeNames(t *testing.T) {
	seen := map[uint64][]string{}
	lists := [][]string{{"a", "b"}, {"a\x000\x000\x00b"}, {"a 0 0 0\nb"}, {"a\" 0 0 0\n\"b"}, {"a", "b", ""}, {"ab"}}
	for _, names := range lists {
		g := graph.New()
		for _, name := range names {
			g.Add(&graph.Step{Name: name})
		}
		got := g.Fingerprint()
		if seen[got] != nil {
			t.Errorf("%q has the fingerprint of %q", names, seen[got])
		}
		seen[got] = names
	}
}
