// Package exec has stages bound to typed functions: chains of sinks, batches, exchanges, grouping tables and the driver of
// splittable sources. It knows [Elem], not the public context type.
//
// It starts no goroutine, takes no lock and reads no clock: the engine calls it, one goroutine per task.
//
// Invariants:
//   - There is one Elem per task. Whoever changes it for those downstream puts it back.
//   - The first failure of a bundle sticks to Elem.Err; after it nothing is emitted and no user code is called.
//   - A sink is asserted to its type once, when a stage is bound.
//   - A batch that is recycled has been cleared, so that it pins no memory.
package exec
