package beamtests

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const root = "../../.."

// row is a line of the list.
type row struct {
	class, method string
	goTests       []string
	why           string
}

func (r row) String() string { return r.class + "." + r.method }

// table reads a file of columns, whose first line names them.
func table(file, head string) ([][]string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if lines[0] != strings.ReplaceAll(head, " ", "\t") {
		return nil, fmt.Errorf("%s begins with %q", file, lines[0])
	}
	var all [][]string
	for _, line := range lines[1:] {
		fields := strings.Split(line, "\t")
		if want := strings.Count(head, " ") + 1; len(fields) != want {
			return nil, fmt.Errorf("%s: %d columns, want %d: %q", file, len(fields), want, line)
		}
		all = append(all, fields)
	}
	return all, nil
}

func readRows(t *testing.T) []row {
	t.Helper()
	lines, err := table(filepath.Join(root, "docs", "beam-tests.tsv"), "class method go why")
	if err != nil {
		t.Fatal(err)
	}
	var all []row
	for _, f := range lines {
		all = append(all, row{f[0], f[1], strings.Fields(f[2]), f[3]})
	}
	return all
}

// TestRows shows that each of Beam's tests is there once, in order, with a Go test or a reason, and that nine of ten have a test.
func TestRows(t *testing.T) {
	tests, err := table(filepath.Join("testdata", "tests.tsv"), "class method")
	if err != nil {
		t.Fatal(err)
	}
	rows := readRows(t)
	with := 0
	for i, r := range rows {
		if i >= len(tests) || r.class != tests[i][0] || r.method != tests[i][1] {
			t.Fatalf("row %d is %v, which is not the test that comes next", i+1, r)
		}
		if len(r.goTests) > 0 {
			with++
		} else if r.why == "" {
			t.Errorf("%v has no test, and no reason", r)
		}
	}
	if len(rows) != len(tests) {
		t.Errorf("%d rows, want %d", len(rows), len(tests))
	}
	t.Logf("%d of %d tests of Beam's have a Go test: %.1f %%", with, len(rows), 100*float64(with)/float64(len(rows)))
	if 10*with < 9*len(rows) {
		t.Errorf("less than 90 %%")
	}
}

// found is what a test function's file says of it.
type found struct {
	skipped bool
	texts   map[string]bool // the file's string literals
}

// packages has the tests of those folders that were asked for.
type packages map[string]map[string]found

// tests returns the test functions of a folder.
func (p packages) tests(dir string) (map[string]found, error) {
	if all := p[dir]; all != nil {
		return all, nil
	}
	files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	all := map[string]found{}
	for _, file := range files {
		if err := readTests(file, all); err != nil {
			return nil, err
		}
	}
	p[dir] = all
	return all, nil
}

func readTests(file string, into map[string]found) error {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	texts := literals(f)
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
			into[fn.Name.Name] = found{skips(fn.Body), texts}
		}
	}
	return nil
}

// literals are the string literals of a file.
func literals(f *ast.File) map[string]bool {
	texts := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if x, ok := n.(*ast.BasicLit); ok && x.Kind == token.STRING {
			if s, err := strconv.Unquote(x.Value); err == nil {
				texts[s] = true
			}
		}
		return true
	})
	return texts
}

// skips reports whether a function is skipped whatever happens.
func skips(body *ast.BlockStmt) bool {
	return slices.ContainsFunc(body.List, func(s ast.Stmt) bool {
		x, ok := s.(*ast.ExprStmt)
		if !ok {
			return false
		}
		call, ok := x.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		fn, ok := call.Fun.(*ast.SelectorExpr)
		return ok && strings.HasPrefix(fn.Sel.Name, "Skip")
	})
}

// look returns what is wrong with the name of a test, nil if it is there.
func (p packages) look(name string, scenarios []string) error {
	if s, ok := strings.CutPrefix(name, "scenario:"); ok {
		if !slices.Contains(scenarios, s) {
			return fmt.Errorf("no scenario %q that must pass", s)
		}
		_, err := os.Stat(filepath.Join(root, "testdata", "scenarios", s+".txt"))
		return err
	}
	path, rest, _ := strings.Cut(name, ".")
	fn, sub, hasSub := strings.Cut(rest, "/")
	if path == "levada" {
		path = "."
	}
	all, err := p.tests(path)
	if err != nil {
		return err
	}
	x, ok := all[fn]
	switch {
	case !ok:
		return fmt.Errorf("no function %s in %s", fn, path)
	case x.skipped:
		return fmt.Errorf("%s is always skipped", fn)
	case hasSub && fn == "TestMustNotCompile": // its subtests are files
		_, err := os.Stat(filepath.Join(root, "testdata", "nocompile", sub+".go"))
		return err
	case hasSub && !x.texts[sub]:
		return fmt.Errorf("the file of %s does not say %q", fn, sub)
	}
	return nil
}

// mustPass is the list of the scenarios that pass.
func mustPass(t *testing.T) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "internal", "scenario", "scenarios_test.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ast.Inspect(f, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || v.Names[0].Name != "mustPass" {
			return true
		}
		for _, x := range v.Values[0].(*ast.CompositeLit).Elts {
			s, err := strconv.Unquote(x.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, s)
		}
		return false
	})
	if len(names) == 0 {
		t.Fatal("no list of scenarios")
	}
	return names
}

// TestNamed shows that each Go test that is named exists and runs.
func TestNamed(t *testing.T) {
	scenarios, p := mustPass(t), packages{}
	for _, r := range readRows(t) {
		for _, name := range r.goTests {
			if err := p.look(name, scenarios); err != nil {
				t.Errorf("%v: %s: %v", r, name, err)
			}
		}
	}
}

// TestLookFinds shows that what is wrong is found.
func TestLookFinds(t *testing.T) {
	scenarios, p := mustPass(t), packages{".": {"TestOff": {skipped: true}}}
	if !skips(parsed(t, `func f(t *testing.T) { t.Log(); t.Skip("never") }`)) || skips(parsed(t, `func f(t *testing.T) { if short { t.Skip() } }`)) {
		t.Error("a function that is always skipped is not found, or another is")
	}
	for _, name := range []string{"scenario:none", "levada.TestOff", "levada.TestNone", "internal/pane.TestSpan/no such subtest", "internal/none.TestX"} {
		if p.look(name, scenarios) == nil {
			t.Errorf("%s was found", name)
		}
	}
	for _, name := range []string{"internal/pane.TestSpan", "scenario:keys"} {
		if err := p.look(name, scenarios); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func parsed(t *testing.T, text string) *ast.BlockStmt {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+text, 0)
	if err != nil {
		t.Fatal(err)
	}
	return f.Decls[0].(*ast.FuncDecl).Body
}

// TestNames shows that no subtest of the beam_*_test.go files has a name that is almost that of one of Beam's.
func TestNames(t *testing.T) {
	named := map[string]bool{}
	for _, r := range readRows(t) {
		named[r.method] = true
	}
	files, err := filepath.Glob(filepath.Join(root, "beam_*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files, %v", err)
	}
	method := regexp.MustCompile(`^(test|with|extract|in)[A-Z]\w+$`)
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for s := range literals(f) {
			if method.MatchString(s) && !named[s] {
				t.Errorf("%s: %q is not on the list", file, s)
			}
		}
	}
}
