package jobs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/bench/internal/gen"
)

// The variants of a job.
const (
	Hand   = "hand"
	Levada = "levada"
)

// Args is what a run of a job is given.
type Args struct {
	Input       string // path; "" if the job has no input
	Output      string // an empty folder
	Parallelism int    // of a levada program
	Window      time.Duration
	Windows     int // how many of them a latency job measures
}

// Values are what a job measures itself, by name.
type Values map[string]float64

// Job is one comparison.
type Job struct {
	Name   string
	Input  gen.Kind
	Repeat int  // runs that one measurement is the median of; 0 is 1
	Once   bool // it is run in the first round only, and has no sizes
	// Totals says that a line's last two fields are numbers, which are added up over the lines that are else equal before they
	// are compared: the job gives a window in parts.
	Totals bool

	build func(p *levada.Pipeline, a Args) // adds the steps of the levada program
	ready func(a Args) error               // writes what the program has kept; may be nil
	hand  func(a Args) error               // nil if there is nothing to compare with
	run   func(a Args) (Values, error)     // instead of build
}

// HasHand reports whether there is a program by hand.
func (j *Job) HasHand() bool { return j.hand != nil }

// All returns the jobs in the order in which they are run.
func All() []*Job {
	all := logJobs()
	all = append(all, windowJobs()...)
	all = append(all, nexmarkJobs()...)
	all = append(all, costJobs()...)
	return append(all, startupJob(), latencyJob(100), latencyJob(10_000), latencyJob(40_000))
}

// Run runs a variant of a job in this process.
func Run(ctx context.Context, name, variant string, a Args) (Values, error) {
	for _, j := range All() {
		if j.Name != name {
			continue
		}
		switch {
		case variant == Hand && j.hand != nil:
			return nil, j.hand(a)
		case variant == Levada && j.run != nil:
			return j.run(a)
		case variant == Levada:
			return nil, j.pipeline(ctx, a)
		}
		return nil, fmt.Errorf("job %s has no variant %q", name, variant)
	}
	return nil, fmt.Errorf("there is no job %q", name)
}

// pipeline runs the levada program.
func (j *Job) pipeline(ctx context.Context, a Args) error {
	p := levada.New()
	j.build(p, a)
	if _, err := p.Run(ctx, levada.Embedded{Parallelism: a.Parallelism}); err != nil || j.ready == nil {
		return err
	}
	return j.ready(a)
}

// part is the beginning of the paths of a job's results.
func (a Args) part() string { return filepath.Join(a.Output, "part") }

// writeResult writes a result of one line.
func (a Args) writeResult(format string, args ...any) error {
	return os.WriteFile(a.part(), fmt.Appendf(nil, format+"\n", args...), 0o644)
}
