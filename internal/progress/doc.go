// Package progress is the arithmetic of watermarks: [Frontier] (the minimum over senders), [Holds] (what keeps a step's
// output watermark back) and [Ledger] (the restrictions of a source).
//
// It is pure: no goroutine, clock, lock or I/O. Nothing in it is safe for concurrent use; whoever shares one locks it.
//
// Invariants:
//   - A frontier and a ledger's watermark never go back.
//   - An idle sender does not count; if all that have not ended are idle, the frontier stays where it is.
//   - Holds are counted: what is added is removed again, and never more than that.
package progress
