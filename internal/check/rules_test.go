package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rules = []rule{
	{"import-order", importOrder},
	{"pure", purity},
	{"clock", noClock},
	{"global-rand", noGlobalRand},
	{"reflect-unsafe", noReflect},
	{"panic-literal", noPanic},
	{"file-length", fileLength},
	{"func-length", funcLength},
	{"results", resultCount},
	{"package-doc", packageDoc},
	{"exported-doc", exportedDoc},
}

func imp(paths ...string) string {
	var b strings.Builder
	for _, p := range paths {
		fmt.Fprintf(&b, "import %q\n", p)
	}
	return "package p\n" + b.String()
}

func function(lines int) string {
	return "func f() {\n" + strings.Repeat("\tf()\n", lines-2) + "}\n"
}

// badExamples has, for each rule, files and all that the rule finds in them.
var badExamples = map[string]struct {
	files map[string]string
	want  []string
}{
	"import-order": {map[string]string{
		"event/a.go":                    imp("fmt", module+"/internal/invariants"),
		"event/b.go":                    imp(module + "/window"),
		"window/a.go":                   imp(module+"/event", module+"/trigger"),
		"coder/plan/a.go":               imp(module+"/coder", module+"/internal/graph"),
		"internal/graph/a.go":           imp(module+"/window", module+"/internal/pane"),
		"internal/graph/a_test.go":      imp(module + "/internal/engine"),
		"internal/exec/a.go":            imp(module+"/internal/pane", module+"/internal/progress", module+"/internal/graph"),
		"internal/exec/b.go":            imp(module + "/internal/engine"),
		"internal/engine/a.go":          imp(module+"/internal/exec", module+"/internal/store"),
		"internal/engine/b.go":          imp(module),
		"a.go":                          imp(module+"/internal/engine", module+"/event"),
		"b.go":                          imp(module + "/io/text"),
		"io/text/a.go":                  imp(module),
		"levadatest/a.go":               imp(module + "/internal/scenario"),
		"internal/scenario/a.go":        imp(module, module+"/levadatest"),
		"cmd/levada/a.go":               imp(module+"/internal/scenario", module+"/internal/check"),
		"internal/invariants/a.go":      imp("sync", module+"/event"),
		"internal/unheard/a.go":         imp("fmt"),
		"examples/a/main.go":            imp(module+"/examples/a/internal/b", module+"/internal/unheard"),
		"examples/a/internal/b/b.go":    imp(module + "/event"),
		"internal/store/disk/a.go":      imp(module+"/internal/store", module+"/internal/pane"),
		"internal/progress/a.go":        imp("github.com/levadaflow/elsewhere"),
		"internal/scenario/sub/deep.go": imp(module + "/cmd/levada"),
	}, []string{
		`b.go:2: levada imports io/text: it is in a later layer`,
		`cmd/levada/a.go:3: cmd/levada imports internal/check: internal/check is imported by none`,
		`coder/plan/a.go:3: coder/plan imports internal/graph: it is in a later layer`,
		`event/b.go:2: event imports window: it is in a later layer`,
		`examples/a/main.go:3: examples/a imports internal/unheard: it has no place in the import order`,
		`internal/engine/b.go:2: internal/engine imports levada: it is in a later layer`,
		`internal/exec/b.go:2: internal/exec imports internal/engine: not among what it may import of its layer`,
		`internal/graph/a.go:3: internal/graph imports internal/pane: not among what it may import of its layer`,
		`internal/invariants/a.go:3: internal/invariants imports event: it imports nothing of the project`,
		`internal/scenario/sub/deep.go:2: internal/scenario/sub imports cmd/levada: it is in a later layer`,
		`internal/store/disk/a.go:3: internal/store/disk imports internal/pane: not among what it may import of its layer`,
		`internal/unheard/a.go:1: package internal/unheard has no place in the import order`,
		`levadatest/a.go:2: levadatest imports internal/scenario: it is in a later layer`,
	}},
	"pure": {map[string]string{
		"internal/pane/a.go":       imp("sync", "sync/atomic"),
		"internal/exec/a.go":       imp("sync/atomic") + "func f() { go f() }\n",
		"internal/exec/b.go":       imp("sync"),
		"internal/store/disk/a.go": "package p\nfunc f() {\n\tgo func() {}()\n}\n",
		"internal/pane/a_test.go":  imp("sync"),
		"internal/engine/a.go":     imp("sync", "sync/atomic") + "func f() { go f() }\n",
	}, []string{
		`internal/exec/a.go:3: internal/exec starts a goroutine`,
		`internal/exec/b.go:2: internal/exec imports sync: it holds no lock`,
		`internal/pane/a.go:2: internal/pane imports sync: it holds no lock`,
		`internal/pane/a.go:3: internal/pane imports sync/atomic: it holds no lock`,
		`internal/store/disk/a.go:3: internal/store/disk starts a goroutine`,
	}},
	"clock": {map[string]string{
		"internal/pane/clock.go":      imp("time") + "var now = time.Now\n",
		"internal/engine/clock.go":    imp("time") + "var now = time.Now\n",
		"internal/engine/watchdog.go": imp("time") + "var t = time.NewTimer(0)\n",
		"internal/engine/run.go":      "package p\nimport clock \"time\"\nfunc f() { clock.Sleep(clock.Second) }\n",
		"internal/engine/dot.go":      "package p\nimport . \"time\"\nvar t = Now()\n",
		"main.go":                     imp("time") + "var t = time.Now()\n",
		"run.go":                      imp("time") + "var t = time.Since(time.Time{})\nvar c = time.After(0)\nvar d time.Month\n",
		"cmd/levada/a.go":             imp("time") + "var t = time.Now()\n",
		"examples/a/b/a.go":           imp("time") + "var t = time.Now()\n",
		"run_test.go":                 imp("time") + "var t = time.Now()\n",
	}, []string{
		`internal/engine/dot.go:2: a dot import of time hides its clocks`,
		`internal/engine/run.go:3: time.Sleep: time is an argument`,
		`internal/pane/clock.go:3: time.Now: time is an argument`,
		`run.go:3: time.Since: time is an argument`,
		`run.go:4: time.After: time is an argument`,
	}},
	"global-rand": {map[string]string{
		"a.go": imp("math/rand") + "var a = rand.New(rand.NewSource(1)).Int()\nvar b = rand.Int()\n",
		"b.go": imp("math/rand/v2") + "var a = rand.New(rand.NewPCG(1, 2))\nvar b rand.Source\nvar c = rand.IntN(1)\n",
		"c.go": imp("crypto/rand") + "var a = rand.Text()\n",
	}, []string{
		`a.go:4: rand.Int uses the global generator: use one with a seed`,
		`b.go:5: rand.IntN uses the global generator: use one with a seed`,
	}},
	"reflect-unsafe": {map[string]string{
		"a.go":                 imp("reflect"),
		"internal/engine/a.go": imp("reflect", "unsafe"),
		"internal/pane/a.go":   imp("reflect"),
		"coder/a.go":           imp("reflect", "unsafe"),
		"coder/plan/a.go":      imp("reflect", "unsafe"),
		"a_test.go":            imp("reflect"),
	}, []string{
		`a.go:2: levada imports reflect: that is for coder/plan`,
		`coder/a.go:3: coder imports unsafe: that is for coder/plan`,
		`internal/engine/a.go:2: internal/engine imports reflect: that is for coder/plan`,
		`internal/engine/a.go:3: internal/engine imports unsafe: that is for coder/plan`,
	}},
	"panic-literal": {map[string]string{
		"a.go": "package p\nfunc f(err error) {\n\tpanic(\"no\")\n\tpanic(`no` + err.Error())\n" +
			"\tpanic((\"no\"))\n\tpanic(err)\n}\n",
		"event/time.go": "package p\nfunc f() { panic(\"never\") }\n",
		"a_test.go":     "package p\nfunc g() { panic(\"test\") }\n",
	}, []string{
		`a.go:3: panic("no"): return an error`,
		`a.go:4: panic("no"): return an error`,
		`a.go:5: panic("no"): return an error`,
	}},
	"file-length": {map[string]string{
		"a.go":      "package p\n" + strings.Repeat("\n", 799),
		"b.go":      "package p\n" + strings.Repeat("\n", 800),
		"b_test.go": "package p\n" + strings.Repeat("\n", 799) + "var a int",
	}, []string{
		`b.go:1: 801 lines, more than 800`,
		`b_test.go:1: 801 lines, more than 800`,
	}},
	"func-length": {map[string]string{
		"a.go":      "package p\n// f is f.\n" + function(70),
		"b.go":      "package p\n" + function(71),
		"c.go":      "package p\nvar x = " + strings.Replace(function(80), "func f()", "func()", 1),
		"a_test.go": "package p\n" + function(100),
	}, []string{
		`b.go:2: f has 71 lines, more than 70`,
		`c.go:2: a function literal has 80 lines, more than 70`,
	}},
	"results": {map[string]string{
		"a.go": "package p\nfunc f() (a, b, c int)\nfunc g() (a, b int, c, d string)\n" +
			"type i interface {\n\tm() (int, int, int, int)\n}\n",
	}, []string{
		`a.go:3: 4 results, more than 3: return a struct`,
		`a.go:5: 4 results, more than 3: return a struct`,
	}},
	"package-doc": {map[string]string{
		"a/a.go":      "package a\n",
		"a/b.go":      "package a\n",
		"a/a_test.go": "// Package a is documented in a test.\npackage a\n",
		"b/a.go":      "package b\n",
		"b/doc.go":    "// Package b is documented.\npackage b\n",
		"c/a.go":      "//go:build linux\n\npackage c\n",
	}, []string{
		`a/a.go:1: package a has no doc comment`,
		`c/a.go:3: package c has no doc comment`,
	}},
	"exported-doc": {map[string]string{
		"a.go": `package p
func F() {}
func g() {}
// T is documented.
type T[E any] struct{}
func (T[E]) M() {}
func (*T[E]) n() {}
type u[E any] struct{}
func (*u[E]) M() {}
type (
	// V is documented.
	V int
	W int
)
func (w *W) M() {}
const (
	A = 1 // A is documented.
	B = 2
	c = 3
)
// The group is documented.
var (
	X int
	Y int
)
var Z, z int
// H is documented.
func H() {}
`,
		"a_test.go": "package p\nfunc Helper() {}\n",
	}, []string{
		`a.go:2: F has no doc comment`,
		`a.go:6: M has no doc comment`,
		`a.go:13: W has no doc comment`,
		`a.go:15: M has no doc comment`,
		`a.go:18: B has no doc comment`,
		`a.go:26: Z has no doc comment`,
	}},
}

// TestRulesFind shows that each rule finds what it is for, and nothing else.
func TestRulesFind(t *testing.T) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			bad := badExamples[r.name]
			if len(bad.want) == 0 {
				t.Fatal("the rule has no bad example")
			}
			var got, want []string
			for _, f := range r.run(examples(t, bad.files)) {
				got = append(got, f.String())
			}
			for _, w := range bad.want {
				at, text, _ := strings.Cut(w, ": ")
				want = append(want, at+": "+r.name+": "+text)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestExceptionsHaveReasons shows that no table excepts without saying why.
func TestExceptionsHaveReasons(t *testing.T) {
	for _, table := range [][]exception{atomics, clocks, reflects, panics} {
		for _, e := range table {
			if e.pattern == "" || e.reason == "" {
				t.Errorf("%q is excepted for the reason %q", e.pattern, e.reason)
			}
		}
	}
}
