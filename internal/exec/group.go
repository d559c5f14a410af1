package exec

import (
	"slices"
	"strings"

	"github.com/levadaflow/levada/coder/plan"
	"github.com/levadaflow/levada/combine"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/graph"
	"github.com/levadaflow/levada/internal/invariants"
	"github.com/levadaflow/levada/internal/pane"
	"github.com/levadaflow/levada/internal/progress"
	"github.com/levadaflow/levada/internal/store"
	"github.com/levadaflow/levada/window"
)

// Group says how values V of keys K are collected in accumulators A and what a pane shows of them, R.
type Group[K comparable, V, A, R any] struct {
	Keys     *plan.Plan[K]
	Values   *plan.Plan[V]
	Sum      func(event.KV[K, V]) uint64 // tells elements apart, for the invariants
	Fn       combine.Fn[V, A, R]         // keeps nothing of a value that it has not cloned
	Combines bool                        // accumulators are small: it pays to combine before the exchange
	Panes    pane.Strategy
	Lazy     Grid          // the windows, if they follow from the time alone; else nil
	Disjoint bool          // no element is in two windows: see [Disjoint]
	Merger   window.Merger // of merging windows; nil if those merge that intersect
}

// Op returns the step: an exchange by key and a table behind it. Output 0 has the panes, output 1 the elements that came too
// late.
func (g Group[K, V, A, R]) Op() *HeadOp {
	g.Sum = SumOf(g.Sum)
	op := &HeadOp{
		Remote: g.remote(),
		Writer: func(b *Binder, head *graph.Step, out Output) (any, Flusher) {
			w := newKeyedWriter(&g, b, head, out)
			return newPair(w.push), w
		},
		Reader: func(b *Binder, st *Inst, outs []any) Reader {
			switch {
			case g.sliced(b) && b.lazy(st.Step) != nil:
				return newSliding(&g, b, st, outs)
			case g.fast(b):
				return newFast(&g, b, st, outs)
			case g.aligned(b):
				return newAligned(&g, b, st, outs)
			}
			return newTable(&g, b, st, outs)
		},
	}
	if g.lazily() {
		op.Lazy = g.Lazy
	}
	return op
}

// cloner returns what makes a key independent of the memory that it came in. Strings share chunks of memory with each other.
func (g *Group[K, V, A, R]) cloner() func(K) K {
	if g.Keys.Fixed() {
		return func(k K) K { return k }
	}
	arena := &textArena{}
	if clone, ok := any(arena.clone).(func(K) K); ok {
		return clone
	}
	return g.Keys.Clone
}

// textArena copies strings into chunks, so that they cost one allocation a chunk. A chunk lives as long as any of its strings.
type textArena struct{ chunk *strings.Builder }

const arenaChunk = 16 << 10

func (a *textArena) clone(s string) string {
	if len(s) > arenaChunk/4 {
		return strings.Clone(s)
	}
	if a.chunk == nil || a.chunk.Len()+len(s) > a.chunk.Cap() {
		a.chunk = &strings.Builder{}
		a.chunk.Grow(arenaChunk)
	}
	from := a.chunk.Len()
	a.chunk.WriteString(s)
	return a.chunk.String()[from:]
}

// The engine's own counters.
const (
	DroppedLate   = "dropped_late"   // pairs of element and window that came after the window's expiry
	DroppedClosed = "dropped_closed" // pairs that came after the window's trigger had finished
	EmittedLate   = "emitted_late"   // elements that left a step below its output watermark
	NoWindow      = "no_window"      // elements that are in no window
)

// table is a grouping in one task: what is open, by key. It serves every kind of windows and trigger.
type table[K comparable, V, A, R any] struct {
	g             *Group[K, V, A, R]
	st            *Inst
	out           Sink2[K, R]
	late          Sink2[K, V]
	in            event.Time
	index         store.Index
	keys          []*keyed[K, A] // by number
	numbers       store.Numbers
	freeKeys      []*keyed[K, A] // to be used again
	freeWins      []*open[K, A]
	due           dueQueue[*open[K, A]] // by the watermark: when their end or expiry comes
	alarms        dueQueue[*open[K, A]] // by the clock: when their trigger has waited long enough
	byDue         bool                  // a window holds at its last instant until it is gone: what is due first says it
	holds         progress.Holds        // unless byDue
	droppedLate   *Late
	droppedClosed *Counter
	one           [1]event.Window // the window of the pane that is emitted
	at            *keyedBatch[K, V]
	i             int         // the element of it at hand
	firing        *open[K, A] // whose time has come
	merges        merges      // of a window.Merger
	_             Apart
}

