package window

import (
	"fmt"

	"github.com/levadaflow/levada/event"
)

// CustomWindows are windows that a user's function gives. See [Func] and [ByElement]. The zero value is refused.
type CustomWindows struct {
	name   string
	assign *assigner // nil if the windows depend on the element
	merged bool
}

type assigner func(dst []event.Window, t event.Time) []event.Window

// Func is a window function of one's own: assign does what [Fn.Assign] says. The name stands for what assign does: two Funcs of
// one name are compatible. Neither may be empty or nil. (Beam's NonMergingWindowFn, Flink's WindowAssigner.)
func Func(name string, assign func(dst []event.Window, t event.Time) []event.Window) CustomWindows {
	a := assigner(assign)
	return CustomWindows{name: name, assign: &a}
}

// ByElement stands for the windows that the function of a levada.WindowBy gives, where they merge or where collections of two such
// steps are flattened: it has their name, which must not be empty. WindowInto refuses it.
func ByElement(name string) CustomWindows { return CustomWindows{name: name} }

// Merged returns windows that merge as sessions do: those of a key that intersect and have the same label become one.
func (c CustomWindows) Merged() CustomWindows { c.merged = true; return c }

// MergedBy returns windows that merge as rule says, which does what [Merger.Merge] says. The name of the windows stands for the rule
// too.
func (c CustomWindows) MergedBy(rule func(windows []event.Window, merge func(parts []event.Window, into event.Window))) MergedWindows {
	r := merger(rule)
	return MergedWindows{of: c.Merged(), rule: &r}
}

// ByTime reports whether the windows follow from the time: true for [Func], false for [ByElement].
func (c CustomWindows) ByTime() bool { return c.assign != nil }

// Validate implements [Fn].
func (c CustomWindows) Validate() error { return c.validate(c) }

// validate blames f.
func (c CustomWindows) validate(f Fn) error {
	switch {
	case c.name == "":
		return fmt.Errorf("%w: %v: the name must be set", ErrBadWindow, f)
	case c.assign != nil && *c.assign == nil:
		return fmt.Errorf("%w: %v: the function must be set", ErrBadWindow, f)
	}
	return nil
}

// Assign implements [Fn]: what the function gives; nothing for [ByElement].
func (c CustomWindows) Assign(dst []event.Window, t event.Time) []event.Window {
	if c.assign == nil {
		return dst
	}
	return (*c.assign)(dst, t)
}

// Merging implements [Fn].
func (c CustomWindows) Merging() bool { return c.merged }

// Compatible implements [Fn]: with those of the same name that merge in the same way.
func (c CustomWindows) Compatible(o Fn) bool {
	x, ok := o.(CustomWindows)
	return ok && x.name == c.name && x.merged == c.merged
}

// String implements [Fn].
func (c CustomWindows) String() string {
	s := fmt.Sprintf("window.ByElement(%q)", c.name)
	if c.ByTime() {
		s = fmt.Sprintf("window.Func(%q)", c.name)
	}
	if c.merged {
		s += ".Merged()"
	}
	return s
}

// MergedWindows are windows that a user's function gives and another one merges. See [CustomWindows.MergedBy]. The zero value is
// refused.
type MergedWindows struct {
	of   CustomWindows
	rule *merger
}

type merger func(windows []event.Window, merge func(parts []event.Window, into event.Window))

// ByTime is that of the windows.
func (m MergedWindows) ByTime() bool { return m.of.ByTime() }

// Validate implements [Fn].
func (m MergedWindows) Validate() error {
	if m.rule == nil || *m.rule == nil {
		return fmt.Errorf("%w: %v: the rule must be set", ErrBadWindow, m)
	}
	return m.of.validate(m)
}

// Assign implements [Fn].
func (m MergedWindows) Assign(dst []event.Window, t event.Time) []event.Window {
	return m.of.Assign(dst, t)
}

// Merging implements [Fn]: true.
func (m MergedWindows) Merging() bool { return true }

// Merge implements [Merger].
func (m MergedWindows) Merge(windows []event.Window, merge func(parts []event.Window, into event.Window)) {
	(*m.rule)(windows, merge)
}

// Compatible implements [Fn]: with those of the same name that another rule of that name merges.
func (m MergedWindows) Compatible(o Fn) bool {
	x, ok := o.(MergedWindows)
	return ok && x.of.name == m.of.name
}

// String implements [Fn].
func (m MergedWindows) String() string {
	of := m.of
	of.merged = false
	return of.String() + ".MergedBy(...)"
}
