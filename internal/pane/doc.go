// Package pane decides, for one key, what happens to its windows: when a pane comes out, with which number, timing and time,
// what a merge does, when a window is gone. Contents (accumulators, values) belong to the caller, who does what an [Effect]
// says.
//
// It is pure: elements and watermarks in, effects out. No goroutine, clock, lock or I/O.
//
// Invariants:
//   - Per key and window the order of panes is early*, on-time?, late*; the numbers have no gaps.
//   - The time of a pane is never after its window's last instant, and never before the hold that was reported for it.
//   - A pane is judged by min(input watermark, the holds of its own key and window), never by other keys, so that neither
//     parallelism nor the order of keys shows (scenario format, rule 8).
package pane
