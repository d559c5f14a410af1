package levada

import (
	"fmt"
	"iter"
	"slices"

	"github.com/levadaflow/levada/coder/plan"
)

// entries is a map whose order is that of the insertions, as far as nothing was deleted: with the same calls it is the same.
type entries[K comparable, V any] struct {
	all   []KV[K, V]
	index map[K]int // nil while there are few
}

// fewEntries are searched one after the other: a map costs more than they do.
const fewEntries = 8

func (m *entries[K, V]) find(k K) (at int, ok bool) {
	if m.index != nil {
		at, ok = m.index[k]
		return at, ok
	}
	at = slices.IndexFunc(m.all, func(x KV[K, V]) bool { return x.Key == k })
	return at, at >= 0
}

func (m *entries[K, V]) insert(k K, v V) {
	m.all = append(m.all, KV[K, V]{Key: k, Value: v})
	switch n := len(m.all); {
	case m.index != nil:
		m.index[k] = n - 1
	case n > fewEntries:
		m.index = make(map[K]int, n)
		for i, x := range m.all {
			m.index[x.Key] = i
		}
	}
}

// remove puts the last entry into the place of one.
func (m *entries[K, V]) remove(at int) {
	last := len(m.all) - 1
	if m.index != nil {
		delete(m.index, m.all[at].Key)
		if at != last {
			m.index[m.all[last].Key] = at
		}
	}
	m.all[at] = m.all[last]
	m.all[last] = KV[K, V]{}
	if m.all = m.all[:last]; last <= fewEntries/2 {
		m.index = nil
	}
}

// MapCell has a value for each of any number of keys of its own, U.
type MapCell[U comparable, V any] struct {
	cell[entries[U, V]]
	keys *plan.Plan[U]
	vals *plan.Plan[V]
}

// MapState declares a cell with a map. For the type of its keys the rule of [GroupByKey] holds. (Beam's MapState.)
func MapState[U comparable, V any, K comparable](s *Keyed[K], name string) *MapCell[U, V] {
	return &MapCell[U, V]{newCell[entries[U, V]](s, "map", name), keyPlanOf[U](name), planOf[V](name)}
}

// Get returns a key's value; ok is false, and v the zero value, if there is none.
func (x *MapCell[U, V]) Get(c *Ctx, key U) (v V, ok bool) {
	if p := x.get(c); p != nil {
		if at, ok := p.find(key); ok {
			return p.all[at].Value, true
		}
	}
	return v, false
}

// Put sets a key's value.
func (x *MapCell[U, V]) Put(c *Ctx, key U, v V) {
	if !x.usable(c) {
		return
	}
	p := x.col.Put()
	if at, ok := p.find(key); ok {
		p.all[at].Value = x.vals.Clone(v)
		return
	}
	p.insert(x.keys.Clone(key), x.vals.Clone(v))
}

// Delete takes out a key with its value and reports whether it was there.
func (x *MapCell[U, V]) Delete(c *Ctx, key U) bool {
	p := x.get(c)
	if p == nil {
		return false
	}
	at, ok := p.find(key)
	if ok {
		if p.remove(at); len(p.all) == 0 {
			x.col.Clear()
		}
	}
	return ok
}

// Len returns the number of keys.
func (x *MapCell[U, V]) Len(c *Ctx) int {
	if p := x.get(c); p != nil {
		return len(p.all)
	}
	return 0
}

// All walks what is there when it is called, in an order that depends only on the calls before.
func (x *MapCell[U, V]) All(c *Ctx) iter.Seq2[U, V] {
	var all []KV[U, V]
	if p := x.get(c); p != nil {
		all = slices.Clone(p.all) // a Put or Delete during the walk would change them
	}
	return func(yield func(U, V) bool) {
		for _, kv := range all {
			if !yield(kv.Key, kv.Value) {
				return
			}
		}
	}
}

// SetCell has any number of different values.
type SetCell[T comparable] struct {
	m MapCell[T, struct{}]
}

// SetState declares a cell with a set. For the type of its values the rule of [GroupByKey] for keys holds. (Beam's SetState.)
func SetState[T, K comparable](s *Keyed[K], name string) *SetCell[T] {
	return &SetCell[T]{MapCell[T, struct{}]{newCell[entries[T, struct{}]](s, "set", name), keyPlanOf[T](name), planOf[struct{}](name)}}
}

// Add adds a value and reports whether it was new.
func (x *SetCell[T]) Add(c *Ctx, v T) bool {
	if x.Has(c, v) || !x.m.usable(c) {
		return false
	}
	x.m.Put(c, v, struct{}{})
	return true
}

// Has reports whether a value is there.
func (x *SetCell[T]) Has(c *Ctx, v T) bool { _, ok := x.m.Get(c, v); return ok }

// Remove takes a value out and reports whether it was there.
func (x *SetCell[T]) Remove(c *Ctx, v T) bool { return x.m.Delete(c, v) }

// Len returns the number of values.
func (x *SetCell[T]) Len(c *Ctx) int { return x.m.Len(c) }

// Clear empties the cell.
func (x *SetCell[T]) Clear(c *Ctx) { x.m.Clear(c) }

// All walks the values that are there when it is called, in an order that depends only on the calls before.
func (x *SetCell[T]) All(c *Ctx) iter.Seq[T] {
	all := x.m.All(c)
	return func(yield func(T) bool) {
		for v := range all {
			if !yield(v) {
				return
			}
		}
	}
}

// keyPlanOf is planOf for keys.
func keyPlanOf[T comparable](name string) *plan.Plan[T] {
	p, err := plan.ForKey[T]()
	if err != nil {
		panic(fmt.Errorf("state %q: %w", name, err))
	}
	return p
}
