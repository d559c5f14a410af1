package engine

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/levadaflow/levada/internal/exec"
)

// sink is a step whose results become visible at the run's end.
type sink struct {
	step   string
	commit exec.Committer
}

// guarded runs code of a step outside of a task and gives its error, or panic, the step's name.
func guarded(step string, f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			cause, ok := r.(error)
			if !ok {
				cause = fmt.Errorf("%v", r)
			}
			err = &exec.Failure{Step: step, Stack: string(debug.Stack()), Err: fmt.Errorf("panic: %w", cause)}
		}
	}()
	if err := f(); err != nil {
		return &exec.Failure{Step: step, Err: err}
	}
	return nil
}

// commit makes the results of all sinks visible, after all of them have prepared.
func (j *Job) commit() error {
	for _, s := range j.sinks {
		if err := guarded(s.step, s.commit.Prepare); err != nil {
			j.abort(j.sinks)
			return err
		}
	}
	for i, s := range j.sinks {
		if err := guarded(s.step, s.commit.Commit); err != nil {
			j.abort(j.sinks[i:])
			return err
		}
	}
	return nil
}

// abort takes back what sinks have done. A panic of one does not keep the others from it.
func (j *Job) abort(sinks []sink) {
	var all error
	for _, s := range sinks {
		all = errors.Join(all, guarded(s.step, func() error { s.commit.Abort(); return nil }))
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if all != nil {
		j.err = errors.Join(j.err, all)
	}
}
