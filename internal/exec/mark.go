//go:build !invariants && !race

package exec

// mark is the number of the step that runs plus one. It is written several times per element and read by another goroutine only
// when a run does not end, to name the step: a plain word, because an atomic store costs as much as the rest of a hop. By the
// memory model a racing read of one word sees a value that was written.
type mark struct{ n int32 }

func (m *mark) get() int32  { return m.n }
func (m *mark) set(n int32) { m.n = n }
