package exec

import (
	"errors"
	"fmt"
	"slices"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/pane"
)

// ErrBadMerge is the failure of a window.Merger that breaks the rules of merging.
var ErrBadMerge = errors.New("windows are merged wrongly")

// merges is what a window.Merger wants done, checked. It serves one table, again and again.
type merges struct {
	windows []event.Window // by start
	group   []int          // of each window, from 1; 0 if it stays as it is
	into    []event.Window // of each group
	err     error          // the first
	shown   []event.Window // what the merger is given, and may spoil
}

// ask lets f say what becomes of windows.
func (m *merges) ask(f func(windows []event.Window, merge func(parts []event.Window, into event.Window))) error {
	m.group = append(m.group[:0], make([]int, len(m.windows))...)
	m.into, m.err = m.into[:0], nil
	m.shown = append(m.shown[:0], m.windows...)
	f(m.shown, m.add)
	for i, into := range m.into {
		if m.err != nil {
			break
		}
		if at, found := slices.BinarySearchFunc(m.windows, into, byStart); found && m.group[at] != i+1 || slices.Contains(m.into[:i], into) {
			m.err = fmt.Errorf("%w: into %v, which is there already and not among the parts", ErrBadMerge, into)
		}
	}
	return m.err
}

// add is told by a merger that parts become into.
func (m *merges) add(parts []event.Window, into event.Window) {
	if m.err != nil {
		return
	}
	into.End = min(into.End, event.EndOfGlobal+1)
	if len(parts) == 0 || into.IsGlobal() && into != event.Global() {
		m.err = fmt.Errorf("%w: %v into %v", ErrBadMerge, parts, into)
		return
	}
	m.into = append(m.into, into)
	for _, p := range parts {
		at, found := slices.BinarySearchFunc(m.windows, p, byStart)
		switch {
		case !found:
			m.err = fmt.Errorf("%w: %v into %v, but the key has no window %v", ErrBadMerge, parts, into, p)
		case m.group[at] > 0:
			m.err = fmt.Errorf("%w: %v into %v, but %v is merged already", ErrBadMerge, parts, into, p)
		case !into.Covers(p):
			m.err = fmt.Errorf("%w: %v into %v, which does not cover %v", ErrBadMerge, parts, into, p)
		}
		if m.err != nil {
			return
		}
		m.group[at] = len(m.into)
	}
}

// mergeBy returns the key's window that an element of w belongs to, after what the window.Merger wants merged.
func (t *table[K, V, A, R]) mergeBy(e *Elem, k *keyed[K, A], w event.Window) (*open[K, A], error) {
	find := func(w event.Window) (int, bool) {
		return slices.BinarySearchFunc(k.wins, w, func(o *open[K, A], w event.Window) int { return byStart(o.Window, w) })
	}
	at, found := find(w)
	if found {
		return k.wins[at], nil
	}
	m := &t.merges
	m.windows = m.windows[:0]
	for _, o := range k.wins {
		m.windows = append(m.windows, o.Window)
	}
	m.windows = slices.Insert(m.windows, at, w)
	e.Enter(t.st)
	if err := m.ask(t.g.Merger.Merge); err != nil {
		return nil, err
	}
	before := slices.Clone(k.wins)
	before = slices.Insert(before, at, nil) // the new window has seen nothing
	mine := m.group[at]
	var own *open[K, A]
	for g, into := range m.into {
		var olds []*open[K, A]
		for i, o := range before {
			if m.group[i] == g+1 && o != nil {
				olds = append(olds, o)
			}
		}
		o := t.become(k, into, olds, e.Now, find)
		if g+1 == mine {
			own = o
		} else {
			t.settle(o, e.Now)
		}
	}
	if mine == 0 {
		at, _ = find(w)
		own = t.insert(k, at, pane.State{Window: w})
	}
	return own, nil
}

// become makes one window of olds, which may be none, or that window itself.
func (t *table[K, V, A, R]) become(k *keyed[K, A], into event.Window, olds []*open[K, A], now event.Time,
	find func(event.Window) (int, bool)) *open[K, A] {
	if len(olds) == 1 && olds[0].Window == into {
		return olds[0]
	}
	for _, o := range olds {
		t.remove(o)
	}
	at, _ := find(into)
	if len(olds) == 0 {
		return t.insert(k, at, pane.State{Window: into})
	}
	return t.join(k, at, into, olds, now)
}
