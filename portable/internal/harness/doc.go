// Package harness is the worker of Beam's Fn API: it takes bundles from a runner and runs the stages of a graph on them, bound as
// the engine binds them.
//
// A [Pool] starts workers when a runner asks for them. A worker has a control stream, on which it is told what to do, and a data
// stream for each address, which all its bundles share.
// What comes for a bundle is kept in memory until it is read.
//
// Invariants:
//   - Every instruction is answered once. A bundle's goroutine ends with its answer.
//   - An answer follows the terminators of all of the bundle's outputs; a failed bundle sends none.
//   - A bound stage runs one bundle at a time, and none after one has failed in it.
//   - Locks: a data stream's, then an input's. Nothing else is held while one is taken. User code runs under none.
package harness
