package exec

import (
	"fmt"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/invariants"
	"github.com/levadaflow/levada/internal/store"
)

// State is what a keyed step keeps in one task: a row for each key and window that has a cell or a timer set. It does not know the
// keys. A row is there only as long as something is in it.
type State struct {
	st      *Inst
	numbers store.Numbers
	rows    store.Column[stateRow]
	wins    stateWindows
	columns []remover // of the cells and timers
	timers  timers
	row     uint32        // of the call at hand, or noRow
	open    func() uint32 // makes the row of the call at hand
	key     func() any    // of the call at hand, for errors
	called  bool          // a call is at hand
	// expiring says that the window's expiry is being dealt with: it is the last call.
	expiring bool
	in       event.Time // the input watermark
	expiry   func(w event.Window) event.Time
}

// noRow says that nothing is kept for the key and window at hand.
const noRow = ^uint32(0)

// stateRow is what every row has.
type stateRow struct {
	win        uint32 // number of its window
	next, prev uint32 // rows of the same window
	n          int32  // cells and timers that are set
}

// remover is a column whose value of a row can be taken out.
type remover interface {
	Remove(row uint32) bool
}

// newState returns the state of a step whose windows expire latenessMs after their end.
func newState(st *Inst, latenessMs int64) *State {
	expiry := func(w event.Window) event.Time { return w.Expiry(latenessMs) }
	return &State{st: st, row: noRow, in: event.Min, expiry: expiry}
}

// At reports whether there is a call of st at hand.
func (s *State) At(st *Inst) bool { return s.called && s.st == st }

// Key returns the key of the call at hand.
func (s *State) Key() any { return s.key() }

// Expiry returns when a window of the step expires.
func (s *State) Expiry(w event.Window) event.Time { return s.expiry(w) }

// In returns the input watermark.
func (s *State) In() event.Time { return s.in }

// make returns the row of the call at hand, a new one if there is none.
func (s *State) make() uint32 {
	if s.row == noRow {
		s.row = s.open()
	}
	return s.row
}

// add makes a row in a window.
func (s *State) add(w event.Window) uint32 {
	row := s.numbers.Take()
	r, _ := s.rows.Put(row)
	r.win = s.wins.number(w)
	s.wins.link(&s.rows, row, r)
	return row
}

// count notes that d more (or fewer) cells or timers are set in a row.
func (s *State) count(row uint32, d int32) {
	r := s.rows.Get(row)
	r.n += d
	invariants.Check(r.n >= 0, "%s counts %d cells in a row", s.st.Step.Name, r.n)
}

// drop takes out a row with all that is in it.
func (s *State) drop(row uint32) {
	for _, c := range s.columns {
		c.Remove(row)
	}
	s.timers.removeAll(row)
	s.wins.unlink(&s.rows, row)
	s.rows.Remove(row)
	s.numbers.Give(row)
}

// Cell is a kind of state of a step in one task: a value for each row, or none.
type Cell[T any] struct {
	s   *State
	col store.Column[T]
}

// NewCell adds a kind of state. It must be called while the step is bound.
func NewCell[T any](s *State) *Cell[T] {
	c := &Cell[T]{s: s}
	s.columns = append(s.columns, &c.col)
	return c
}

// Get returns the value for the key and window at hand, which may be changed in place, or nil if there is none.
func (c *Cell[T]) Get() *T {
	if c.s.row == noRow {
		return nil
	}
	return c.col.Get(c.s.row)
}

// Put returns the value for the key and window at hand, the zero value if there was none.
func (c *Cell[T]) Put() *T {
	row := c.s.make()
	v, fresh := c.col.Put(row)
	if fresh {
		c.s.count(row, 1)
	}
	return v
}

// Clear takes out the value for the key and window at hand.
func (c *Cell[T]) Clear() {
	if c.s.row != noRow && c.col.Remove(c.s.row) {
		c.s.count(c.s.row, -1)
	}
}

// stateWindows gives numbers to the windows in which there are rows.
type stateWindows struct {
	numbers store.Numbers
	byWin   map[event.Window]uint32
	all     store.Column[stateWindow]
	last    event.Window // the one asked for last, if some
	lastN   uint32
	some    bool
	opened  func(n uint32, w event.Window)
	closed  func(n uint32)
}

type stateWindow struct {
	win   event.Window
	first uint32 // of its rows; there is always one
	n     int
}

// find returns a window's number; ok is false if no row is in it.
func (x *stateWindows) find(w event.Window) (n uint32, ok bool) {
	if x.some && x.last == w {
		return x.lastN, true
	}
	if n, ok = x.byWin[w]; ok {
		x.last, x.lastN, x.some = w, n, true
	}
	return n, ok
}

// number returns a window's number, a new one if there is none.
func (x *stateWindows) number(w event.Window) uint32 {
	if n, ok := x.find(w); ok {
		return n
	}
	n := x.numbers.Take()
	v, _ := x.all.Put(n)
	v.win, v.first = w, noRow
	if x.byWin == nil {
		x.byWin = map[event.Window]uint32{}
	}
	x.byWin[w] = n
	x.opened(n, w)
	return n
}

func (x *stateWindows) at(n uint32) event.Window { return x.all.Get(n).win }

func (x *stateWindows) link(rows *store.Column[stateRow], row uint32, r *stateRow) {
	v := x.all.Get(r.win)
	r.next, r.prev = v.first, noRow
	if v.first != noRow {
		rows.Get(v.first).prev = row
	}
	v.first = row
	v.n++
}

func (x *stateWindows) unlink(rows *store.Column[stateRow], row uint32) {
	r := rows.Get(row)
	v := x.all.Get(r.win)
	if r.prev != noRow {
		rows.Get(r.prev).next = r.next
	} else {
		v.first = r.next
	}
	if r.next != noRow {
		rows.Get(r.next).prev = r.prev
	}
	if v.n--; v.n == 0 {
		x.closed(r.win)
		delete(x.byWin, v.win)
		x.some = false
		x.all.Remove(r.win)
		x.numbers.Give(r.win)
		if len(x.byWin) == 0 {
			x.byWin = nil // maps never shrink
		}
	}
}

// KeyedFailure is the error of a call with state, with the key.
type KeyedFailure struct {
	Key string
	Err error
}

// Error names the key first.
func (f *KeyedFailure) Error() string { return "key " + f.Key + ": " + f.Err.Error() }

// Unwrap returns the cause.
func (f *KeyedFailure) Unwrap() error { return f.Err }

// Fail makes err the failure of the call at hand, with its key.
func (s *State) Fail(e *Elem, err error) {
	e.Fail(s.st, nil, &KeyedFailure{cut(fmt.Sprintf("%v", s.Key())), err})
}
