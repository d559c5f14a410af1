package engine

import (
	"errors"
	"fmt"
	"strings"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/internal/graph"
)

// ErrStuck is wrapped by the error of a job in which nothing can run although its input is not finished.
var ErrStuck = errors.New("the pipeline is stuck")

// StepStatus is how far a step has come: the least of its tasks.
type StepStatus struct {
	Name    string
	In, Out event.Time
	Held    *exec.Held // what keeps Out below In; nil if nothing does
	By      string     // the split that holds a source back, or ""
	Pending bool       // something waits in it for the watermark or the clock
}

// Steps returns the watermarks of all steps, in the pipeline's order. It may be called at any time.
func (j *Job) Steps() []StepStatus {
	all := make([]StepStatus, len(j.graph.Steps))
	for i, s := range j.graph.Steps {
		all[i] = StepStatus{Name: s.Name, In: event.Max, Out: event.Max}
	}
	for _, t := range j.tasks {
		for _, st := range t.bound.Insts {
			s := &all[st.Step.ID]
			in, out, held := st.Seen()
			s.In = min(s.In, in)
			s.Pending = s.Pending || st.Pending()
			if out < s.Out || held != nil && s.Held == nil {
				s.Out, s.Held = min(s.Out, out), held
			}
		}
	}
	for s, c := range j.splits {
		if name, _, ok := c.behind(); ok {
			all[s.ID].By = name
		}
	}
	return all
}

// Metrics returns all counters and distributions.
func (j *Job) Metrics() []*exec.Metric { return j.metrics.All }

// Sources returns the paths of the steps that read splits.
func (j *Job) Sources() []string {
	var names []string
	for s := range j.splits {
		names = append(names, s.Name)
	}
	return names
}

// Total returns the bytes of all sources, as far as they are known.
func (j *Job) Total() int64 { return j.total }

// Stuck says who waits for whom.
func (j *Job) Stuck() error {
	status := j.Steps()
	var b strings.Builder
	for _, s := range j.graph.Steps {
		st := status[s.ID]
		if st.Out == event.Max {
			continue
		}
		fmt.Fprintf(&b, "\n  %s: in %v, out %v", s.Name, st.In, st.Out)
		switch {
		case st.Held != nil:
			fmt.Fprintf(&b, ", held by %s at %v", st.Held.Kind, st.Held.Time)
		case st.By != "":
			fmt.Fprintf(&b, ", waits for split %s", st.By)
		case len(s.Inputs) > 0:
			fmt.Fprintf(&b, ", waits for %s", waitsFor(s, status).Name)
		}
	}
	return fmt.Errorf("%w: nothing can run, and these steps have not finished:%s", ErrStuck, b.String())
}

// waitsFor returns the input with the least output watermark.
func waitsFor(s *graph.Step, status []StepStatus) *graph.Step {
	least := s.Inputs[0].Step
	for _, in := range s.Inputs[1:] {
		if status[in.Step.ID].Out < status[least.ID].Out {
			least = in.Step
		}
	}
	return least
}
