// Package window has the window functions, as data: [Global], [Fixed], [Sliding], [Sessions], and
// [Days], [Weeks], [Months] and [Years].
//
// Invariants:
//   - Assignment is by floor division: an element is inside each of its windows, also before 1970.
//   - No window ends after the global one; an element after [event.EndOfGlobal] is in no bounded window.
//   - A window function has no state, reads no clock and may be used by several goroutines at once.
package window