// keyed is a key with its open windows.
type keyed[K comparable, A any] struct {
	key  K
	hash uint64
	n    uint32
	wins []*open[K, A] // of merging windows in order: by label and start, or as a window.Merger sees them
}

// open is one window of one key.
type open[K comparable, A any] struct {
	pane.State
	acc    A
	key    *keyed[K, A]
	due    place
	alarm  place
	held   event.Time // what it has in holds, if isHeld
	isHeld bool
	gone   bool
}

// at returns a place of the window, nil if it is gone.
func (o *open[K, A]) at(p *place) *place {
	if o.gone {
		return nil
	}
	return p
}

func (t *table[K, V, A, R]) hold() (string, event.Time, bool) {
	if t.byDue {
		due, ok := t.due.next()
		return "pane", due - 1, ok
	}
	at, ok := t.holds.Min()
	return "pane", at, ok
}

func newTable[K comparable, V, A, R any](g *Group[K, V, A, R], b *Binder, st *Inst, outs []any) *table[K, V, A, R] {
	t := &table[K, V, A, R]{
		g: g, st: st, in: event.Min,
		out: outs[0].(Sink2[K, R]), late: outs[1].(Sink2[K, V]),
		droppedLate: b.Late(st, DroppedLate), droppedClosed: b.Counter(st, DroppedClosed),
	}
	t.due = dueQueue[*open[K, A]]{func(o *open[K, A]) *place { return o.at(&o.due) }, &store.Heap[*open[K, A]]{}}
	t.alarms = dueQueue[*open[K, A]]{func(o *open[K, A]) *place { return o.at(&o.alarm) }, &store.Heap[*open[K, A]]{}}
	t.byDue = g.Panes.Time == pane.EndOfWindow && g.Panes.LatenessMillis == 0 && g.Panes.Default()
	st.Hold = t.hold
	return t
}

// Batch implements [Reader].
func (t *table[K, V, A, R]) Batch(e *Elem, p Payload, from, to int) {
	b := p.(*keyedBatch[K, V])
	t.at = b
	for i := from; i < to && e.Err == nil && !e.stopped(); i++ {
		t.i = i
		e.Enter(t.st)
		b.check(t.st, t.g.Sum, i)
		b.load(e, i)
		t.element(e, b.hash[i], b.keys[i], b.Vals[i])
	}
	t.at = nil
}

// Direct implements [Reader].
func (t *table[K, V, A, R]) Direct() any {
	return newPair(func(e *Elem, k K, v V) { t.element(e, t.g.Keys.Hash(k), k, v) })
}

// Current implements [Reader]: the element, or the key of the window that is firing.
func (t *table[K, V, A, R]) Current() any {
	switch {
	case t.at != nil && t.i < t.at.Len():
		return t.at.kv(t.i)
	case t.firing != nil:
		return t.firing.key.key
	}
	return nil
}

// element takes an element into each of its windows.
func (t *table[K, V, A, R]) element(e *Elem, hash uint64, k K, v V) {
	wins, at, info := e.Win, e.Time, e.Pane
	for i, w := range wins {
		if e.Err != nil {
			break
		}
		e.Win = wins[i : i+1 : i+1]
		if t.g.Panes.Expired(w, t.in) {
			t.droppedLate.Note(e, at, t.in)
			t.late(e, k, v)
			continue
		}
		o, err := t.window(e, t.key(hash, k), w)
		if err != nil {
			e.Fail(t.st, event.KV[K, V]{Key: k, Value: v}, err)
			break
		}
		if o.Closed() {
			t.droppedClosed.Inc(1)
			t.settle(o, e.Now)
			continue
		}
		e.Enter(t.st)
		t.g.Fn.Add(&o.acc, v)
		t.apply(e, o, t.g.Panes.Element(&o.State, at, t.in, e.Now))
		e.Time, e.Pane = at, info
	}
	e.Win = wins
}

