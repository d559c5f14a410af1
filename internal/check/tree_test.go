package check

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/levadaflow/levada"

// source is a parsed file.
type source struct {
	path string // relative to the module's root, with slashes
	dir  string // of the file; "" is the root package
	test bool
	ast  *ast.File
}

// tree is what a rule looks at: the files in the order of their paths.
type tree struct {
	fset  *token.FileSet
	files []*source
}

// finding is a place where a rule is broken.
type finding struct {
	file string
	line int
	rule string
	text string
}

func (f finding) String() string { return fmt.Sprintf("%s:%d: %s: %s", f.file, f.line, f.rule, f.text) }

// rule is a check of the whole tree.
type rule struct {
	name  string
	check func(*report)
}

// report is a rule at work on a tree.
type report struct {
	*tree
	rule     string
	findings []finding
}

// add adds a finding at a position.
func (r *report) add(at token.Pos, format string, args ...any) {
	p := r.fset.Position(at)
	r.findings = append(r.findings, finding{p.Filename, p.Line, r.rule, fmt.Sprintf(format, args...)})
}

// run applies the rule and returns what it finds, in the order of the files.
func (r rule) run(t *tree) []finding {
	rep := &report{tree: t, rule: r.name}
	r.check(rep)
	slices.SortStableFunc(rep.findings, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
	})
	return rep.findings
}

// product returns the files that are not tests.
func (t *tree) product() []*source {
	return slices.DeleteFunc(slices.Clone(t.files), func(s *source) bool { return s.test })
}

// add parses a file.
func (t *tree) add(name string, text []byte) error {
	f, err := parser.ParseFile(t.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	dir := path.Dir(name)
	if dir == "." {
		dir = ""
	}
	t.files = append(t.files, &source{path: name, dir: dir, test: strings.HasSuffix(name, "_test.go"), ast: f})
	return nil
}

// examples returns a tree of files that are given as path and text.
func examples(t *testing.T, files map[string]string) *tree {
	t.Helper()
	tr := &tree{fset: token.NewFileSet()}
	for name, text := range files {
		if err := tr.add(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	slices.SortFunc(tr.files, func(a, b *source) int { return cmp.Compare(a.path, b.path) })
	return tr
}

// moduleRoot returns the directory of the go.mod that this package belongs to.
func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if isModule(dir) {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the working directory")
		}
		dir = parent
	}
}

func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// load parses the module: all Go files, without nested modules, testdata, and directories that begin with a dot or "_".
func load(t *testing.T) *tree {
	t.Helper()
	root := moduleRoot(t)
	tr := &tree{fset: token.NewFileSet()}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			if p != root && (name[0] == '.' || name[0] == '_' || name == "testdata" || name == "vendor" || isModule(p)) {
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(p) != ".go" {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		return tr.add(filepath.ToSlash(rel), text)
	})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// imports returns the paths that a file imports, each with its name in the file ("" if it is not renamed) and place.
func (s *source) imports() []imported {
	var all []imported
	for _, spec := range s.ast.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has refused it
		}
		i := imported{path: p, at: spec.Pos()}
		if spec.Name != nil {
			i.name = spec.Name.Name
		}
		all = append(all, i)
	}
	return all
}

type imported struct {
	path, name string
	at         token.Pos
}

// uses calls f for every NAME.Selector of the package with the given import path. A dot import is reported as ".".
func (s *source) uses(pkg string, f func(selector string, at token.Pos)) {
	for _, i := range s.imports() {
		name := i.name
		switch {
		case i.path != pkg || name == "_":
			continue
		case name == ".":
			f(".", i.at)
			continue
		case name == "":
			name = path.Base(pkg)
			if name == "v2" {
				name = path.Base(path.Dir(pkg))
			}
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == name {
					f(sel.Sel.Name, sel.Pos())
				}
			}
			return true
		})
	}
}

// within reports whether dir is one of the given directories or below one. "" is the root package alone.
func within(dir string, roots ...string) bool {
	for _, r := range roots {
		if dir == r || r != "" && strings.HasPrefix(dir, r+"/") {
			return true
		}
	}
	return false
}

// TestRules applies every rule to the tree.
func TestRules(t *testing.T) {
	tr := load(t)
	if len(tr.files) < 10 {
		t.Fatalf("only %d files", len(tr.files))
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, f := range r.run(tr) {
				t.Error(f)
			}
		})
	}
}
