package scenario

import "slices"

// Operations and directives of the format that are not supported yet.
var (
	laterOps        []string
	laterDirectives = []string{"restart"}
)

// notYet names what a file uses that is not supported yet, sorted, each once. A file that uses any of it is not run.
func notYet(f *File) ([]string, error) {
	var names []string
	add := func(kind, name string) {
		if n := kind + " " + name; !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	for i := range f.Blocks {
		b := &f.Blocks[i]
		if slices.Contains(laterDirectives, b.Directive) {
			add("directive", b.Directive)
		}
		if b.Directive != "pipeline" {
			continue
		}
		steps, err := ParsePipeline(b)
		if err != nil {
			return nil, err
		}
		for _, s := range steps {
			if slices.Contains(laterOps, s.Op) {
				add("op", s.Op)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}