// key returns what is known of a key.
func (t *table[K, V, A, R]) key(hash uint64, key K) *keyed[K, A] {
	if n, ok := t.index.Find(hash, func(n uint32) bool { return t.keys[n].key == key }); ok {
		return t.keys[n]
	}
	var k *keyed[K, A]
	if last := len(t.freeKeys) - 1; last >= 0 {
		k = t.freeKeys[last]
		t.freeKeys[last], t.freeKeys = nil, t.freeKeys[:last]
	} else {
		k = new(keyed[K, A])
	}
	k.key, k.hash, k.n = t.g.Keys.Clone(key), hash, t.numbers.Take()
	if int(k.n) == len(t.keys) {
		t.keys = append(t.keys, nil)
	}
	t.keys[k.n] = k
	t.index.Insert(hash, k.n)
	return k
}

// mostFree is how many keys and windows that are gone are kept, so that those to come need no memory of their own.
const mostFree = 16 << 10

// forget takes out a key without windows.
func (t *table[K, V, A, R]) forget(k *keyed[K, A]) {
	t.index.Remove(k.hash, k.n)
	t.keys[k.n] = nil
	if t.numbers.Give(k.n); t.numbers.Len() == 0 {
		t.keys = nil
	}
	if len(t.freeKeys) < mostFree {
		*k = keyed[K, A]{wins: k.wins[:0]}
		t.freeKeys = append(t.freeKeys, k)
	}
}

// recycle keeps the memory of a window that has been removed. What still stands in a queue for it no longer counts, or says what the
// window does that is next in that place.
func (t *table[K, V, A, R]) recycle(o *open[K, A]) {
	if len(t.freeWins) < mostFree {
		*o = open[K, A]{State: o.State.Reset(), gone: true}
		t.freeWins = append(t.freeWins, o)
	}
}

// window returns the key's window that an element of w belongs to, after merging.
func (t *table[K, V, A, R]) window(e *Elem, k *keyed[K, A], w event.Window) (*open[K, A], error) {
	switch {
	case t.g.Panes.Merging && t.g.Merger != nil:
		return t.mergeBy(e, k, w)
	case t.g.Panes.Merging:
		return t.merging(k, w, e.Now), nil
	}
	for _, o := range k.wins {
		if o.Window == w {
			return o, nil
		}
	}
	return t.insert(k, len(k.wins), pane.State{Window: w}), nil
}

// insert makes a new window of the key, at a place among its others.
func (t *table[K, V, A, R]) insert(k *keyed[K, A], at int, s pane.State) *open[K, A] {
	var o *open[K, A]
	if last := len(t.freeWins) - 1; last >= 0 {
		o = t.freeWins[last]
		t.freeWins[last], t.freeWins = nil, t.freeWins[:last]
		o.State, o.gone = s.With(o.State), false
	} else {
		o = &open[K, A]{State: s}
	}
	o.acc, o.key = t.g.Fn.Zero(), k
	k.wins = slices.Insert(k.wins, at, o)
	return o
}

// merging returns the key's window that covers w, made of all that intersect it and have its label.
func (t *table[K, V, A, R]) merging(k *keyed[K, A], w event.Window, now event.Time) *open[K, A] {
	// The key's windows of one label are disjoint and in order, so those that intersect w lie together.
	label := w.Label()
	from, end := 0, len(k.wins)
	for from < end {
		mid := (from + end) / 2
		o := &k.wins[mid].Window
		if l := o.Label(); l == label && o.End <= w.Start || l < label {
			from = mid + 1
		} else {
			end = mid
		}
	}
	to, span := from, w
	for to < len(k.wins) && k.wins[to].Window.Intersects(w) && k.wins[to].Window.Label() == label {
		span = span.Span(k.wins[to].Window)
		to++
	}
	if to == from {
		return t.insert(k, from, pane.State{Window: w})
	}
	if to == from+1 && t.g.Panes.Extend(&k.wins[from].State, span) {
		return k.wins[from]
	}
	olds := slices.Clone(k.wins[from:to])
	for _, o := range olds {
		t.remove(o)
	}
	return t.join(k, from, span, olds, now)
}

