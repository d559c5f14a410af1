package check

import (
	"slices"
	"strings"
)

// layers is the import order: a package imports from its own layer and from those above it in this table.
var layers = [][]string{
	{"event"},
	{"window", "trigger", "coder", "combine", "source"},
	{"internal/graph", "internal/pane", "internal/progress", "internal/store", "internal/exec", "internal/async", "internal/engine"},
	{""}, // the root package
	{"io", "levadatest"},
	{"internal/scenario", "internal/check", "portable"},
	{"cmd", "examples", "bench"},
}

// internals says what the packages of the internal layer import of each other; "*" is all.
var internals = map[string][]string{
	"internal/graph":    nil,
	"internal/pane":     nil,
	"internal/progress": nil,
	"internal/store":    nil,
	"internal/exec":     {"internal/graph", "internal/pane", "internal/progress", "internal/store"},
	"internal/async":    {"internal/exec", "internal/progress"},
	"internal/engine":   {"*"},
}

// invariants may be imported by anyone and imports nothing of the project.
const invariants = "internal/invariants"

// place is where a package stands in the import order.
type place struct {
	layer int    // -1 if it has none
	root  string // the entry of the table that it is, or is below of
}

func placeOf(dir string) place {
	for i, layer := range layers {
		for _, root := range layer {
			if within(dir, root) {
				return place{i, root}
			}
		}
	}
	return place{layer: -1}
}

func importOrder(r *report) {
	for _, s := range r.product() {
		from := placeOf(s.dir)
		if from.layer < 0 && s.dir != invariants {
			r.add(s.ast.Package, "package %s has no place in the import order", s.dir)
			continue
		}
		for _, i := range s.imports() {
			dir, ours := strings.CutPrefix(i.path, module)
			dir = strings.TrimPrefix(dir, "/")
			if !ours || dir == invariants && s.dir != invariants {
				continue
			}
			if why := forbidden(s.dir, from, dir); why != "" {
				r.add(i.at, "%s imports %s: %s", name(s.dir), name(dir), why)
			}
		}
	}
}

// forbidden says why the package from may not import the package dir, or "".
func forbidden(fromDir string, from place, dir string) string {
	to := placeOf(dir)
	switch {
	case fromDir == invariants:
		return "it imports nothing of the project"
	case dir == "internal/check":
		return "internal/check is imported by none"
	case to.layer < 0:
		return "it has no place in the import order"
	case to.layer > from.layer:
		return "it is in a later layer"
	case to.layer < from.layer || to.root == from.root:
		return ""
	}
	allowed, internal := internals[from.root]
	if internal && !slices.Contains(allowed, "*") && !slices.Contains(allowed, to.root) {
		return "not among what it may import of its layer"
	}
	return ""
}

func name(dir string) string {
	if dir == "" {
		return "levada"
	}
	return dir
}
