package levada

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Preparer may be implemented by a program's options: Prepare is called by [Main] once, before the pipeline is built.
type Preparer interface {
	Prepare(ctx context.Context) error
}

// Summarizer may be implemented by a program's options: [Main] prints the summary on stderr after a good run.
type Summarizer interface {
	Summary(r *Result, took time.Duration) string
}

// engineFlags are what every program takes.
type engineFlags struct {
	Parallelism int    `help:"Tasks of each stage; 0: one a processor." default:"0"`
	MaxBundle   int    `help:"End a bundle after that many elements; 0: the engine decides. For tests." default:"0"`
	OnTerm      string `help:"What SIGTERM does: cancel the run, or drain it: sources end, what is open comes out. A second one cancels." enum:"cancel,drain" default:"cancel"`
}

// Main is a program: it parses the command line into the options O (a struct with kong's tags) and the engine's flags, builds
// the pipeline, runs it, and exits: 0 after a good run, 1 after a failure, 2 if the command line is wrong. On a terminal it
// shows a progress line on stderr. SIGINT cancels the run, and so does SIGTERM, or it drains it (--on-term=drain). Unless GOGC is set, the garbage collector is told to use
// 200: memory for speed. Embedded leaves it alone.
func Main[O any](name string, build func(p *Pipeline, options O) error) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200) // batches and blocks come and go; what lives is small
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	os.Exit(program(context.Background(), signals, name, os.Args[1:], os.Stdout, os.Stderr, build))
}

// Exec is [Main] as a function: with the arguments after the program's name, and the exit code as its result.
func Exec[O any](ctx context.Context, name string, args []string, stdout, stderr io.Writer, build func(*Pipeline, O) error) int {
	return program(ctx, nil, name, args, stdout, stderr, build)
}

// onSignals returns a context that the signals cancel, and what they close to drain the run, if that is what SIGTERM does. The function it returns
// is to be called at the end.
func onSignals(ctx context.Context, signals <-chan os.Signal, drains bool, stderr io.Writer) (context.Context, <-chan struct{}, func()) {
	ctx, cancel := context.WithCancel(ctx)
	draining := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-signals:
				if s != syscall.SIGTERM || !drains {
					cancel()
					return
				}
				drains = false // the next one cancels
				fmt.Fprintln(stderr, "draining: sources end, what is open comes out; again to cancel")
				close(draining)
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, draining, cancel
}

func program[O any](ctx context.Context, signals <-chan os.Signal, name string, args []string, stdout, stderr io.Writer,
	build func(*Pipeline, O) error) int {
	var flags struct {
		Program O           `embed:""`
		Engine  engineFlags `embed:"" group:"Engine"`
	}
	exit := -1
	parser, err := kong.New(&flags, kong.Name(name), kong.Writers(stdout, stderr), kong.Exit(func(code int) { exit = code }))
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return 2
	}
	_, err = parser.Parse(args)
	switch {
	case exit >= 0: // --help
		return exit
	case err != nil:
		fmt.Fprintf(stderr, "%s: %v (see --help)\n", name, err)
		return 2
	case flags.Engine.Parallelism < 0 || flags.Engine.MaxBundle < 0:
		fmt.Fprintf(stderr, "%s: --parallelism and --max-bundle must not be negative\n", name)
		return 2
	}
	ctx, draining, stop := onSignals(ctx, signals, flags.Engine.OnTerm == "drain", stderr)
	defer stop()
	embedded := Embedded{
		Parallelism: flags.Engine.Parallelism, MaxBundle: flags.Engine.MaxBundle, Drain: draining, Progress: progressLine(stderr),
	}
	if err := launch(ctx, flags.Program, embedded, stderr, build); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return 1
	}
	return 0
}

// launch builds and runs the pipeline.
func launch[O any](ctx context.Context, options O, r Embedded, stderr io.Writer, build func(*Pipeline, O) error) (err error) {
	defer func() {
		if x := recover(); x != nil {
			wrong, ok := x.(*BuildError)
			if !ok {
				panic(x)
			}
			err = wrong
		}
	}()
	if x, ok := any(&options).(Preparer); ok {
		if err := x.Prepare(ctx); err != nil {
			return err
		}
	}
	began := time.Now()
	p := New()
	if err := build(p, options); err != nil {
		return errors.Join(err, p.Err())
	}
	result, err := p.Run(ctx, r)
	if err != nil {
		return err
	}
	if x, ok := any(&options).(Summarizer); ok {
		fmt.Fprintln(stderr, x.Summary(result, time.Since(began)))
	}
	return nil
}

// progressLine returns what shows a run's progress on w, nil if w is not a terminal.
func progressLine(w io.Writer) func(Progress) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	var bar *progressbar.ProgressBar
	return func(p Progress) {
		if bar == nil {
			total := p.Total
			if total <= 0 {
				total = -1 // not known: a spinner
			}
			bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(w), progressbar.OptionShowBytes(true),
				progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(0), progressbar.OptionUseANSICodes(true))
		}
		bar.Describe(fmt.Sprintf("%d records", p.Records))
		if p.Total > 0 {
			_ = bar.Set64(min(p.Bytes, p.Total))
		} else {
			_ = bar.Add64(p.Bytes - bar.State().CurrentNum)
		}
		if p.Done {
			_ = bar.Finish()
			_ = bar.Clear()
		}
	}
}
