package pane

import (
	"fmt"
	"time"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/trigger"
)

// moment is a window with what the trigger must know of the world.
type moment struct {
	w   *State
	in  event.Time // input watermark
	now event.Time // processing time
}

// ended reports whether the watermark has passed the window's end.
func (m moment) ended() bool { return m.in > m.w.Window.Last() }

// cell is what one part of a trigger remembers of a window.
type cell struct {
	n    int        // elements, the part whose turn it is, or the phase
	at   event.Time // the processing time that is waited for, if set
	set  bool
	done bool
}

// machine is a trigger at work. One value serves all keys and windows: what it must remember is in the State's cells. Every machine
// is told only of what concerns it: one that is done is not asked.
type machine interface {
	// element is told of a new element.
	element(m moment)
	// ready reports whether a pane is due.
	ready(m moment) bool
	// fire is told that a pane came out because it was ready, and says in its cell whether it is done.
	fire(m moment)
	// reset begins anew.
	reset(m moment)
	// merge makes the cell of m.w out of those of olds.
	merge(m moment, olds []*State)
	// alarm returns the next processing time, after the present one, at which it may become ready; ok is false if there is none.
	alarm(m moment) (at event.Time, ok bool)
	// done reports whether it is.
	done(m moment) bool
}

// compiler numbers the parts of a trigger.
type compiler struct {
	cells int
	waits bool // for the clock
}

// leaf is what all machines have: a cell.
type leaf int

func (c *compiler) leaf() leaf { c.cells++; return leaf(c.cells - 1) }

func (l leaf) cell(m moment) *cell                   { return &m.w.cells[l] }
func (l leaf) element(moment)                        {}
func (l leaf) ready(moment) bool                     { return false }
func (l leaf) fire(m moment)                         { l.cell(m).done = true }
func (l leaf) reset(m moment)                        { *l.cell(m) = cell{} }
func (l leaf) merge(moment, []*State)                {}
func (l leaf) alarm(moment) (at event.Time, ok bool) { return 0, false }
func (l leaf) done(m moment) bool                    { return l.cell(m).done }

// compile returns the machine of t.
func (c *compiler) compile(t trigger.Trigger) (machine, error) {
	switch t := t.(type) {
	case nil, trigger.Default:
		return &defaultMachine{c.leaf()}, nil
	case trigger.Never:
		return c.leaf(), nil
	case trigger.AfterCount:
		return &countMachine{c.leaf(), int(t)}, nil
	case trigger.AfterDelay:
		c.waits = true
		return &delayMachine{c.leaf(), event.FloorMillis(time.Duration(t))}, nil
	case trigger.MayLoseData:
		return c.compile(t.Trigger)
	case trigger.AfterWatermark:
		m := &watermarkMachine{leaf: c.leaf()}
		parts, err := c.all(t.Early, t.Late)
		if err != nil {
			return nil, err
		}
		m.early, m.late, m.hasEarly, m.hasLate = parts[0], parts[1], t.Early != nil, t.Late != nil
		return m, nil
	case trigger.Repeat:
		l := c.leaf()
		parts, err := c.all(t.Trigger)
		if err != nil {
			return nil, err
		}
		return &repeatMachine{l, parts[0]}, nil
	case trigger.OrFinally:
		l := c.leaf()
		parts, err := c.all(t.Main, t.Finally)
		if err != nil {
			return nil, err
		}
		return &finallyMachine{several{l, parts}}, nil
	case trigger.AfterEach:
		s, err := c.several(t)
		return &eachMachine{s}, err
	case trigger.AfterAny:
		s, err := c.several(t)
		return &anyMachine{s}, err
	case trigger.AfterAll:
		s, err := c.several(t)
		return &allMachine{s}, err
	}
	return nil, fmt.Errorf("the trigger %v is not known", t)
}

