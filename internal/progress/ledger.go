package progress

import (
	"slices"

	"github.com/levadaflow/levada/event"
)

// Ledger knows every restriction of one splittable step, wherever it is, and how far each has come. The step's watermark is
// the minimum over those which are not done and not idle.
type Ledger struct {
	entries []entry
	queue   []int // waiting to be run, in order
	active  []int // run, or follow one that does
	waiting Holds // marks of those in the queue that follow nobody
	open    int   // not done
	low     event.Time
}

type entry struct {
	name    string
	mark    event.Time
	follows int  // the restriction before it, whose watermark holds for it too until it has one of its own; -1 if none
	waits   bool // in the queue, and its mark in waiting
	done    bool
	idle    bool
}

// NewLedger returns a ledger without restrictions. Until the first is added and again when all are done it stands at Max.
func NewLedger() *Ledger { return &Ledger{low: event.Min} }

// Add puts a restriction at the end of the queue. Nothing that it will emit is before mark. It returns its number.
func (l *Ledger) Add(name string, mark event.Time) int {
	id := l.add(name, mark, -1)
	l.queue = append(l.queue, id)
	l.entries[id].waits = true
	l.waiting.Add(mark)
	return id
}

// AddRest puts what is left of a restriction, behind the part of it that is run now, at the queue's front. What the part's
// watermark says holds for the rest too, until the rest reports one of its own.
func (l *Ledger) AddRest(name string, part int) int {
	id := l.add(name, l.entries[part].mark, part)
	l.queue = append([]int{id}, l.queue...)
	l.active = append(l.active, id)
	return id
}

func (l *Ledger) add(name string, mark event.Time, follows int) int {
	l.entries = append(l.entries, entry{name: name, mark: mark, follows: follows})
	l.open++
	return len(l.entries) - 1
}

// Next takes the first restriction from the queue; ok is false if there is none.
func (l *Ledger) Next() (id int, ok bool) {
	if len(l.queue) == 0 {
		return 0, false
	}
	id = l.queue[0]
	l.queue = l.queue[1:]
	l.activate(id)
	return id, true
}

// activate counts a restriction by itself from now on.
func (l *Ledger) activate(id int) {
	if e := &l.entries[id]; e.waits {
		e.waits = false
		l.waiting.Remove(e.mark)
		l.active = append(l.active, id)
	}
}

// Report says how far a restriction has come; a mark below the last one is ignored. idle says that nothing came for long
// and that the others need not wait for it.
func (l *Ledger) Report(id int, mark event.Time, idle bool) {
	l.activate(id)
	e := &l.entries[id]
	e.mark, e.follows = max(l.mark(id), mark), -1
	e.idle = idle
}

// Done says that a restriction has emitted all it will.
func (l *Ledger) Done(id int) {
	e := &l.entries[id]
	if e.done {
		return
	}
	l.activate(id)
	e.mark, e.follows, e.done = l.mark(id), -1, true
	l.open--
	if at := slices.Index(l.active, id); at >= 0 {
		l.active = slices.Delete(l.active, at, at+1)
	}
}

// mark returns how far a restriction has come, or the one that it follows.
func (l *Ledger) mark(id int) event.Time {
	low := event.Min
	for id >= 0 {
		e := &l.entries[id]
		low, id = max(low, e.mark), e.follows
	}
	return low
}

// Open returns the number of restrictions that are not done.
func (l *Ledger) Open() int { return l.open }

// Watermark returns the minimum over the restrictions that are neither done nor idle, Max if all are done. It never goes
// back.
func (l *Ledger) Watermark() event.Time {
	if l.open == 0 {
		l.low = event.Max
		return l.low
	}
	if mark, ok := l.behind(); ok {
		l.low = max(l.low, mark)
	}
	return l.low
}

// Idle reports whether there are open restrictions and all of them are idle.
func (l *Ledger) Idle() bool {
	_, ok := l.behind()
	return l.open > 0 && !ok
}

// Behind names the restriction which holds the watermark back and its mark; ok is false if there is none.
func (l *Ledger) Behind() (name string, mark event.Time, ok bool) {
	mark, ok = l.behind()
	if !ok {
		return "", 0, false
	}
	for id := range l.entries {
		if e := &l.entries[id]; !e.done && !e.idle && l.mark(id) == mark {
			return e.name, mark, true
		}
	}
	return "", 0, false
}

// behind returns the least mark.
func (l *Ledger) behind() (low event.Time, ok bool) {
	if low, ok = l.waiting.Min(); !ok {
		low = event.Max
	}
	for _, a := range l.active {
		if !l.entries[a].idle {
			low, ok = min(low, l.mark(a)), true
		}
	}
	return low, ok
}
