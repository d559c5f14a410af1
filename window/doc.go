// Package window has the window functions, as data: [Global], [Fixed], [Sliding], [Sessions], and
// [Days], [Weeks], [Months] and [Years]; and what one's own are made of: [Func], [ByElement], [Fn] and [Merger].
//
// Invariants, which a function of one's own has to keep too:
//   - An element is inside each of its windows, also before 1970: assignment is by floor division.
//   - No window ends after the global one; an element after [event.EndOfGlobal] is in no bounded window.
//   - A window function has no state, reads no clock and may be used by several goroutines at once.
package window
