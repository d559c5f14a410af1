// Package textio reads and writes text files, a line an element.
//
// Invariants:
//   - A line is emitted once and whole, whatever the block in which it was read. What is emitted never changes: a block's
//     memory is not used again.
//   - A reader's watermark moves only under the [InOrder] promise; without it, it stays at event.Min until the last file has
//     been read.
//   - Nothing has a final name before the whole run has gone well, and a run that failed has left what was there as it was.
package textio
