// Package store has the tables that keyed state lives in.
//
// It is pure memory: no goroutine, clock, lock or I/O. A table belongs to one task.
//
// Invariants:
//   - An entry never moves: its number, and the slab it is in, stay the same until the table is reset.
//   - The hash that came with a key is stored and used again for growth; a table never hashes.
//   - Keys are cloned once, when they are inserted.
package store
