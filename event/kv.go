package event

import "fmt"

// KV is a key with a value. Grouping steps take it and give it.
type KV[K, V any] struct {
	Key   K
	Value V
}

// String returns "KEY: VALUE".
func (kv KV[K, V]) String() string { return fmt.Sprintf("%v: %v", kv.Key, kv.Value) }
