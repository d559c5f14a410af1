package exec

import (
	"slices"

	"github.com/levadaflow/levada/coder/plan"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/graph"
	"github.com/levadaflow/levada/internal/store"
)

// Stateful is a step whose calls have state and timers of the element's key and window.
type Stateful[K comparable, V any] struct {
	Keys           *plan.Plan[K]
	Values         *plan.Plan[V]
	Sum            func(event.KV[K, V]) uint64 // tells elements apart, for the invariants
	LatenessMillis int64
	// Bind returns the step's functions for its task. Cells and timers are added to s there.
	Bind func(b *Binder, st *Inst, outs []any, s *State) Calls[K, V]
}

// Calls are the functions of a stateful step. They are called in one window at a time.
type Calls[K comparable, V any] struct {
	Element func(e *Elem, k K, v V)
	Timer   func(e *Elem, k K, f Firing)
	Expire  func(e *Elem, k K) // when a window with state expires; nil for nothing
	Sorted  bool               // elements wait for the watermark and come in the order of their times
	// Strict says that an element whose time plus the allowed lateness is behind the watermark is late although its window is open. It is
	// so, too, if they are sorted.
	Strict bool
}

// Op returns the step: an exchange by key and the state behind it. The last of the step's outputs has the elements that came
// too late.
func (g Stateful[K, V]) Op() *HeadOp {
	g.Sum = SumOf(g.Sum)
	keyed := Group[K, V, struct{}, struct{}]{Keys: g.Keys, Sum: g.Sum}
	return &HeadOp{
		Writer: func(b *Binder, head *graph.Step, out Output) (any, Flusher) {
			w := newKeyedWriter(&keyed, b, head, out)
			return newPair(w.push), w
		},
		Reader: func(b *Binder, st *Inst, outs []any) Reader { return newStateful(&g, b, st, outs) },
	}
}

// stateful is such a step in one task.
//
// What is due happens in the order of due times, after each element and each move of the watermark or the clock: timers
// before elements that have waited for the same time, and a window's expiry after both.
type stateful[K comparable, V any] struct {
	g       *Stateful[K, V]
	s       *State
	calls   Calls[K, V]
	late    Sink2[K, V]
	dropped *Late
	keys    store.Column[K]
	rows    store.Index
	expiry  store.Queue // windows, by the first watermark after their expiry
	ends    store.Queue // windows, by their last instant, which an expiration callback holds
	waiting Cell[[]waiting[V]]
	ripe    store.Queue // rows with waiting elements, by the watermark that lets out the first
	first   store.Queue // the same rows, by the first waiting element's time
	key     K           // of the call at hand
	hash    uint64      // of it
	one     [1]event.Window
	at      *keyedBatch[K, V]
	i       int // the element of it at hand
	_       Apart
}

// waiting is an element of a sorted step that the watermark has not passed.
type waiting[V any] struct {
	at   event.Time
	pane event.Pane
	v    V
}

func newStateful[K comparable, V any](g *Stateful[K, V], b *Binder, st *Inst, outs []any) *stateful[K, V] {
	t := &stateful[K, V]{g: g, s: newState(st, g.LatenessMillis), dropped: b.Late(st, DroppedLate)}
	t.late = outs[len(outs)-1].(Sink2[K, V])
	t.waiting.s = t.s
	t.s.columns = append(t.s.columns, &t.waiting.col)
	t.calls = g.Bind(b, st, outs, t.s)
	t.calls.Strict = t.calls.Strict || t.calls.Sorted
	t.s.key = func() any { return t.key }
	t.s.open = func() uint32 { return t.open(b.Elem.Win[0]) }
	t.s.wins.opened = func(n uint32, w event.Window) {
		t.expiry.Set(n, t.s.expiry(w)+1, n)
		if t.calls.Expire != nil {
			t.ends.Set(n, w.Last(), 0)
		}
	}
	t.s.wins.closed = func(n uint32) {
		t.expiry.Remove(n)
		t.ends.Remove(n)
	}
	st.Hold = t.hold
	return t
}

func (t *stateful[K, V]) hold() (kind string, at event.Time, ok bool) {
	if at, ok = t.s.timers.hold(); ok {
		kind = "timer"
	}
	if _, end, is := t.ends.First(); is && (!ok || end < at) {
		kind, at, ok = "timer", end, true
	}
	if _, first, is := t.first.First(); is && (!ok || first < at) {
		kind, at, ok = "element", first, true
	}
	return kind, at, ok
}

