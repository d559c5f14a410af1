package exec

import (
	"errors"
	"fmt"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/store"
)

// Failures of setting a timer.
var (
	ErrTimerExpiry = errors.New("the timer is set beyond the window's expiry")
	ErrTimerOutput = errors.New("the timer's output time is not allowed")
	ErrTimerLoop   = errors.New("timers set each other for ever at one time")
)

// maxTimerChain is how many timers may set each other without time going on.
const maxTimerChain = 10_000

// NoOutput is the output time of a timer that holds nothing.
const NoOutput = event.Max + 1

// Timer is a timer to set. It is known by its ID, tag, key and window.
type Timer struct {
	ID         uint8
	Processing bool   // its clock is processing time
	Tag        string // of a timer with several; "" is the one without
	At         event.Time
	Output     event.Time // NoOutput: it holds nothing
}

// Firing is a timer whose time has come.
type Firing struct {
	ID  uint8
	Tag string
	At  event.Time
}

// timers are the timers of a step in one task. A timer is a number: its time is in one of three queues, and its output
// time in holds, unless that is its time.
type timers struct {
	numbers store.Numbers
	all     store.Column[timer]
	tags    store.Column[timerTag]
	tagged  store.Index             // by row, ID and tag
	bare    []*store.Column[uint32] // by ID: the untagged timers of rows
	firstOf store.Column[uint32]    // the first of a row's tagged timers
	events  store.Queue             // by event time, which they also hold
	others  store.Queue             // by event time, held elsewhere or not at all
	clocks  store.Queue             // by processing time
	holds   store.Queue             // by output time
	seq     uint32
	firing  firingTimer // the one whose callback runs, if fires
	fires   bool
}

// timer is what is not in the queues: 8 bytes.
type timer struct {
	row   uint32
	id    uint8
	queue uint8
	chain uint16 // of timers that have set each other without time going on
}

// The queues that a timer can be in.
const (
	inEvents uint8 = iota
	inOthers
	inClocks
)

// timerTag is what a tagged timer has besides: its text and the row's other ones.
type timerTag struct {
	tag        string
	next, prev uint32
}

// firingTimer is a timer that is no longer set: its callback runs.
type firingTimer struct {
	timer
	at event.Time
}

func (t *timers) queue(i uint8) *store.Queue {
	return [...]*store.Queue{inEvents: &t.events, inOthers: &t.others, inClocks: &t.clocks}[i]
}

// hashTimer mixes what a tagged timer is known by.
func hashTimer(row uint32, id uint8, tag string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(tag) {
		h = (h ^ uint64(tag[i])) * 1099511628211
	}
	h ^= uint64(row)<<8 | uint64(id)
	h *= 0x9e3779b97f4a7c15
	return h ^ h>>29
}

// find returns the number of a timer that is set.
func (t *timers) find(row uint32, id uint8, tag string) (n uint32, ok bool) {
	if tag != "" {
		return t.tagged.Find(hashTimer(row, id, tag), func(n uint32) bool {
			x := t.all.Get(n)
			return x.row == row && x.id == id && t.tags.Get(n).tag == tag
		})
	}
	if p := t.bare[id].Get(row); p != nil {
		return *p, true
	}
	return 0, false
}

// set sets a timer of a row; fresh says that it was not set. at is when it fires, and in which queue it stands.
func (t *timers) set(row uint32, x Timer, chain uint16) (fresh bool) {
	n, ok := t.find(row, x.ID, x.Tag)
	if !ok {
		n = t.insert(row, x.ID, x.Tag)
	}
	p := t.all.Get(n)
	queue := inOthers
	switch {
	case x.Processing:
		queue = inClocks
	case x.Output == x.At:
		queue = inEvents
	}
	if ok && p.queue != queue {
		t.queue(p.queue).Remove(n)
	}
	p.queue, p.chain = queue, chain
	t.seq++
	t.queue(queue).Set(n, x.At, t.seq)
	if queue == inEvents || x.Output == NoOutput {
		t.holds.Remove(n)
	} else {
		t.holds.Set(n, x.Output, 0)
	}
	return !ok
}

func (t *timers) insert(row uint32, id uint8, tag string) uint32 {
	n := t.numbers.Take()
	p, _ := t.all.Put(n)
	p.row, p.id = row, id
	if tag == "" {
		at, _ := t.bare[id].Put(row)
		*at = n
		return n
	}
	x, _ := t.tags.Put(n)
	*x = timerTag{tag, noRow, noRow}
	first, fresh := t.firstOf.Put(row)
	if !fresh {
		x.next = *first
		t.tags.Get(*first).prev = n
	}
	*first = n
	t.tagged.Insert(hashTimer(row, id, tag), n)
	return n
}

// clear takes a timer out and reports whether it was set.
func (t *timers) clear(row uint32, id uint8, tag string) bool {
	n, ok := t.find(row, id, tag)
	if ok {
		t.remove(n)
	}
	return ok
}

