package engine

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrHanging is wrapped by the error of a run that ended although user code did not return. The goroutine that runs it is left behind.
var ErrHanging = errors.New("user code did not return")

// awaitTasks waits for all tasks: without limit after a good end, for the grace period if the run was cut short.
func (j *Job) awaitTasks() error {
	j.mu.Lock()
	short := j.err != nil
	j.mu.Unlock()
	var deadline <-chan time.Time
	if short {
		timer := time.NewTimer(j.options.Grace)
		defer timer.Stop()
		deadline = timer.C
	}
	for i, t := range j.tasks {
		select {
		case <-t.ended:
		case <-deadline:
			return j.hanging(j.tasks[i:])
		}
	}
	return nil
}

// hanging names the steps of the tasks which have not ended.
func (j *Job) hanging(tasks []*task) error {
	var names []string
	for _, t := range tasks {
		select {
		case <-t.ended:
		default:
			names = append(names, j.stepName(t.bound.Elem.At(), t))
		}
	}
	return fmt.Errorf("%w within %v after the end of the run: step %s. Let it return when its context is done (c.Context())",
		ErrHanging, j.options.Grace, strings.Join(names, ", step "))
}

// stepName returns the path of the step with that ID, or the stage's first if no user code runs.
func (j *Job) stepName(id int32, t *task) string {
	if id >= 0 && int(id) < len(j.graph.Steps) {
		return j.graph.Steps[id].Name
	}
	return t.stage.Head.Name
}