// Batch implements [Reader].
func (t *stateful[K, V]) Batch(e *Elem, p Payload, from, to int) {
	b := p.(*keyedBatch[K, V])
	t.at = b
	for i := from; i < to && e.Err == nil && !e.stopped(); i++ {
		t.i = i
		e.Enter(t.s.st)
		b.check(t.s.st, t.g.Sum, i)
		b.load(e, i)
		t.element(e, b.keys[i], b.Vals[i], b.hash[i])
	}
	t.at = nil
}

// Direct implements [Reader].
func (t *stateful[K, V]) Direct() any {
	return newPair(func(e *Elem, k K, v V) { t.element(e, k, v, t.g.Keys.Hash(k)) })
}

// Current implements [Reader]: the element, or the key whose timer fires.
func (t *stateful[K, V]) Current() any {
	switch {
	case t.at != nil && t.i < t.at.Len():
		return t.at.kv(t.i)
	case t.s.called:
		return t.s.Key()
	}
	return nil
}

// element takes an element into each of its windows.
func (t *stateful[K, V]) element(e *Elem, k K, v V, hash uint64) {
	wins, at, info := e.Win, e.Time, e.Pane
	for i, w := range wins {
		if e.Err != nil {
			break
		}
		e.Win = wins[i : i+1 : i+1]
		switch {
		case t.s.expiry(w) < t.s.in, t.calls.Strict && at.Plus(t.g.LatenessMillis) < t.s.in:
			t.dropped.Note(e, at, t.s.in)
			t.late(e, k, v)
		default:
			t.begin(k, hash, t.row(k, w, hash))
			if t.calls.Sorted {
				t.wait(e, v)
			} else {
				t.calls.Element(e, k, v)
			}
			t.end()
		}
		if t.due(e) != nothingDue {
			t.sweep(e)
		}
		e.Time, e.Pane = at, info
	}
	e.Win = wins
}

// mixed is the hash of a key and a window.
func mixed(hash uint64, win uint32) uint64 {
	h := (hash ^ uint64(win)*0x9e3779b97f4a7c15) * 0xd6e8feb86659fd93
	return h ^ h>>32
}

// row returns the row of a key and window, noRow if there is none.
func (t *stateful[K, V]) row(k K, w event.Window, hash uint64) uint32 {
	win, ok := t.s.wins.find(w)
	if !ok {
		return noRow
	}
	row, ok := t.rows.Find(mixed(hash, win), func(n uint32) bool {
		return t.s.rows.Get(n).win == win && *t.keys.Get(n) == k
	})
	if !ok {
		return noRow
	}
	return row
}

// begin begins a call with the state of a row, or of none yet.
func (t *stateful[K, V]) begin(k K, hash uint64, row uint32) {
	t.key, t.hash = k, hash
	t.s.row, t.s.called = row, true
}

// end ends a call. A row that has become empty goes.
func (t *stateful[K, V]) end() {
	s := t.s
	if s.row != noRow && s.rows.Get(s.row).n == 0 {
		t.drop(s.row, t.hash)
	}
	s.row, s.called = noRow, false
	var zero K
	t.key = zero
}

// open makes the row of the call at hand.
func (t *stateful[K, V]) open(w event.Window) uint32 {
	row := t.s.add(w)
	key, _ := t.keys.Put(row)
	*key = t.g.Keys.Clone(t.key)
	t.rows.Insert(mixed(t.hash, t.s.rows.Get(row).win), row)
	return row
}

// drop takes out a row with all that is in it.
func (t *stateful[K, V]) drop(row uint32, hash uint64) {
	t.rows.Remove(mixed(hash, t.s.rows.Get(row).win), row)
	t.ripe.Remove(row)
	t.first.Remove(row)
	t.keys.Remove(row)
	t.s.drop(row)
}

// wait keeps an element until the watermark has passed it.
func (t *stateful[K, V]) wait(e *Elem, v V) {
	all := t.waiting.Put()
	i, _ := slices.BinarySearchFunc(*all, e.Time, func(x waiting[V], at event.Time) int {
		if x.at <= at {
			return -1
		}
		return 1
	})
	*all = slices.Insert(*all, i, waiting[V]{e.Time, e.Pane, t.g.Values.Clone(v)})
	t.ripen(t.s.row, *all, e.Win[0])
}

