package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/levadaflow/levada/bench/internal/gen"
	"github.com/levadaflow/levada/bench/jobs"
)

// unsupported is the exit code of a peer that does not know a job.
const unsupported = 3

// driver runs the jobs.
type driver struct {
	*runCmd
	self   string // the path of this program
	jobs   []*jobs.Job
	peers  []peer
	report *report
}

// peer is another program.
type peer struct{ name, path string }

// findPeers returns the programs DIR/NAME/run.
func findPeers(dir string) ([]peer, error) {
	if dir == "" {
		return nil, nil
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*", "run"))
	if err == nil && paths == nil {
		err = fmt.Errorf("--peers %s: it has no NAME/run", dir)
	}
	var all []peer
	for _, p := range paths {
		all = append(all, peer{filepath.Base(filepath.Dir(p)), p})
	}
	return all, err
}

// task is a program that is to be run and measured.
type task struct {
	job     *jobs.Job
	variant string
	lines   int64
	program string
	args    []string // but for the last, the output
}

// tasks returns what is run in a round: all variants of a job and a size one after the other, each round beginning with the
// next variant.
func (d *driver) tasks(round int) ([]task, error) {
	var all []task
	for _, j := range d.jobs {
		if j.Once && round > 0 {
			continue
		}
		for _, lines := range d.sizes(j.Input) {
			input := "-"
			if j.Input != gen.None {
				var err error
				if input, err = gen.File(d.Cache, j.Input, lines); err != nil {
					return nil, err
				}
			}
			variants := d.variants(j, input, lines)
			n := round % len(variants)
			all = append(all, slices.Concat(variants[n:], variants[:n])...)
		}
	}
	return all, nil
}

// sizes returns the sizes of a kind of input.
func (d *driver) sizes(k gen.Kind) []int64 {
	small, big := int64(0), int64(0)
	switch k {
	case gen.Log, gen.LateLog:
		small, big = d.Small, d.Big
	case gen.Nexmark:
		small, big = d.SmallEvents, d.BigEvents
	}
	if big == 0 {
		return []int64{small}
	}
	return []int64{small, big}
}

// variants returns the programs that do a job.
func (d *driver) variants(j *jobs.Job, input string, lines int64) []task {
	var all []task
	add := func(name, program string, args ...string) { all = append(all, task{j, name, lines, program, args}) }
	if j.HasHand() {
		add(jobs.Hand, d.self, "child", j.Name, jobs.Hand, input)
	}
	for _, p := range d.Parallelism {
		flags := []string{"child", fmt.Sprintf("--parallelism=%d", p)}
		if d.Quick {
			flags = append(flags, "--window=100ms", "--windows=3")
		}
		add(fmt.Sprintf("%s p%d", jobs.Levada, p), d.self, append(flags, j.Name, jobs.Levada, input)...)
	}
	if !j.HasHand() { // nothing that a peer's results could be compared with
		return all
	}
	for _, p := range d.peers {
		add(p.name, p.path, j.Name, input)
	}
	return all
}

// measure runs everything.
func (d *driver) measure(ctx context.Context, show func(done, total int, what string)) error {
	for round := range d.Rounds {
		show(round, d.Rounds, "inputs")
		tasks, err := d.tasks(round)
		if err != nil {
			return err
		}
		for i, t := range tasks {
			show(round*len(tasks)+i, d.Rounds*len(tasks), fmt.Sprintf("%s, %s", t.job.Name, t.variant))
			row, err := d.measureOne(ctx, t)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				row.Note = err.Error()
			}
			row.Round = round + 1
			d.report.Rows = append(d.report.Rows, row)
		}
	}
	if d.Build {
		show(0, 1, "build")
		if err := d.measureBuild(ctx); err != nil {
			return err
		}
	}
	show(1, 1, "")
	d.report.compare()
	d.report.summarize()
	return nil
}

// measureOne runs a program as often as its job says.
func (d *driver) measureOne(ctx context.Context, t task) (row, error) {
	r := row{Job: t.job.Name, Variant: t.variant, Lines: t.lines, totals: t.job.Totals}
	var runs []row
	repeat := max(t.job.Repeat, 1)
	if d.Quick {
		repeat = 1
	}
	for range repeat {
		one := r
		err := d.runOnce(ctx, t, &one)
		if err != nil || one.Note != "" {
			return one, err
		}
		runs = append(runs, one)
	}
	r = runs[0]
	r.Wall = median(runs, func(r row) float64 { return r.Wall })
	r.CPU = median(runs, func(r row) float64 { return r.CPU })
	return r, nil
}

// runOnce runs a program once and takes its output into account, which it removes.
func (d *driver) runOnce(ctx context.Context, t task, r *row) error {
	output, err := os.MkdirTemp("", "levada-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(output)
	var stdout, stderr bytes.Buffer
	c := exec.CommandContext(ctx, t.program, append(slices.Clone(t.args), output)...)
	c.Stdout, c.Stderr = &stdout, &stderr
	began := now()
	err = c.Run()
	r.Wall = now().Sub(began).Seconds()
	if c.ProcessState == nil { // it did not start
		r.Failed = true
		return err
	}
	r.CPU = (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
	r.PeakKiB = peakRSS(c.ProcessState)
	ours := t.program == d.self
	switch {
	case !ours && c.ProcessState.ExitCode() == unsupported:
		r.Note = "not supported"
		return nil
	case err != nil:
		r.Failed = true
		return fmt.Errorf("%w: %s", err, lastLine(stderr.String()))
	}
	if ours {
		var report childReport
		if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
			r.Failed = true
			return fmt.Errorf("what it says about itself: %w", err)
		}
		r.Values = report.Values
		if report.PeakKiB > 0 {
			r.PeakKiB = report.PeakKiB
		}
	}
	if !t.job.HasHand() {
		return nil
	}
	r.Digest, err = digestOf(output, t.job.Totals)
	r.Failed = err != nil
	return err
}

// lastLine returns the last line of a text.
func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// measureBuild builds an example with an empty cache.
func (d *driver) measureBuild(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "levada-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "accesslog")
	c := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/levadaflow/levada/examples/accesslog")
	c.Env = append(os.Environ(), "GOCACHE="+filepath.Join(dir, "cache"))
	began := now()
	if text, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("building the example: %w: %s", err, lastLine(string(text)))
	}
	wall := now().Sub(began)
	info, err := os.Stat(binary)
	if err != nil {
		return err
	}
	cpu := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	d.report.Build = &build{wall.Seconds(), cpu.Seconds(), info.Size()}
	return nil
}

// progressOn returns what shows how far the measuring is, if w is a terminal.
func progressOn(w io.Writer) func(done, total int, what string) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return func(int, int, string) {}
	}
	var bar *progressbar.ProgressBar
	return func(done, total int, what string) {
		if bar == nil {
			bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(w), progressbar.OptionClearOnFinish(),
				progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSetPredictTime(false))
		}
		bar.ChangeMax(total)
		bar.Describe(what)
		_ = bar.Set(done)
	}
}
