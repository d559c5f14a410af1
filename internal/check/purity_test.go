package check

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
)

// pure are the packages that read no clock, start no goroutine and hold no lock.
var pure = []string{
	"event", "window", "trigger", "coder", "combine", "source",
	"internal/graph", "internal/pane", "internal/progress", "internal/store", "internal/exec",
}

// exception excepts files from a rule: those that match the pattern, which is of path.Match for the whole path, or a
// directory with everything below it if it ends with "/".
type exception struct{ pattern, reason string }

func excepted(list []exception, file string) bool {
	return slices.ContainsFunc(list, func(e exception) bool {
		if n := len(e.pattern) - 1; e.pattern[n] == '/' {
			return within(path.Dir(file), e.pattern[:n])
		}
		ok, _ := path.Match(e.pattern, file)
		return ok
	})
}

// atomics may import sync/atomic although they are pure.
var atomics = []exception{
	{"internal/exec/*.go", "counters that are read while a stage runs"},
	{"event/rfc3339.go", "dates that were parsed last, which no caller can see"},
}

// pools may import sync although they are pure.
var pools = []exception{
	{"coder/plan/plan.go", "a sync.Pool of buffers, which no caller can see"},
}

// clocks may read the clock and use timers.
var clocks = []exception{
	{"clock.go", "the one place of a package where its clock comes from"},
	{"*/clock.go", "the one place of a package where its clock comes from"},
	{"*/*/clock.go", "the one place of a package where its clock comes from"},
	{"cmd/", "a command measures how long it took"},
	{"examples/", "an example measures how long it took"},
	{"bench/", "a benchmark measures how long it took"},
	{"main.go", "levada.Main prints how long the run took"},
	{"internal/engine/watchdog.go", "looks at the engine in real time, also when its own clock stands still"},
}

// reflects may import reflect where it is forbidden.
var reflects = []exception{}

// panics may panic with a literal string.
var panics = []exception{
	{"event/time.go", "a type switch over a constraint: the compiler has ruled out the rest"},
}

var timers = []string{"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "NewTimer", "NewTicker", "Tick"}

// seeded are the names of math/rand and math/rand/v2 that do not use the global generator.
var seeded = []string{
	"New", "NewSource", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "Source", "Source64", "PCG", "ChaCha8", "Zipf",
}

func purity(r *report) {
	for _, s := range r.product() {
		if !within(s.dir, pure...) {
			continue
		}
		for _, i := range s.imports() {
			if i.path == "sync" && !excepted(pools, s.path) || i.path == "sync/atomic" && !excepted(atomics, s.path) {
				r.add(i.at, "%s imports %s: it holds no lock", s.dir, i.path)
			}
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				r.add(g.Pos(), "%s starts a goroutine", s.dir)
			}
			return true
		})
	}
}

func noClock(r *report) {
	for _, s := range r.product() {
		if !within(s.dir, pure...) && excepted(clocks, s.path) {
			continue
		}
		s.uses("time", func(selector string, at token.Pos) {
			if selector == "." {
				r.add(at, "a dot import of time hides its clocks")
			} else if slices.Contains(timers, selector) {
				r.add(at, "time.%s: time is an argument", selector)
			}
		})
	}
}

func noGlobalRand(r *report) {
	for _, s := range r.product() {
		for _, pkg := range []string{"math/rand", "math/rand/v2"} {
			s.uses(pkg, func(selector string, at token.Pos) {
				if !slices.Contains(seeded, selector) {
					r.add(at, "rand.%s uses the global generator: use one with a seed", selector)
				}
			})
		}
	}
}

func noReflect(r *report) {
	for _, s := range r.product() {
		for _, i := range s.imports() {
			switch {
			case i.path == "reflect" && within(s.dir, "", "internal/exec", "internal/engine") && !excepted(reflects, s.path):
				r.add(i.at, "%s imports reflect: that is for coder/plan", name(s.dir))
			case i.path == "unsafe" && !within(s.dir, "coder/plan"):
				r.add(i.at, "%s imports unsafe: that is for coder/plan", name(s.dir))
			}
		}
	}
}

func noPanic(r *report) {
	for _, s := range r.product() {
		if excepted(panics, s.path) {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if c, ok := n.(*ast.CallExpr); ok && len(c.Args) == 1 {
				f, _ := ast.Unparen(c.Fun).(*ast.Ident)
				if text := literal(c.Args[0]); f != nil && f.Name == "panic" && text != "" {
					r.add(c.Pos(), "panic(%s): return an error", text)
				}
			}
			return true
		})
	}
}

// literal returns the string literal that e is or begins with, quoted, or "".
func literal(e ast.Expr) string {
	switch e := ast.Unparen(e).(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return strconv.Quote(text)
		}
	case *ast.BinaryExpr:
		return literal(e.X)
	}
	return ""
}