// all compiles parts; one that is nil is absent.
func (c *compiler) all(parts ...trigger.Trigger) ([]machine, error) {
	out := make([]machine, len(parts))
	for i, p := range parts {
		if p == nil {
			out[i] = absent{}
			continue
		}
		var err error
		if out[i], err = c.compile(p); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c *compiler) several(parts []trigger.Trigger) (several, error) {
	l := c.leaf()
	all, err := c.all(parts...)
	return several{l, all}, err
}

// absent is a part that is not there: never ready, and with nothing to remember.
type absent struct{}

func (absent) element(moment)                       {}
func (absent) ready(moment) bool                    { return false }
func (absent) fire(moment)                          {}
func (absent) reset(moment)                         {}
func (absent) merge(moment, []*State)               {}
func (absent) alarm(moment) (at event.Time, _ bool) { return 0, false }
func (absent) done(moment) bool                     { return false }

// defaultMachine is ready as soon as the watermark has passed the window's end, for ever.
type defaultMachine struct{ leaf }

func (*defaultMachine) ready(m moment) bool { return m.ended() }
func (*defaultMachine) fire(moment)         {}

// countMachine waits for elements.
type countMachine struct {
	leaf
	least int
}

func (c *countMachine) element(m moment)    { c.cell(m).n++ }
func (c *countMachine) ready(m moment) bool { return c.cell(m).n >= c.least }
func (c *countMachine) merge(m moment, olds []*State) {
	for _, o := range olds {
		c.cell(m).n += o.cells[c.leaf].n
	}
}

// delayMachine waits for processing time since the first element.
type delayMachine struct {
	leaf
	ms int64
}

func (d *delayMachine) element(m moment) {
	if x := d.cell(m); !x.set {
		x.at, x.set = m.now.AddMillis(d.ms), true
	}
}
func (d *delayMachine) ready(m moment) bool { x := d.cell(m); return x.set && m.now >= x.at }
func (d *delayMachine) alarm(m moment) (event.Time, bool) {
	x := d.cell(m)
	return x.at, x.set && !x.done && x.at > m.now
}
func (d *delayMachine) merge(m moment, olds []*State) {
	x := d.cell(m)
	for _, o := range olds {
		if y := o.cells[d.leaf]; y.set && (!x.set || y.at < x.at) {
			x.at, x.set = y.at, true
		}
	}
}

// watermarkMachine fires at the window's end; its cell's n is 1 when that is behind it.
type watermarkMachine struct {
	leaf
	early, late       machine
	hasEarly, hasLate bool
}

func (a *watermarkMachine) part(m moment) machine {
	if a.cell(m).n == 0 {
		return a.early
	}
	return a.late
}
func (a *watermarkMachine) element(m moment) { a.part(m).element(m) }
func (a *watermarkMachine) ready(m moment) bool {
	return a.cell(m).n == 0 && m.ended() || a.part(m).ready(m)
}
func (a *watermarkMachine) fire(m moment) {
	x := a.cell(m)
	if x.n == 0 && m.ended() {
		x.n, x.done = 1, !a.hasLate
		a.early.reset(m)
		a.late.reset(m)
		return
	}
	a.part(m).reset(m) // it begins anew after each firing, with its parts
}
func (a *watermarkMachine) reset(m moment) {
	*a.cell(m) = cell{}
	a.early.reset(m)
	a.late.reset(m)
}
func (a *watermarkMachine) alarm(m moment) (event.Time, bool) { return a.part(m).alarm(m) }

// merge opens the trigger again where the end is ahead; behind it, it stays with the late part if all were there.
func (a *watermarkMachine) merge(m moment, olds []*State) {
	x := a.cell(m)
	if m.ended() {
		x.n = 1
		for _, o := range olds {
			x.n = min(x.n, o.cells[a.leaf].n)
		}
	}
	a.part(m).merge(m, olds)
}

// repeatMachine begins anew whenever its part is done.
type repeatMachine struct {
	leaf
	part machine
}

func (r *repeatMachine) element(m moment)    { r.part.element(m) }
func (r *repeatMachine) ready(m moment) bool { return r.part.ready(m) }
func (r *repeatMachine) fire(m moment) {
	if r.part.fire(m); r.part.done(m) {
		r.part.reset(m)
	}
}
func (r *repeatMachine) reset(m moment)                    { r.part.reset(m) }
func (r *repeatMachine) merge(m moment, olds []*State)     { r.part.merge(m, olds) }
func (r *repeatMachine) alarm(m moment) (event.Time, bool) { return r.part.alarm(m) }

// several is what machines of several parts share: all see every element.
type several struct {
	leaf
	parts []machine
}

func (s *several) element(m moment) {
	for _, p := range s.parts {
		if !p.done(m) {
			p.element(m)
		}
	}
}
func (s *several) reset(m moment) {
	*s.cell(m) = cell{}
	for _, p := range s.parts {
		p.reset(m)
	}
}
func (s *several) merge(m moment, olds []*State) {
	for _, o := range olds {
		s.cell(m).n = max(s.cell(m).n, o.cells[s.leaf].n)
	}
	for _, p := range s.parts {
		p.merge(m, olds)
	}
}
func (s *several) alarm(m moment) (at event.Time, ok bool) {
	for _, p := range s.parts {
		if a, set := p.alarm(m); set && (!ok || a < at) {
			at, ok = a, true
		}
	}
	return at, ok
}

// anyMachine is ready when one part is.
type anyMachine struct{ several }

func (a *anyMachine) ready(m moment) bool {
	for _, p := range a.parts {
		if p.ready(m) {
			return true
		}
	}
	return false
}

// allMachine is ready when all parts are; one that has been stays so until the firing.
type allMachine struct{ several }

func (a *allMachine) ready(m moment) bool {
	for _, p := range a.parts {
		if !p.ready(m) {
			return false
		}
	}
	return true
}

// eachMachine gives one part after the other its turn; the cell's n is the number of those that are done.
type eachMachine struct{ several }

func (e *eachMachine) part(m moment) machine { return e.parts[min(e.cell(m).n, len(e.parts)-1)] }
func (e *eachMachine) element(m moment)      { e.part(m).element(m) }
func (e *eachMachine) ready(m moment) bool   { return e.part(m).ready(m) }
func (e *eachMachine) fire(m moment) {
	p := e.part(m)
	if p.fire(m); p.done(m) {
		x := e.cell(m)
		x.n++
		x.done = x.n == len(e.parts)
	}
}
func (e *eachMachine) alarm(m moment) (event.Time, bool) { return e.part(m).alarm(m) }

// finallyMachine fires with its first part until the second is ready or the first is done.
type finallyMachine struct{ several }

func (f *finallyMachine) ready(m moment) bool { return f.parts[0].ready(m) || f.parts[1].ready(m) }
func (f *finallyMachine) fire(m moment) {
	if f.parts[1].ready(m) {
		f.cell(m).done = true
		return
	}
	f.parts[0].fire(m)
	f.cell(m).done = f.parts[0].done(m)
}
