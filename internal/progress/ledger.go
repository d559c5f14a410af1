package progress

import (
	"slices"

	"github.com/levadaflow/levada/event"
)

// Ledger knows every restriction of one splittable step, wherever it is, and how far each has come. The step's watermark is
// the minimum over those which are not done and not idle.
type Ledger struct {
	entries []entry
	free    []int // entries of restrictions that are done
	queue   []int // waiting to be run, in order
	active  []int // run, or follow one that does
	waiting Holds // marks of those that wait, follow nobody and are not idle
	open    int   // not done
	low     event.Time
}

type entry struct {
	name    string
	mark    event.Time
	follows int  // the restriction before it, whose watermark holds for it too until it has one of its own; -1 if none
	behind  int  // how many follow it
	waits   bool // in the queue or parked, and its mark in waiting unless it is idle
	done    bool
	idle    bool
}

// NewLedger returns a ledger without restrictions. Until the first is added and again when all are done it stands at Max.
func NewLedger() *Ledger { return &Ledger{low: event.Min} }

// Add puts a restriction at the end of the queue. Nothing that it will emit is before mark. It returns its number.
func (l *Ledger) Add(name string, mark event.Time) int {
	id := l.add(name, mark, -1)
	l.queue = append(l.queue, id)
	l.wait(id)
	return id
}

// wait counts a restriction among those that are not run.
func (l *Ledger) wait(id int) {
	e := &l.entries[id]
	if at := slices.Index(l.active, id); at >= 0 {
		l.active = slices.Delete(l.active, at, at+1)
	}
	if e.waits = true; !e.idle {
		l.waiting.Add(e.mark)
	}
}

// Park takes a restriction out of the hands of who runs it: nobody runs it until it is requeued. What it last reported counts.
func (l *Ledger) Park(id int) {
	l.follow(id, l.mark(id), -1)
	l.wait(id)
}

// Requeue puts a restriction that is parked, or is being run, at the end of the queue.
func (l *Ledger) Requeue(id int) {
	if !l.entries[id].waits {
		l.Park(id)
	}
	l.queue = append(l.queue, id)
}

// AddRest puts what is left of a restriction, behind the part of it that is run now, at the queue's front. What the part's
// watermark says holds for the rest too, until the rest reports one of its own.
func (l *Ledger) AddRest(name string, part int) int {
	id := l.add(name, l.entries[part].mark, part)
	l.entries[part].behind++
	l.queue = append([]int{id}, l.queue...)
	l.active = append(l.active, id)
	return id
}

func (l *Ledger) add(name string, mark event.Time, follows int) int {
	l.open++
	e := entry{name: name, mark: mark, follows: follows}
	if n := len(l.free); n > 0 {
		id := l.free[n-1]
		l.free = l.free[:n-1]
		l.entries[id] = e
		return id
	}
	l.entries = append(l.entries, e)
	return len(l.entries) - 1
}

// follow sets a restriction's mark, and whom it follows.
func (l *Ledger) follow(id int, mark event.Time, follows int) {
	e := &l.entries[id]
	before := e.follows
	e.mark, e.follows = mark, follows
	if before >= 0 && follows < 0 {
		l.entries[before].behind--
		l.release(before)
	}
}

// release gives back the entry of a restriction that is done and that nobody follows.
func (l *Ledger) release(id int) {
	if e := &l.entries[id]; e.done && e.behind == 0 {
		l.follow(id, e.mark, -1)
		l.free = append(l.free, id)
	}
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

// Drop says that a restriction that waits in the queue will not be run.
func (l *Ledger) Drop(id int) {
	if at := slices.Index(l.queue, id); at >= 0 {
		l.queue = slices.Delete(l.queue, at, at+1)
	}
	l.Done(id)
}

// Queued returns the number of restrictions in the queue.
func (l *Ledger) Queued() int { return len(l.queue) }

// activate counts a restriction by itself from now on.
func (l *Ledger) activate(id int) {
	if e := &l.entries[id]; e.waits {
		if e.waits = false; !e.idle {
			l.waiting.Remove(e.mark)
		}
		l.active = append(l.active, id)
	}
}

// Report says how far a restriction has come; a mark below the last one is ignored. idle says that nothing came for long
// and that the others need not wait for it.
func (l *Ledger) Report(id int, mark event.Time, idle bool) {
	l.activate(id)
	l.follow(id, max(l.mark(id), mark), -1)
	l.entries[id].idle = idle
}

// Done says that a restriction has emitted all it will. Its number may be given to another.
func (l *Ledger) Done(id int) {
	if l.entries[id].done {
		return
	}
	l.activate(id)
	l.follow(id, l.mark(id), -1)
	l.entries[id].done = true
	l.open--
	if at := slices.Index(l.active, id); at >= 0 {
		l.active = slices.Delete(l.active, at, at+1)
	}
	l.release(id)
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
// back, but from Max when one is added.
func (l *Ledger) Watermark() event.Time {
	if l.open == 0 {
		return event.Max
	}
	if mark, ok := l.Low(); ok {
		l.low = max(l.low, mark)
	}
	return l.low
}

// Idle reports whether there are open restrictions and all of them are idle.
func (l *Ledger) Idle() bool {
	_, ok := l.Low()
	return l.open > 0 && !ok
}

// Behind names the restriction which holds the watermark back and its mark; ok is false if there is none.
func (l *Ledger) Behind() (name string, mark event.Time, ok bool) {
	mark, ok = l.Low()
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

// Low returns the minimum over the restrictions that are neither done nor idle now; ok is false if there is none.
func (l *Ledger) Low() (low event.Time, ok bool) {
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
