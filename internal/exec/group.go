package exec

import (
	"github.com/levadaflow/levada/coder/plan"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/invariants"
	"github.com/levadaflow/levada/internal/pane"
	"github.com/levadaflow/levada/internal/progress"
)

// Group says how values V of keys K are collected in accumulators A and what a pane shows of them, R.
type Group[K comparable, V, A, R any] struct {
	Keys   *plan.Plan[K]
	Sum    func(event.KV[K, V]) uint64 // tells elements apart, for the invariants
	Zero   func() A
	Add    func(acc *A, v V) // keeps nothing of v that it has not cloned
	Merge  func(acc *A, other A)
	Result func(acc A) R
	Panes  pane.Strategy
}

// Op returns the step: an exchange by key and a table behind it. Output 0 has the panes, output 1 the elements that came too
// late.
func (g Group[K, V, A, R]) Op() *HeadOp {
	g.Sum = SumOf(g.Sum)
	return &HeadOp{
		Writer: func(_ *Binder, out Output) (any, Flusher) {
			n := out.Receivers()
			w := &writer[event.KV[K, V]]{out: out, open: make([]*Batch[event.KV[K, V]], n), keyed: true, sum: g.Sum}
			w.route = func(_ *Elem, kv event.KV[K, V]) (int, uint64) {
				h := g.Keys.Hash(kv.Key)
				return plan.KeyGroup(h) * n / plan.KeyGroups, h
			}
			return Sink[event.KV[K, V]](w.push), w
		},
		Reader: func(b *Binder, st *Inst, outs []any) Reader {
			t := &table[K, V, A, R]{
				g: &g, st: st, in: event.Min, keys: map[K]*keyed[K, A]{},
				out: outs[0].(Sink[event.KV[K, R]]), late: outs[1].(Sink[event.KV[K, V]]),
				droppedLate: b.Counter(st, DroppedLate),
			}
			st.Hold = t.hold
			return t
		},
	}
}

// The engine's own counters.
const (
	DroppedLate = "dropped_late" // pairs of element and window that came after the window's expiry
	EmittedLate = "emitted_late" // elements that left a step below its output watermark
	NoWindow    = "no_window"    // elements that are in no window
)

// table is a grouping in one task: what is open, by key. It serves every kind of windows and trigger.
type table[K comparable, V, A, R any] struct {
	g           *Group[K, V, A, R]
	st          *Inst
	out         Sink[event.KV[K, R]]
	late        Sink[event.KV[K, V]]
	in          event.Time
	keys        map[K]*keyed[K, A]
	due         dueQueue[K, A]
	holds       progress.Holds
	droppedLate *Counter
	spans       []event.Window // scratch
	hits        []int
	one         [1]event.Window // the window of the pane that is emitted
	at          cursor[event.KV[K, V]]
	firing      *open[K, A] // whose time has come
}

// keyed is a key with its open windows.
type keyed[K comparable, A any] struct {
	key  K
	wins []*open[K, A]
}

// open is one window of one key.
type open[K comparable, A any] struct {
	pane.State
	acc    A
	key    *keyed[K, A]
	due    event.Time // where it stands in the queue
	held   event.Time // what it has in holds, if isHeld
	isHeld bool
	gone   bool
}

func (t *table[K, V, A, R]) hold() (string, event.Time, bool) {
	at, ok := t.holds.Min()
	return "pane", at, ok
}

// Batch implements [Reader].
func (t *table[K, V, A, R]) Batch(e *Elem, p Payload, from, to int) {
	b := p.(*Batch[event.KV[K, V]])
	t.at.b = b
	for i := from; i < to && e.Err == nil; i++ {
		if e.Run.Stopped() {
			e.Err = ErrStopped
			break
		}
		t.at.i = i
		e.Enter(t.st)
		b.check(t.st, t.g.Sum, i)
		b.load(e, i)
		t.element(e, b.Vals[i])
	}
	t.at.b = nil
}

// Current implements [Reader]: the element, or the key of the window that is firing.
func (t *table[K, V, A, R]) Current() any {
	if v := t.at.current(); v != nil || t.firing == nil {
		return v
	}
	return t.firing.key.key
}

// element takes an element into each of its windows.
func (t *table[K, V, A, R]) element(e *Elem, kv event.KV[K, V]) {
	wins, at, info := e.Win, e.Time, e.Pane
	for i, w := range wins {
		if e.Err != nil {
			return
		}
		e.Win = wins[i : i+1 : i+1]
		if t.g.Panes.Expired(w, t.in) {
			t.droppedLate.Inc(1)
			t.late(e, kv)
			continue
		}
		o := t.window(kv, w)
		e.Enter(t.st)
		t.g.Add(&o.acc, kv.Value)
		t.apply(e, o, t.g.Panes.Element(&o.State, at, t.in))
		e.Time, e.Pane = at, info
	}
}

// window returns the key's window that an element of w belongs to, after merging.
func (t *table[K, V, A, R]) window(kv event.KV[K, V], w event.Window) *open[K, A] {
	k := t.keys[kv.Key]
	if k == nil {
		k = &keyed[K, A]{key: t.g.Keys.Clone(kv.Key)}
		t.keys[k.key] = k
	}
	if t.g.Panes.Merging {
		return t.merging(k, w)
	}
	for _, o := range k.wins {
		if o.Window == w {
			return o
		}
	}
	return t.open(k, pane.State{Window: w})
}

