package progress

import "github.com/levadaflow/levada/event"

// Ledger knows every restriction of one splittable step, wherever it is, and how far each has come. The step's watermark is
// the minimum over those which are not done and not idle.
type Ledger struct {
	entries []entry
	queue   []int // waiting to be run, in order
	open    int   // not done
	low     event.Time
}

type entry struct {
	name string
	mark event.Time
	done bool
	idle bool
}

// NewLedger returns a ledger without restrictions. Until the first is added and again when all are done it stands at Max.
func NewLedger() *Ledger { return &Ledger{low: event.Min} }

// Add puts a restriction at the end of the queue. Nothing that it will emit is before mark. It returns its number.
func (l *Ledger) Add(name string, mark event.Time) int {
	id := len(l.entries)
	l.entries = append(l.entries, entry{name: name, mark: mark})
	l.queue = append(l.queue, id)
	l.open++
	return id
}

// Next takes the first restriction from the queue; ok is false if there is none.
func (l *Ledger) Next() (id int, ok bool) {
	if len(l.queue) == 0 {
		return 0, false
	}
	id = l.queue[0]
	l.queue = l.queue[1:]
	return id, true
}

// Report says how far a restriction has come; a mark below the last one is ignored. idle says that nothing came for long
// and that the others need not wait for it.
func (l *Ledger) Report(id int, mark event.Time, idle bool) {
	e := &l.entries[id]
	e.mark = max(e.mark, mark)
	e.idle = idle
}

// Done says that a restriction has emitted all it will.
func (l *Ledger) Done(id int) {
	if !l.entries[id].done {
		l.entries[id].done = true
		l.open--
	}
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
	if at := l.behind(); at >= 0 {
		l.low = max(l.low, l.entries[at].mark)
	}
	return l.low
}

// Idle reports whether there are open restrictions and all of them are idle.
func (l *Ledger) Idle() bool { return l.open > 0 && l.behind() < 0 }

// Behind names the restriction which holds the watermark back and its mark; ok is false if there is none.
func (l *Ledger) Behind() (name string, mark event.Time, ok bool) {
	at := l.behind()
	if at < 0 {
		return "", 0, false
	}
	return l.entries[at].name, l.entries[at].mark, true
}

func (l *Ledger) behind() int {
	at := -1
	for i := range l.entries {
		e := &l.entries[i]
		if !e.done && !e.idle && (at < 0 || e.mark < l.entries[at].mark) {
			at = i
		}
	}
	return at
}
