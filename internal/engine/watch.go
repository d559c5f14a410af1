package engine

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/graph"
)

// lateLog logs the first element that a step counts as late, once for all tasks.
type lateLog struct{ told sync.Map }

func (j *Job) late(step, counter string, t, mark event.Time) {
	if _, again := j.lateLog.told.LoadOrStore([2]string{step, counter}, true); again {
		return
	}
	what := "an element left the step behind its watermark; more of them are only counted"
	if counter != "emitted_late" {
		what = "an element came too late and was dropped; more of them are only counted"
	}
	j.options.Logger.Warn(what, "step", step, "counter", counter, "time", t.String(), "watermark", mark.String(), "behind", mark.Sub(t))
}

// stall is what is known of a step that may stand still.
type stall struct {
	out   event.Time
	since time.Time
	told  bool
}

// stalls finds steps that stand still while something waits in them.
type stalls struct {
	after time.Duration
	steps []stall
}

// look takes the steps' present state and returns a line for each that has stood still for long enough, once.
func (x *stalls) look(g *graph.Graph, status []StepStatus, now time.Time) []string {
	var lines []string
	if x.steps == nil {
		x.steps = make([]stall, len(status))
		for i, s := range status {
			x.steps[i] = stall{out: s.Out, since: now}
		}
	}
	for i, s := range status {
		old := &x.steps[i]
		if s.Out != old.out || !s.Pending {
			*old = stall{out: s.Out, since: now}
			continue
		}
		if stood := now.Sub(old.since); stood >= x.after && !old.told && s.Out < event.Max {
			old.told = true
			lines = append(lines, fmt.Sprintf("step %s has stood at %v for %v while elements wait in it: %s", s.Name, s.Out,
				stood.Round(time.Second), chainOf(g.Steps[i], status)))
		}
	}
	return lines
}

// chainOf says what a step waits for, as far back as that goes.
func chainOf(s *graph.Step, status []StepStatus) string {
	var parts []string
	for {
		st := status[s.ID]
		switch {
		case st.Held != nil:
			return strings.Join(append(parts, fmt.Sprintf("%s is held by %s at %v", s.Name, st.Held.Kind, st.Held.Time)), ", ")
		case st.By != "":
			return strings.Join(append(parts, fmt.Sprintf("%s is at %v, because of split %s", s.Name, st.Out, st.By)), ", ")
		case len(s.Inputs) == 0:
			return strings.Join(append(parts, fmt.Sprintf("%s is at %v", s.Name, st.Out)), ", ")
		}
		from := waitsFor(s, status)
		parts = append(parts, fmt.Sprintf("%s waits for %s", s.Name, from.Name))
		s = from
	}
}