// join makes a window out of olds, which have been removed, and puts it at a place among the key's others.
func (t *table[K, V, A, R]) join(k *keyed[K, A], at int, w event.Window, olds []*open[K, A], now event.Time) *open[K, A] {
	states := make([]*pane.State, len(olds))
	for i, o := range olds {
		states[i] = &o.State
	}
	merged := t.insert(k, at, t.g.Panes.Merge(w, states, t.in, now))
	merged.acc = olds[0].acc
	for _, o := range olds[1:] {
		t.g.Fn.Merge(&merged.acc, o.acc)
	}
	for _, o := range olds {
		t.recycle(o)
	}
	return merged
}

// apply does what the pane says and keeps hold and due time of the window true.
func (t *table[K, V, A, R]) apply(e *Elem, o *open[K, A], f pane.Effect) {
	if f.Emit {
		t.emit(e, o, f)
	}
	if f.Close {
		t.remove(o)
		if len(o.key.wins) == 0 {
			t.forget(o.key)
		}
		t.recycle(o)
		return
	}
	if f.Clear {
		o.acc = t.g.Fn.Zero()
	}
	t.settle(o, e.Now)
}

// settle makes the window's hold and its places in the queues what its state says.
func (t *table[K, V, A, R]) settle(o *open[K, A], now event.Time) {
	t.setHold(o, &o.State)
	t.due.set(o, &o.due, t.g.Panes.Due(&o.State), true)
	at, ok := t.g.Panes.Alarm(&o.State, now)
	t.alarms.set(o, &o.alarm, at, ok)
}

func (t *table[K, V, A, R]) setHold(o *open[K, A], s *pane.State) {
	if t.byDue {
		return
	}
	at, ok := s.Hold()
	if ok == o.isHeld && (!ok || at == o.held) {
		return
	}
	moveHold(&t.holds, t.st, o.held, o.isHeld, at, ok)
	o.held, o.isHeld = at, ok
}

// moveHold makes what has held at a time, if at all, hold at another, if at all.
func moveHold(all *progress.Holds, st *Inst, before event.Time, held bool, at event.Time, holds bool) {
	if held {
		there := all.Remove(before)
		invariants.Check(there, "%s removes a hold at %v twice", st.Step.Name, before)
	}
	if holds {
		all.Add(at)
	}
}

func (t *table[K, V, A, R]) remove(o *open[K, A]) {
	t.setHold(o, &pane.State{})
	o.gone = true
	if i := slices.Index(o.key.wins, o); i >= 0 {
		o.key.wins = slices.Delete(o.key.wins, i, i+1)
	}
}

func (t *table[K, V, A, R]) emit(e *Elem, o *open[K, A], f pane.Effect) {
	e.Time, e.Pane = f.Time, f.Pane
	t.one[0] = o.Window
	wins := e.Win
	e.Win = t.one[:]
	e.Enter(t.st)
	t.out(e, o.key.key, t.g.Fn.Result(o.acc))
	e.Win = wins
}

// Advance implements [Reader]: fires what is due, in the order of due times.
func (t *table[K, V, A, R]) Advance(e *Elem, in event.Time) {
	t.in = in
	for e.Err == nil {
		o, ok := t.due.pop(in)
		if !ok {
			t.firing = nil
			t.tidy()
			return
		}
		if e.stopped() {
			return
		}
		t.firing = o
		t.apply(e, o, t.g.Panes.Watermark(&o.State, in, e.Now))
	}
}

// Alarm implements [Reader].
func (t *table[K, V, A, R]) Alarm() (event.Time, bool) { return t.alarms.next() }

// Clock implements [Reader].
func (t *table[K, V, A, R]) Clock(e *Elem) {
	for e.Err == nil && !e.stopped() {
		o, ok := t.alarms.pop(e.Now)
		if !ok {
			t.firing = nil
			return
		}
		t.firing = o
		t.apply(e, o, t.g.Panes.Clock(&o.State, t.in, e.Now))
	}
}

// tidy gives memory back when nothing is open.
func (t *table[K, V, A, R]) tidy() {
	if t.numbers.Len() == 0 {
		t.due.all.Clear()
		t.alarms.all.Clear()
	}
}
