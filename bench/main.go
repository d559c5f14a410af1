// Bench measures programs of this project next to programs by hand that give the same results.
//
//	go run ./bench                                  # everything: about an hour
//	go run ./bench --jobs 'log-*' --rounds 3        # some jobs
//	go run ./bench --out bench/RESULTS.md           # keep the table
//
// See README.md for the jobs and what is compared. The exit code is 0 if all went well, 1 if a program failed or its results
// differ, 2 if the command line is wrong.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/levadaflow/levada/bench/jobs"
)

type commands struct {
	Run   runCmd   `cmd:"" default:"withargs" help:"Measure and print a table (the default)."`
	Child childCmd `cmd:"" hidden:"" help:"Run one program in this process."`
}

// runCmd is the command line of the benchmark.
type runCmd struct {
	Jobs        []string `help:"Jobs to run, separated by commas; * stands for anything." default:"*"`
	Rounds      int      `help:"How often everything is run, in turns." default:"5"`
	Small       int64    `help:"Lines of the small log." default:"1000000"`
	Big         int64    `help:"Lines of the big log; 0: no marginal costs." default:"10000000"`
	SmallEvents int64    `help:"Events of the small Nexmark file." default:"1000000"`
	BigEvents   int64    `help:"Events of the big Nexmark file; 0: no marginal costs." default:"5000000"`
	Parallelism []int    `help:"Parallelisms of the levada programs." default:"1,2"`
	Peers       string   `help:"Folder with other programs to measure: PEERS/NAME/run JOB INPUT OUTPUT." type:"existingdir"`
	Build       bool     `help:"Also build an example with an empty cache, and measure that and the binary."`
	JSON        bool     `name:"json" help:"Print one JSON object with all measurements instead of the table."`
	Out         string   `help:"Also write the table to this file."`
	Cache       string   `help:"Folder of the generated inputs; empty: levada-bench in the user's cache."`
	Quick       bool     `help:"One round of small sizes: only to see that everything works."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the command as a function; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c commands
	exit := -1
	parser, err := kong.New(&c, kong.Name("bench"), kong.Description("Measure levada next to programs by hand."),
		kong.Writers(stdout, stderr), kong.Exit(func(code int) { exit = code }))
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 2
	}
	parsed, err := parser.Parse(args)
	switch {
	case exit >= 0: // --help
		return exit
	case err != nil:
		fmt.Fprintf(stderr, "bench: %v (see --help)\n", err)
		return 2
	}
	if parsed.Selected() != nil && parsed.Selected().Name == "child" {
		err = c.Child.run(ctx, stdout)
	} else {
		err = c.Run.run(ctx, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	return 0
}

// Validate is called when the flags have been read.
func (c *runCmd) Validate() error {
	for _, pattern := range c.Jobs {
		if _, err := c.match(pattern); err != nil {
			return err
		}
	}
	switch {
	case c.Rounds < 1 || c.Small < 1 || c.SmallEvents < 1:
		return errors.New("--rounds, --small and --small-events must be at least 1")
	case c.Big != 0 && c.Big <= c.Small || c.BigEvents != 0 && c.BigEvents <= c.SmallEvents:
		return errors.New("--big must be greater than --small, or 0, and --big-events than --small-events")
	case slices.ContainsFunc(c.Parallelism, func(p int) bool { return p < 1 }):
		return errors.New("--parallelism must be at least 1")
	}
	return nil
}

// match returns the jobs whose names match a pattern.
func (c *runCmd) match(pattern string) ([]*jobs.Job, error) {
	var all []*jobs.Job
	for _, j := range jobs.All() {
		ok, err := path.Match(pattern, j.Name)
		if err != nil {
			return nil, fmt.Errorf("--jobs %s: %w", pattern, err)
		}
		if ok {
			all = append(all, j)
		}
	}
	if all == nil {
		var names []string
		for _, j := range jobs.All() {
			names = append(names, j.Name)
		}
		return nil, fmt.Errorf("--jobs %s: there is no such job; there are %v", pattern, names)
	}
	return all, nil
}

// run measures, and prints what it has found.
func (c *runCmd) run(ctx context.Context, stdout, stderr io.Writer) error {
	d, err := c.driver()
	if err != nil {
		return err
	}
	if err := d.measure(ctx, progressOn(stderr)); err != nil {
		return err
	}
	if c.Out != "" {
		if err := os.WriteFile(c.Out, []byte(d.report.markdown()), 0o644); err != nil {
			return err
		}
	}
	if c.JSON {
		e := json.NewEncoder(stdout)
		e.SetIndent("", "  ")
		err = e.Encode(d.report)
	} else {
		_, err = io.WriteString(stdout, d.report.markdown())
	}
	return errors.Join(err, d.report.failure())
}

// driver returns what runs the jobs of the command line.
func (c *runCmd) driver() (*driver, error) {
	if c.Quick {
		c.Rounds, c.Small, c.Big, c.SmallEvents, c.BigEvents = 1, 20_000, 0, 200_000, 0
	}
	if c.Cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return nil, err
		}
		c.Cache = filepath.Join(dir, "levada-bench")
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	d := &driver{runCmd: c, self: self, report: newReport(c)}
	for _, j := range jobs.All() {
		if slices.ContainsFunc(c.Jobs, func(pattern string) bool { ok, _ := path.Match(pattern, j.Name); return ok }) {
			d.jobs = append(d.jobs, j)
		}
	}
	d.peers, err = findPeers(c.Peers)
	return d, err
}

// childCmd is one program, run in a process of its own.
type childCmd struct {
	Job         string        `arg:""`
	Variant     string        `arg:""`
	Input       string        `arg:""`
	Output      string        `arg:""`
	Parallelism int           `default:"1"`
	Window      time.Duration `default:"1s"`
	Windows     int           `default:"20"`
}

// childReport is what a child says about itself.
type childReport struct {
	PeakKiB int64       `json:"peak_rss_kib,omitempty"`
	Values  jobs.Values `json:"values,omitempty"`
}

func (c *childCmd) run(ctx context.Context, stdout io.Writer) error {
	if c.Variant == jobs.Levada && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200) // as levada.Main does
	}
	values, err := jobs.Run(ctx, c.Job, c.Variant, jobs.Args{
		Input: c.Input, Output: c.Output, Parallelism: c.Parallelism, Window: c.Window, Windows: c.Windows,
	})
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(childReport{ownPeak(), values})
}
