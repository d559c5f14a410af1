package exec

import (
	"github.com/levadaflow/levada/coder/plan"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/graph"
	"github.com/levadaflow/levada/internal/invariants"
)

// Sink2 takes a keyed element as two arguments: a KV is built only where a user's function sees it.
type Sink2[K, V any] func(e *Elem, k K, v V)

// pair takes keyed elements in both forms. It is what a grouping's end of an exchange is.
type pair[K, V any] struct {
	one Sink[event.KV[K, V]]
	two Sink2[K, V]
}

func newPair[K, V any](two Sink2[K, V]) *pair[K, V] {
	return &pair[K, V]{func(e *Elem, kv event.KV[K, V]) { two(e, kv.Key, kv.Value) }, two}
}

func (p *pair[K, V]) single() any { return p.one }

// sinkOf returns s in the form of one argument.
func sinkOf[T any](s any) Sink[T] {
	if x, ok := s.(Sink[T]); ok {
		return x
	}
	return s.(interface{ single() any }).single().(Sink[T])
}

// OutputOf2 is the typed part of an output of keyed elements. Its Join gives a Sink2.
type OutputOf2[K, V any] struct{}

// Join implements [graph.Output].
func (OutputOf2[K, V]) Join(sinks []any) any {
	all := make([]Sink2[K, V], len(sinks))
	for i, s := range sinks {
		if p, ok := s.(*pair[K, V]); ok {
			all[i] = p.two
			continue
		}
		one := sinkOf[event.KV[K, V]](s)
		all[i] = func(e *Elem, k K, v V) { one(e, event.KV[K, V]{Key: k, Value: v}) }
	}
	switch len(all) {
	case 0:
		return Sink2[K, V](func(*Elem, K, V) {})
	case 1:
		return all[0]
	}
	return Sink2[K, V](func(e *Elem, k K, v V) {
		for _, s := range all {
			if s(e, k, v); e.Err != nil {
				return
			}
		}
	})
}

// keyedBatch is keyed elements on their way to the task that owns their keys.
type keyedBatch[K comparable, V any] struct {
	Batch[V]
	keys []K
	hash []uint64
}

// Reset implements [Payload].
func (b *keyedBatch[K, V]) Reset() {
	b.Batch.Reset()
	clear(b.keys)
	b.keys, b.hash = b.keys[:0], b.hash[:0]
}

// kv returns element i as a user sees it.
func (b *keyedBatch[K, V]) kv(i int) event.KV[K, V] {
	return event.KV[K, V]{Key: b.keys[i], Value: b.Vals[i]}
}

// check panics if element i is no longer what was put in.
func (b *keyedBatch[K, V]) check(st *Inst, sum func(event.KV[K, V]) uint64, i int) {
	if sum != nil {
		invariants.Check(sum(b.kv(i)) == b.sums[i],
			"an element was changed after it had been emitted, on the way to step %s: %+v", st.Step.Name, b.kv(i))
	}
}

// keyedWriter is the sending end of a grouping's exchange.
type keyedWriter[K comparable, V, A, R any] struct {
	g    *Group[K, V, A, R]
	out  Output
	open []*keyedBatch[K, V] // by receiver; nil if there is none
	bare bool                // the table finds windows by itself: they are not sent
	head *Inst               // the grouping step
	pre  *precombiner[K, V, A, R]
	_    Apart
}

func newKeyedWriter[K comparable, V, A, R any](g *Group[K, V, A, R], b *Binder, head *graph.Step, out Output) *keyedWriter[K, V, A, R] {
	w := &keyedWriter[K, V, A, R]{g: g, out: out, open: make([]*keyedBatch[K, V], out.Receivers()), bare: b.lazy(head) != nil}
	w.head = b.bound.guest(head)
	if g.Combines && g.fast(b) && out.Receivers() > 1 {
		w.pre = newPrecombiner(w)
	}
	return w
}

// receiver returns the task that owns a key.
func (w *keyedWriter[K, V, A, R]) receiver(hash uint64) int {
	return plan.KeyGroup(hash) * len(w.open) / plan.KeyGroups
}

func (w *keyedWriter[K, V, A, R]) push(e *Elem, k K, v V) {
	if e.Err != nil {
		return
	}
	hash := w.g.Keys.Hash(k)
	if w.pre != nil && w.pre.take(e, hash, k, v) {
		return
	}
	to := w.receiver(hash)
	b := w.open[to]
	if b == nil {
		if b = w.take(e, to); b == nil {
			return
		}
	}
	if w.bare {
		b.Vals = append(b.Vals, v)
		b.Times = append(b.Times, e.Time)
	} else {
		b.add(e, v)
	}
	b.keys = append(b.keys, k)
	b.hash = append(b.hash, hash)
	if w.g.Sum != nil {
		b.sums = append(b.sums, w.g.Sum(event.KV[K, V]{Key: k, Value: v}))
	}
	if len(b.Vals) >= BatchSize {
		w.open[to] = nil
		w.out.Send(to, b)
	}
}

func (w *keyedWriter[K, V, A, R]) take(e *Elem, to int) *keyedBatch[K, V] {
	p, ok := w.out.Take(to)
	if !ok {
		e.Err = ErrStopped
		return nil
	}
	b, _ := p.(*keyedBatch[K, V])
	if b == nil {
		b = &keyedBatch[K, V]{} // or it was a batch of partial results that came back
	}
	if invariants.Enabled {
		var zero K
		for _, k := range b.keys[:cap(b.keys)] {
			invariants.Check(k == zero, "a recycled batch has not been cleared")
		}
	}
	w.open[to] = b
	return b
}

// place implements [placer].
func (w *keyedWriter[K, V, A, R]) place(e *Elem, st *Inst) {
	if st == w.head && w.bare {
		s := newSlicer(w.g.Lazy)
		e.Win = []event.Window{s.slice(e.Time)}
	}
}

// Flush implements [Flusher].
func (w *keyedWriter[K, V, A, R]) Flush(e *Elem) {
	if w.pre != nil {
		w.pre.flush(e)
	}
	sendOpen(w.out, w.open)
}
