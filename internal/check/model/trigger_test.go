package model

import (
	"fmt"
	"slices"
	"strings"
)

// expr is a trigger expression. For after-watermark, args has early and late; either may be nil.
type expr struct {
	op   string
	n    int64
	args []*expr
}

func (e *expr) String() string {
	switch e.op {
	case "default", "never", "after-end-of-window":
		return e.op
	case "after-count", "after-delay":
		return fmt.Sprintf("%s(%d)", e.op, e.n)
	}
	var args []string
	for i, a := range e.args {
		switch {
		case a == nil:
		case e.op == "after-watermark":
			args = append(args, []string{"early=", "late="}[i]+a.String())
		default:
			args = append(args, a.String())
		}
	}
	return e.op + "(" + strings.Join(args, ",") + ")"
}

// node is the state of one expression in one window.
type node struct {
	e        *expr
	kids     []*node
	count    int64 // after-count: elements since it started anew
	started  bool  // after-delay: an element has come
	deadline int64 // after-delay: when it is due, if started
	current  int   // after-each: the part whose turn it is
	late     bool  // after-watermark: the pane of the window's end has fired
}

func fresh(e *expr) *node {
	if e == nil {
		return nil
	}
	n := &node{e: e}
	for _, a := range e.args {
		n.kids = append(n.kids, fresh(a))
	}
	return n
}

// now is what a trigger can see.
type now struct {
	clock int64
	ended bool // the watermark has reached the window's end
}

// active are the parts that see elements and can be ready.
func (n *node) active() []*node {
	switch n.e.op {
	case "after-each":
		if n.current == len(n.kids) {
			return nil
		}
		return n.kids[n.current : n.current+1]
	case "after-watermark":
		if k := n.phase(); k != nil {
			return []*node{k}
		}
		return nil
	}
	return n.kids
}

// phase is the early or the late part of after-watermark, nil if there is none.
func (n *node) phase() *node {
	if n.late {
		return n.kids[1]
	}
	return n.kids[0]
}

// element tells n of a new element.
func (n *node) element(w now) {
	switch n.e.op {
	case "after-count":
		n.count++
	case "after-delay":
		if !n.started {
			n.started, n.deadline = true, w.clock+n.e.n
		}
	}
	for _, k := range n.active() {
		k.element(w)
	}
}

// ready says whether n would fire.
func (n *node) ready(w now) bool {
	isReady := func(k *node) bool { return k.ready(w) }
	switch n.e.op {
	case "default", "after-end-of-window":
		return w.ended
	case "after-count":
		return n.count >= n.e.n
	case "after-delay":
		return n.started && w.clock >= n.deadline
	case "after-all":
		return !slices.ContainsFunc(n.kids, func(k *node) bool { return !k.ready(w) })
	case "after-watermark":
		if !n.late && w.ended {
			return true
		}
	}
	return slices.ContainsFunc(n.active(), isReady)
}

// fire is called when n is ready. It says whether n has finished.
func (n *node) fire(w now) bool {
	switch n.e.op {
	case "default":
		return false
	case "repeat":
		if n.kids[0].fire(w) {
			n.kids[0] = fresh(n.e.args[0])
		}
		return false
	case "after-each":
		if n.kids[n.current].fire(w) {
			n.current++
		}
		return n.current == len(n.kids)
	case "or-finally":
		if n.kids[1].ready(w) {
			return true
		}
		return n.kids[0].fire(w)
	case "after-watermark":
		if !n.late && w.ended {
			n.late = true
			return n.kids[1] == nil
		}
		i := 0
		if n.late {
			i = 1
		}
		n.kids[i] = fresh(n.e.args[i]) // each of the two starts anew after every firing, not only when it has finished
		return false
	}
	return true
}

// deadlines are the times for which n waits.
func (n *node) deadlines() []int64 {
	var out []int64
	if n.e.op == "after-delay" && n.started {
		out = append(out, n.deadline)
	}
	for _, k := range n.active() {
		out = append(out, k.deadlines()...)
	}
	return out
}

// merged is the state of a window that several were merged into.
func merged(e *expr, from []*node, ended bool) *node {
	if e == nil {
		return nil
	}
	n := fresh(e)
	switch e.op {
	case "after-watermark":
		// The window starts with its early part again if its end is ahead. Only what was in the same part counts.
		n.late = ended && slices.ContainsFunc(from, func(f *node) bool { return f.late })
		from = slices.DeleteFunc(slices.Clone(from), func(f *node) bool { return f.late != n.late })
	case "after-each": // the most advanced decides
		for _, f := range from {
			n.current = max(n.current, f.current)
		}
		from = slices.DeleteFunc(slices.Clone(from), func(f *node) bool { return f.current != n.current })
	}
	for _, f := range from {
		n.count += f.count
		if f.started && (!n.started || f.deadline < n.deadline) {
			n.started, n.deadline = true, f.deadline
		}
	}
	for i := range n.kids {
		var kids []*node
		for _, f := range from {
			kids = append(kids, f.kids[i])
		}
		n.kids[i] = merged(e.args[i], kids, ended)
	}
	return n
}
