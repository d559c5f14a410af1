package levada_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/combine"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/io/textio"
	"github.com/levadaflow/levada/levadatest"
	"github.com/levadaflow/levada/window"
)

// The mean of each window, over all its elements. Behind it the keys are gone.
func ExampleCombineGlobally() {
	p := levada.New()
	readings := levada.CreateTimed(p, "readings", at10(0, 17), at10(30, 20), at10(60, 22))
	minutes := levada.WindowInto(readings, "minutes", levada.Windowing{Windows: window.Fixed(time.Minute)})
	printPanes(levada.CombineGlobally(minutes, "mean", combine.Mean[int]()))
	mustRun(p)
	// Output:
	// [10:00:00, 10:01:00) 18.5
	// [10:01:00, 10:02:00) 22
}

// Counters, distributions and watermarks are in the result, by the paths of their steps.
func ExamplePipeline_Run() {
	p := levada.New()
	words := levada.Create(p, "words", "water", "runs", "down")
	levada.ForEach(words, "look", func(s *levada.Setup) levada.Process[string] {
		short, lengths := s.Counter("short"), s.Distribution("lengths")
		return func(_ *levada.Ctx, word string) error {
			lengths.Update(int64(len(word)))
			if len(word) < 5 {
				short.Inc(1)
			}
			return nil
		}
	})
	result, err := p.Run(context.Background(), levada.Embedded{}) // in all processors
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Counter("look", "short"), "short words")
	fmt.Printf("%+v\n", result.Distribution("look", "lengths"))
	// Output:
	// 2 short words
	// {Step:look Name:lengths Count:3 Sum:13 Min:4 Max:5}
}

// A run ends early when its context does.
func ExamplePipeline_Run_cancel() {
	p := levada.New()
	levada.ForEach(levada.Create(p, "in", 1), "wait", func(*levada.Setup) levada.Process[int] {
		return func(c *levada.Ctx, _ int) error {
			<-c.Context().Done() // what may wait looks at the context
			return nil
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	_, err := p.Run(ctx, levada.Embedded{})
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	// Output: true
}

// Progress counts what sources read. The last call has Done set.
func ExampleEmbedded() {
	p := levada.New()
	textio.Read(p, "read", textio.ReadFiles{Glob: "-", Stdin: strings.NewReader("one\ntwo\nthree\n")})
	_, err := p.Run(context.Background(), levada.Embedded{
		Parallelism: 2,
		Progress: func(p levada.Progress) {
			if p.Done {
				fmt.Println(p.Records, "records,", p.Bytes, "bytes")
			}
		},
	})
	fmt.Println(err)
	// Output:
	// 3 records, 14 bytes
	// <nil>
}

// All mistakes of building are reported together, when the pipeline is run, each with the line of its call.
func ExampleBuildErrors() {
	p := levada.New()
	in := levada.Create(p, "in", 1.5, 2.5)
	levada.Filter(in, "in", func(v float64) bool { return v > 2 })
	levada.CountPerKey(levada.KeyBy(in, "by-value", func(v float64) float64 { return v }), "count")

	_, err := p.Run(context.Background(), levada.Embedded{})
	var all levada.BuildErrors
	if errors.As(err, &all) {
		for _, e := range all { // e.Site is the file and line
			fmt.Println(e.Step, errors.Is(e, levada.ErrDuplicateName), errors.Is(e, levada.ErrKeyType))
		}
	}
	// Output:
	// in true false
	// count false true
}

// Err says what is wrong so far, before the pipeline is run.
func ExamplePipeline_Err() {
	p := levada.New()
	in := levada.Create(p, "in", 1)
	fmt.Println(p.Err())
	levada.WindowInto(in, "windows", levada.Windowing{Windows: window.Fixed(0)})
	fmt.Println(errors.Is(p.Err(), levada.ErrBadWindow))
	// Output:
	// <nil>
	// true
}

// An error or a panic of user code ends the run, and says where it was.
func ExampleStepError() {
	p := levada.New()
	texts := levada.Create(p, "texts", "1", "two")
	levada.TryMap(texts, "parse", strconv.Atoi)

	_, err := p.Run(context.Background(), levada.Embedded{})
	var at *levada.StepError
	if errors.As(err, &at) {
		fmt.Printf("step %s, element %s, window %s: %v\n", at.Step, at.Element, at.Window, at.Err)
	}
	// Output: step parse, element two, window global: strconv.Atoi: parsing "two": invalid syntax
}

// The result of a run that goes on says how far each step has come, and what keeps it back.
func ExampleResult() {
	d := levadatest.NewDriver()
	src := levadatest.AddScript[string](d, "src")
	minutes := levada.WindowInto(src.Out, "minutes", levada.Windowing{
		Windows:    window.Fixed(time.Minute),
		OutputTime: levada.Earliest, // the result will be at 10 s: nothing after it may pass before
	})
	levada.CountPerKey(levada.KeyBy(minutes, "by-word", func(w string) string { return w }), "count")
	must(src.Add(10_000, "water"))
	must(src.Watermark(30_000))
	for _, s := range d.Result().Steps {
		if s.Held != (levada.Held{}) {
			fmt.Printf("%s is at %d ms, has passed on %d ms: held by a %s\n", s.Name, s.In.Millis(), s.Out.Millis(), s.Held.Kind)
		}
	}
	d.Stop()
	// Output: count is at 30000 ms, has passed on 10000 ms: held by a pane
}

// greetings are a program's options: the tags are kong's.
type greetings struct {
	Name  []string `help:"Whom to greet." required:""`
	Shout bool     `help:"Say it loudly."`
}

// build builds the program's pipeline.
func (o greetings) build(p *levada.Pipeline) {
	names := levada.Create(p, "names", o.Name...)
	greeted := levada.Map(names, "greet", func(name string) string { return "hello " + name })
	if o.Shout {
		greeted = levada.Map(greeted, "shout", strings.ToUpper)
	}
	printEach(greeted)
}

// A program is an options struct and a function that builds. Its main function is one line,
// levada.Main("greet", build), which calls Exec with the command line and exits with the code. Every program also has the
// engine's flags, --parallelism and --max-bundle.
func ExampleExec() {
	build := func(p *levada.Pipeline, o greetings) error {
		o.build(p)
		return nil
	}
	args := []string{"--name=anna", "--name=ben", "--shout", "--parallelism=1"}
	code := levada.Exec(context.Background(), "greet", args, os.Stdout, os.Stderr, build)
	fmt.Println("exit", code)
	// Output:
	// HELLO ANNA
	// HELLO BEN
	// exit 0
}

// KV is what grouping steps take; it can be made by hand too.
func ExampleKV() {
	kv := levada.KV[string, event.Time]{Key: "start", Value: 0}
	fmt.Println(kv)
	// Output: start: 1970-01-01T00:00:00.000Z
}
