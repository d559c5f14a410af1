// Package async has the step that calls a function for many elements at once, each call in a goroutine of its own, and emits what they
// return in the task's goroutine.
//
// It is here, and not in package exec, because it starts goroutines, takes a lock and waits in real time.
//
// Invariants:
//   - A call's goroutine touches its [flight] until it has put it on the list of those that have ended, and nothing of the task's after that.
//   - What an element needs to go on (time, windows, pane) and the value itself are copied: the engine uses their memory again.
//   - An element holds the step's watermark at its time from the call's start until its result has been emitted, and counts as a message in
//     flight for as long.
//   - At most Max elements are kept by a task, and at most Max calls run at once in the process, for each step of a pipeline.
//   - Nothing is locked while the engine is called.
package async
