package exec

// Keeper is how a step meets the engine that has its work done outside of the task's goroutine and emits the results later. It belongs to
// one step in one task and is used in that task's goroutine, but for Wake. The engine implements it.
type Keeper interface {
	// Begin says that the step keeps one element more. While it keeps any the run does not end, a virtual clock does not move on and the
	// task's readers wait for its watermark.
	Begin()
	// End says that what came of one of them has been emitted.
	End()
	// Wake makes the task call the step's function soon, in a bundle. It may be called from any goroutine, and after the run's end.
	Wake()
	// Flush sends on what has been emitted, before the step waits in the middle of a bundle.
	Flush()
}

// Flush sends on what has been collected for other tasks, and makes the metrics visible.
func (b *Bound) Flush() {
	for _, w := range b.writers {
		if b.Elem.Err != nil {
			return
		}
		w.Flush(b.Elem)
	}
	b.publish()
}

// Crashed makes err the bundle's failure unless there is one. v is the element; the stack is that of a panic in another goroutine, "" for an
// error.
func (e *Elem) Crashed(st *Inst, v any, err error, stack string) { e.fail(st, v, err, stack) }