func (t *table[K, V, A, R]) open(k *keyed[K, A], s pane.State) *open[K, A] {
	o := &open[K, A]{State: s, acc: t.g.Zero(), key: k, due: event.Min}
	k.wins = append(k.wins, o)
	return o
}

// merging returns the key's window that contains w, made of all that intersect it.
func (t *table[K, V, A, R]) merging(k *keyed[K, A], w event.Window) *open[K, A] {
	t.spans = t.spans[:0]
	for _, o := range k.wins {
		t.spans = append(t.spans, o.Window)
	}
	var span event.Window
	span, t.hits = pane.Span(t.hits[:0], t.spans, w)
	if len(t.hits) == 1 && k.wins[t.hits[0]].Window == span {
		return k.wins[t.hits[0]]
	}
	if len(t.hits) == 0 {
		return t.open(k, pane.State{Window: w})
	}
	olds := make([]*open[K, A], len(t.hits))
	states := make([]*pane.State, len(t.hits))
	for i, h := range t.hits {
		olds[i], states[i] = k.wins[h], &k.wins[h].State
	}
	merged := t.open(k, t.g.Panes.Merge(span, states, t.in))
	merged.acc = olds[0].acc
	for _, o := range olds[1:] {
		t.g.Merge(&merged.acc, o.acc)
	}
	for _, o := range olds {
		t.remove(o)
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
			delete(t.keys, o.key.key)
		}
		return
	}
	if f.Clear {
		o.acc = t.g.Zero()
	}
	t.setHold(o, &o.State)
	if due := t.g.Panes.Due(&o.State); due != o.due {
		o.due = due
		t.due.push(o)
	}
}

func (t *table[K, V, A, R]) setHold(o *open[K, A], s *pane.State) {
	at, ok := s.Hold()
	if ok == o.isHeld && (!ok || at == o.held) {
		return
	}
	if o.isHeld {
		there := t.holds.Remove(o.held)
		invariants.Check(there, "%s removes a hold at %v twice", t.st.Step.Name, o.held)
	}
	if ok {
		t.holds.Add(at)
	}
	o.held, o.isHeld = at, ok
}

func (t *table[K, V, A, R]) remove(o *open[K, A]) {
	t.setHold(o, &pane.State{})
	o.gone = true
	for i, x := range o.key.wins {
		if x == o {
			last := len(o.key.wins) - 1
			o.key.wins[i] = o.key.wins[last]
			o.key.wins[last] = nil
			o.key.wins = o.key.wins[:last]
			return
		}
	}
}

func (t *table[K, V, A, R]) emit(e *Elem, o *open[K, A], f pane.Effect) {
	e.Time, e.Pane = f.Time, f.Pane
	t.one[0] = o.Window
	wins := e.Win
	e.Win = t.one[:]
	e.Enter(t.st)
	t.out(e, event.KV[K, R]{Key: o.key.key, Value: t.g.Result(o.acc)})
	e.Win = wins
}

// Advance implements [Reader]: fires what is due, in the order of due times.
func (t *table[K, V, A, R]) Advance(e *Elem, in event.Time) {
	t.in = in
	for e.Err == nil {
		o := t.due.pop(in)
		if o == nil {
			return
		}
		if e.Run.Stopped() {
			e.Err = ErrStopped
			return
		}
		t.firing = o
		t.apply(e, o, t.g.Panes.Watermark(&o.State, in))
	}
}

// dueQueue is a heap of windows by the watermark at which something happens to them. Entries whose window is gone or is due
// at another time are skipped.
type dueQueue[K comparable, A any] struct {
	heap []dueEntry[K, A]
	seq  uint64
}

type dueEntry[K comparable, A any] struct {
	at  event.Time
	seq uint64
	o   *open[K, A]
}

func (a dueEntry[K, A]) before(b dueEntry[K, A]) bool {
	return a.at < b.at || a.at == b.at && a.seq < b.seq
}

func (q *dueQueue[K, A]) push(o *open[K, A]) {
	q.seq++
	h := append(q.heap, dueEntry[K, A]{o.due, q.seq, o})
	i := len(h) - 1
	for i > 0 && h[i].before(h[(i-1)/2]) {
		h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
		i = (i - 1) / 2
	}
	q.heap = h
}

// pop returns the next window that is due at in, nil if there is none.
func (q *dueQueue[K, A]) pop(in event.Time) *open[K, A] {
	for len(q.heap) > 0 && q.heap[0].at <= in {
		top := q.heap[0]
		q.dropFirst()
		if !top.o.gone && top.o.due == top.at {
			return top.o
		}
	}
	return nil
}

func (q *dueQueue[K, A]) dropFirst() {
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	q.heap[last] = dueEntry[K, A]{}
	q.heap = q.heap[:last]
	for i := 0; ; {
		least := i
		for _, c := range [2]int{2*i + 1, 2*i + 2} {
			if c < last && q.heap[c].before(q.heap[least]) {
				least = c
			}
		}
		if least == i {
			return
		}
		q.heap[i], q.heap[least] = q.heap[least], q.heap[i]
		i = least
	}
}
