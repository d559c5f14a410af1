package exec

import "github.com/levadaflow/levada/event"

// KVs returns the elements, for tests of other packages.
func (b *keyedBatch[K, V]) KVs() []event.KV[K, V] {
	var all []event.KV[K, V]
	for i := range b.Vals {
		all = append(all, b.kv(i))
	}
	return all
}

// Hashes returns the hashes of the keys, for tests of other packages.
func (b *keyedBatch[K, V]) Hashes() []uint64 { return b.hash }

// KVs returns the elements, for tests of other packages.
func (b *Batch[T]) KVs() []T { return b.Vals }

// Hashes returns none.
func (b *Batch[T]) Hashes() []uint64 { return nil }