// remove takes a timer out.
func (t *timers) remove(n uint32) {
	p := *t.all.Get(n)
	t.queue(p.queue).Remove(n)
	t.holds.Remove(n)
	if x := t.tags.Get(n); x != nil {
		t.tagged.Remove(hashTimer(p.row, p.id, x.tag), n)
		t.untie(p.row, *x)
		t.tags.Remove(n)
	} else {
		t.bare[p.id].Remove(p.row)
	}
	t.all.Remove(n)
	t.numbers.Give(n)
}

// untie takes a tagged timer out of its row's list.
func (t *timers) untie(row uint32, x timerTag) {
	switch {
	case x.prev != noRow:
		t.tags.Get(x.prev).next = x.next
	case x.next != noRow:
		*t.firstOf.Get(row) = x.next
	default:
		t.firstOf.Remove(row)
	}
	if x.next != noRow {
		t.tags.Get(x.next).prev = x.prev
	}
}

// removeAll takes out all timers of a row.
func (t *timers) removeAll(row uint32) {
	for _, c := range t.bare {
		if n := c.Get(row); n != nil {
			t.remove(*n)
		}
	}
	for n := t.firstOf.Get(row); n != nil; n = t.firstOf.Get(row) {
		t.remove(*n)
	}
}

// next returns the event-time timer that fires first.
func (t *timers) next() (n uint32, at event.Time, ok bool) {
	if t.others.Before(&t.events) {
		return t.others.First()
	}
	return t.events.First()
}

// hold returns the least output time of the event-time and processing-time timers.
func (t *timers) hold() (at event.Time, ok bool) {
	_, at, ok = t.events.First()
	if _, h, held := t.holds.First(); held && (!ok || h < at) {
		return h, true
	}
	return at, ok
}

// output returns the output time of a timer that is set.
func (t *timers) output(n uint32, at event.Time) event.Time {
	if t.all.Get(n).queue == inEvents {
		return at
	}
	if h, ok := t.holds.At(n); ok {
		return h
	}
	return NoOutput
}

// MaxTimers is how many timers a step can declare.
const MaxTimers = 250

// AddTimer declares a timer and returns its ID. It must be called while the step is bound.
func (s *State) AddTimer() uint8 {
	s.timers.bare = append(s.timers.bare, &store.Column[uint32]{})
	return uint8(len(s.timers.bare) - 1)
}

// SetTimer sets a timer for the key and window at hand, in the place of an earlier setting. explicit says that a user gave the
// output time: it is checked by the rules of beam-semantics 1.7, and may not be before e's time less skew.
func (s *State) SetTimer(e *Elem, x Timer, explicit bool, skew int64) {
	expiry := s.expiry(e.Win[0])
	switch {
	case s.expiring:
		s.Fail(e, fmt.Errorf("%w, in the call at the window's expiry", ErrTimerExpiry))
		return
	case !x.Processing && x.At.Check() != nil:
		s.Fail(e, fmt.Errorf("a timer: %w", x.At.Check()))
		return
	case !x.Processing && x.At > expiry:
		s.Fail(e, fmt.Errorf("%w: it would fire at %v, the window expires at %v", ErrTimerExpiry, x.At, expiry))
		return
	case x.Output == NoOutput:
	case explicit && !x.Processing && x.Output > x.At:
		s.Fail(e, fmt.Errorf("%w: %v is after the time at which it fires, %v", ErrTimerOutput, x.Output, x.At))
		return
	case explicit && x.Processing && x.Output > expiry:
		s.Fail(e, fmt.Errorf("%w: %v is after the window's expiry, %v", ErrTimerOutput, x.Output, expiry))
		return
	case explicit:
		if err := event.CheckMove(e.Time, x.Output, skew); err != nil {
			s.Fail(e, fmt.Errorf("%w: %w", ErrTimerOutput, err))
			return
		}
	}
	chain := uint16(0)
	if s.timers.fires && s.instant(e, x, &s.timers.firing) {
		if chain = s.timers.firing.chain + 1; chain > maxTimerChain {
			s.Fail(e, fmt.Errorf("%w: at %v, %d of them", ErrTimerLoop, x.At, maxTimerChain))
			return
		}
	}
	if row := s.make(); s.timers.set(row, x, chain) {
		s.count(row, 1)
	}
}

// instant reports whether a timer that is set by the callback of another is due at once, and no time has gone by between the two.
func (s *State) instant(e *Elem, x Timer, f *firingTimer) bool {
	if processing := f.queue == inClocks; processing != x.Processing {
		return x.Processing && x.At <= e.Now || !x.Processing && x.At <= s.in
	}
	return x.At <= f.at
}

// ClearTimer takes back a timer's setting for the key and window at hand, if there is one.
func (s *State) ClearTimer(id uint8, tag string) {
	if s.row != noRow && s.timers.clear(s.row, id, tag) {
		s.count(s.row, -1)
	}
}
