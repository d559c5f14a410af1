//go:build invariants || race

package exec

import "sync/atomic"

// mark is the number of the step that runs plus one. With the checks on it is atomic.
type mark struct{ n atomic.Int32 }

func (m *mark) get() int32  { return m.n.Load() }
func (m *mark) set(n int32) { m.n.Store(n) }
