package engine

import "github.com/levadaflow/levada/event"

// Drain ends the sources: what splittable steps have not claimed is truncated, what waits is told. The run then goes on to its end. It may be
// called at any time and again.
func (j *Job) Drain() {
	j.run.Drain()
	j.endInput()
	for _, c := range j.splits {
		c.mu.Lock()
		c.drain()
		c.mu.Unlock()
	}
}

// resume goes on with what was parked until now, and reports whether there was something.
func (j *Job) resume() bool {
	some := false
	for _, c := range j.splits {
		some = c.resume(j.clock.Now()) || some
	}
	return some
}

// parked reports whether something waits for a time.
func (j *Job) parked() bool { _, ok := j.Parked(); return ok }

// Parked returns the processing time at which a restriction is gone on with first; ok is false if none is parked.
func (j *Job) Parked() (at event.Time, ok bool) {
	for _, c := range j.splits {
		if t, some := c.Alarm(); some && (!ok || t < at) {
			at, ok = t, true
		}
	}
	return at, ok
}

// Unfinished returns the paths of the steps that have not come to their end.
func (j *Job) Unfinished() []string {
	var names []string
	for _, s := range j.Steps() {
		if s.Out < event.Max {
			names = append(names, s.Name)
		}
	}
	return names
}
