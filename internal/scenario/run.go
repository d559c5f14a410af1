package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/levadatest"
)

// Result is what came of a file.
type Result struct {
	File    *File
	NotYet  []string   // what it uses that is not supported; it was not run then
	Outputs [][]string // what each block printed
}

// Failed returns the numbers of the blocks whose output is not what is expected.
func (r *Result) Failed() []int {
	var out []int
	for i := range r.Outputs {
		if !slices.Equal(r.Outputs[i], r.File.Blocks[i].Expected) {
			out = append(out, i)
		}
	}
	return out
}

// Run runs a file on the embedded engine. mode's Clock and Progress are not used. An error is one of the file's syntax.
func Run(f *File, mode levada.Embedded) (*Result, error) {
	r := &Result{File: f}
	var err error
	if r.NotYet, err = notYet(f); err != nil || len(r.NotYet) > 0 {
		return r, err
	}
	x := &runner{mode: mode}
	defer x.stop()
	for i := range f.Blocks {
		out, err := x.block(&f.Blocks[i])
		if err != nil {
			return nil, err
		}
		r.Outputs = append(r.Outputs, out)
	}
	return r, nil
}

// runner goes through a file.
type runner struct {
	mode    levada.Embedded
	p       *program // of the last pipeline block; nil before the first
	started bool
	failed  bool
}

func (x *runner) stop() {
	if x.p != nil {
		x.p.driver.Stop()
	}
}

// block runs one block and returns what it prints.
func (x *runner) block(b *Block) ([]string, error) {
	if b.Directive == "pipeline" {
		steps, err := ParsePipeline(b)
		if err != nil {
			return nil, err
		}
		x.stop()
		*x = runner{mode: x.mode, p: buildProgram(steps, x.mode)}
		if len(x.p.refused) > 0 {
			x.failed = true
			return x.p.refused, nil
		}
		return []string{"ok"}, nil
	}
	if x.p == nil {
		return nil, b.errorf(-1, "%s needs a pipeline that runs", b.Directive)
	}
	if x.failed {
		return []string{"there is no pipeline that runs"}, nil
	}
	switch b.Directive {
	case "feed":
		return x.feed(b)
	case "finish":
		return x.end(x.p.driver.Finish)
	case "drain":
		return x.end(x.p.driver.Drain)
	case "metrics", "watermarks":
		if !x.started { // what that causes is in the next group
			x.started = true
			if err := x.p.driver.Start(); err != nil {
				x.failed = true
				line, err := failure(err)
				return []string{line}, err
			}
		}
		if b.Directive == "metrics" {
			return x.metrics(b.Args), nil
		}
		return x.watermarks(b.Args), nil
	}
	return nil, b.errorf(-1, "unknown directive %s", b.Directive)
}

// end runs what ends the pipeline.
func (x *runner) end(f func() error) ([]string, error) {
	stuck := ""
	out, err := x.group(func() error {
		err := f()
		if names := x.p.driver.Unfinished(); errors.Is(err, levada.ErrStuck) {
			stuck, err = names[0], nil
		}
		return err
	})
	switch {
	case x.failed || err != nil:
	case stuck != "":
		x.failed = true
		out = append(out, "stuck: "+stuck)
	default:
		out = append(out, "done")
	}
	return out, err
}

// feed runs lines one after the other.
func (x *runner) feed(b *Block) ([]string, error) {
	lines, err := ParseFeed(b)
	if err != nil {
		return nil, err
	}
	out, err := x.group(func() error { return nil }) // what the pipeline's start causes
	for i, l := range lines {
		if x.failed || err != nil {
			break
		}
		if l.Kind != Tick && x.p.sources[l.Source] == nil {
			return nil, b.errorf(i, "no source %s", l.Source)
		}
		var more []string
		more, err = x.group(func() error { return x.p.feed(l) })
		out = append(out, more...)
	}
	return out, err
}

func (p *program) feed(l FeedLine) error {
	switch l.Kind {
	case Tick:
		return p.driver.Clock(duration(l.Step))
	case Advance:
		return p.sources[l.Source].Watermark(l.Watermark)
	}
	return p.sources[l.Source].Add(l.Element.Time, pair{Key: l.Element.Key, Value: number(l.Element.Value)})
}

// group runs f and returns the lines that it caused, sorted; or how the pipeline failed.
func (x *runner) group(f func() error) ([]string, error) {
	var err error
	if !x.started {
		x.started = true
		err = x.p.driver.Start()
	}
	if err == nil {
		err = f()
	}
	if err != nil {
		x.failed = true
		line, err := failure(err)
		return []string{line}, err
	}
	return x.emitted(), nil
}

// emitted returns the lines of what has come out since the last call: sorted, but those of one key of a sorted step in the order
// in which they came.
func (x *runner) emitted() []string {
	type place struct{ line, key string } // key: "" for steps that are not sorted
	var all []place
	for _, l := range x.p.leaves {
		for _, e := range l.got.Take() {
			p := place{line: format(l.name, e)}
			if l.sorted {
				p.key = l.name + " " + e.Value.Key
			}
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(a, b place) int {
		if a.key != "" && a.key == b.key {
			return 0
		}
		return strings.Compare(a.line, b.line)
	})
	var out []string
	for _, p := range all {
		out = append(out, p.line)
	}
	return out
}

// failure returns the line for a pipeline that failed.
func failure(err error) (string, error) {
	var at *levada.StepError
	if !errors.As(err, &at) {
		return "", err
	}
	for _, f := range failures {
		if errors.Is(err, f.err) {
			return fmt.Sprintf("failed: %s %s", f.code, at.Step), nil
		}
	}
	return "failed: " + strings.ReplaceAll(err.Error(), "\n", " "), nil
}

func format(name string, e levadatest.Element[pair]) string {
	line := fmt.Sprintf("%s %s %v @%s %s", name, e.Value.Key, e.Value.Value, FormatTime(e.Time), FormatWindow(e.Window))
	if pane := FormatPane(e.Pane); pane != "" {
		line += " " + pane
	}
	return line
}

// named reports whether a directive with these arguments means the step or counter.
func named(args []string, name string) bool { return len(args) == 0 || slices.Contains(args, name) }

// metrics prints the format's counters of the steps.
func (x *runner) metrics(args []string) []string {
	var out []string
	r := x.p.driver.Result()
	for _, step := range x.p.order {
		for _, counter := range []string{"dropped_late", "dropped_closed", "emitted_late"} {
			if n := r.Counter(step, counter); n != 0 && named(args, counter) {
				out = append(out, fmt.Sprintf("%s %s %d", step, counter, n))
			}
		}
	}
	return out
}

// watermarks prints the steps' watermarks.
func (x *runner) watermarks(args []string) []string {
	var out []string
	for _, s := range x.p.driver.Result().Steps {
		if !slices.Contains(x.p.order, s.Name) || !named(args, s.Name) {
			continue
		}
		line := fmt.Sprintf("%s in=%s out=%s", s.Name, FormatTime(s.In), FormatTime(s.Out))
		if s.Held.Kind != "" && s.Out < s.In {
			line += fmt.Sprintf(" held by %s %s", s.Held.Kind, FormatTime(s.Held.Time)) // of a shift the time is the shift
		}
		out = append(out, line)
	}
	return out
}
