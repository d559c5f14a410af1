package check

import (
	"go/ast"
	"go/token"
)

const (
	maxFile    = 800
	maxFunc    = 70
	maxResults = 3
)

func fileLength(r *report) {
	for _, s := range r.files {
		tf := r.fset.File(s.ast.FileStart)
		lines := tf.LineCount()
		if tf.Size() > 0 && r.fset.Position(s.ast.FileEnd).Column == 1 { // it ends with a line end, as gofmt has it
			lines--
		}
		if lines > maxFile {
			r.add(s.ast.FileStart, "%d lines, more than %d", lines, maxFile)
		}
	}
}

func funcLength(r *report) {
	for _, s := range r.product() {
		ast.Inspect(s.ast, func(n ast.Node) bool {
			var what string
			switch f := n.(type) {
			case *ast.FuncDecl:
				what = f.Name.Name
			case *ast.FuncLit:
				what = "a function literal"
			default:
				return true
			}
			if lines := r.fset.Position(n.End()).Line - r.fset.Position(n.Pos()).Line + 1; lines > maxFunc {
				r.add(n.Pos(), "%s has %d lines, more than %d", what, lines, maxFunc)
			}
			return true
		})
	}
}

func resultCount(r *report) {
	for _, s := range r.product() {
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if f, ok := n.(*ast.FuncType); ok && f.Results.NumFields() > maxResults {
				r.add(f.Pos(), "%d results, more than %d: return a struct", f.Results.NumFields(), maxResults)
			}
			return true
		})
	}
}

func packageDoc(r *report) {
	documented := map[string]bool{}
	for _, s := range r.product() {
		documented[s.dir] = documented[s.dir] || s.ast.Doc.Text() != ""
	}
	for _, s := range r.product() {
		if !documented[s.dir] {
			r.add(s.ast.Package, "package %s has no doc comment", s.ast.Name.Name)
			documented[s.dir] = true // one finding is enough
		}
	}
}

func exportedDoc(r *report) {
	for _, s := range r.product() {
		for _, d := range s.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && receiverExported(d) && d.Doc.Text() == "" {
					r.add(d.Pos(), "%s has no doc comment", d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					r.specDoc(d, spec)
				}
			}
		}
	}
}

// specDoc reports an exported type, constant or variable without a doc comment. For constants and variables the comment of
// the group counts, and so does one at the line's end.
func (r *report) specDoc(d *ast.GenDecl, spec ast.Spec) {
	group := d.Doc.Text() != ""
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		alone := d.Lparen == token.NoPos
		if spec.Name.IsExported() && spec.Doc.Text() == "" && !(alone && group) {
			r.add(spec.Pos(), "%s has no doc comment", spec.Name.Name)
		}
	case *ast.ValueSpec:
		if group || spec.Doc.Text() != "" || spec.Comment.Text() != "" {
			return
		}
		for _, n := range spec.Names {
			if n.IsExported() {
				r.add(n.Pos(), "%s has no doc comment", n.Name)
			}
		}
	}
}

// receiverExported reports whether d is a function, or a method of an exported type.
func receiverExported(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	exported := false
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IndexExpr:
			exported = typeExported(n.X)
			return false
		case *ast.IndexListExpr:
			exported = typeExported(n.X)
			return false
		case *ast.Ident:
			exported = n.IsExported()
		}
		return true
	})
	return exported
}

func typeExported(e ast.Expr) bool {
	n, ok := e.(*ast.Ident)
	return ok && n.IsExported()
}
