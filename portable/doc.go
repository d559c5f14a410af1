// Package portable runs pipelines on Beam's runners, through Beam's portability protocols. A program that does not import it
// has none of Beam in it.
//
// [Runner] submits the pipeline to a job service, and is itself where the runner gets its workers from: the stages run in this
// process, bound as the embedded engine binds them, and the runner does the grouping. What it cannot do is refused before
// anything is submitted, with [ErrNotSupported]: see there.
//
// Prism 2.77.0 differs in one point: with an allowed lateness and accumulating panes it repeats a window's pane when the lateness
// is over, although nothing new has come.
//
// Invariants:
//   - A pipeline that is accepted gives the results that the embedded engine gives. Panes may be told apart less well: it is up to
//     the runner which timing and index they have.
//   - Nothing of a run is left behind in this process when Run has returned, but for user code that hangs.
package portable