// ripen puts a row where its first waiting element belongs. Elements that are late by no more than the allowed lateness may still
// come, so it waits for that long, or for the window's expiry.
func (t *stateful[K, V]) ripen(row uint32, all []waiting[V], w event.Window) {
	t.s.timers.seq++
	t.ripe.Set(row, min(all[0].at.Plus(t.g.LatenessMillis), t.s.expiry(w)), t.s.timers.seq)
	t.first.Set(row, all[0].at, 0)
}

// What can be due.
const (
	nothingDue = iota
	timerDue
	elementDue
	expiryDue
	clockDue
)

// due returns what happens next.
func (t *stateful[K, V]) due(e *Elem) int {
	what, first := nothingDue, t.s.in
	if _, at, ok := t.expiry.First(); ok && at <= first {
		what, first = expiryDue, at
	}
	if _, at, ok := t.ripe.First(); ok && at <= first {
		what, first = elementDue, at
	}
	if _, at, ok := t.s.timers.next(); ok && at <= first {
		what = timerDue
	}
	if what == nothingDue {
		if _, at, ok := t.s.timers.clocks.First(); ok && at <= e.Now {
			return clockDue
		}
	}
	return what
}

// sweep does what is due.
func (t *stateful[K, V]) sweep(e *Elem) {
	wins := e.Win
	e.Win = t.one[:]
	for e.Err == nil && !e.stopped() {
		what := t.due(e)
		switch what {
		case timerDue:
			n, at, _ := t.s.timers.next()
			t.fire(e, n, at)
		case clockDue:
			n, at, _ := t.s.timers.clocks.First()
			t.fire(e, n, at)
		case elementDue:
			row, _, _ := t.ripe.First()
			t.release(e, row)
		case expiryDue:
			win, _, _ := t.expiry.First()
			t.expire(e, win)
		}
		if what == nothingDue {
			break
		}
	}
	e.Win = wins
}

// resume begins a call for a row that is there.
func (t *stateful[K, V]) resume(row uint32) K {
	k := *t.keys.Get(row)
	t.begin(k, t.g.Keys.Hash(k), row)
	t.one[0] = t.s.wins.at(t.s.rows.Get(row).win)
	return k
}

// fire calls a timer's function.
func (t *stateful[K, V]) fire(e *Elem, n uint32, at event.Time) {
	x := &t.s.timers
	x.firing, x.fires = firingTimer{*x.all.Get(n), at}, true
	firing, row := Firing{ID: x.firing.id, At: at}, x.firing.row
	if tag := x.tags.Get(n); tag != nil {
		firing.Tag = tag.tag
	}
	e.Time, e.Pane = x.output(n, at), event.NoPane
	k := t.resume(row)
	x.remove(n)
	t.s.count(row, -1)
	t.calls.Timer(e, k, firing)
	x.fires = false
	t.end()
}

// release hands out the first waiting element of a row.
func (t *stateful[K, V]) release(e *Elem, row uint32) {
	k := t.resume(row)
	all := t.waiting.Get()
	x := (*all)[0]
	(*all)[0] = waiting[V]{}
	if *all = (*all)[1:]; len(*all) == 0 {
		t.ripe.Remove(row)
		t.first.Remove(row)
		t.waiting.Clear()
	} else {
		t.ripen(row, *all, t.one[0])
	}
	e.Time, e.Pane = x.at, x.pane
	t.calls.Element(e, k, x.v)
	t.end()
}

// expire ends a window: its rows see it for the last time.
func (t *stateful[K, V]) expire(e *Elem, win uint32) {
	for v := t.s.wins.all.Get(win); v != nil && e.Err == nil && !e.stopped(); v = t.s.wins.all.Get(win) {
		row := v.first
		k := t.resume(row)
		if t.calls.Expire != nil {
			e.Time, e.Pane = t.one[0].Last(), event.NoPane
			t.s.expiring = true
			t.calls.Expire(e, k)
			t.s.expiring = false
		}
		t.drop(row, t.hash)
		t.s.row = noRow
		t.end()
	}
}

// Advance implements [Reader].
func (t *stateful[K, V]) Advance(e *Elem, in event.Time) {
	t.s.in = in
	t.sweep(e)
}

// Alarm implements [Reader].
func (t *stateful[K, V]) Alarm() (event.Time, bool) {
	_, at, ok := t.s.timers.clocks.First()
	return at, ok
}

// Clock implements [Reader].
func (t *stateful[K, V]) Clock(e *Elem) { t.sweep(e) }
