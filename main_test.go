package levada_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/levadaflow/levada"
)

// mainOptions are the options of the program under test, which counts to N.
type mainOptions struct {
	N    int    `help:"How far to count." default:"3"`
	Wait bool   `help:"Wait for the end of the run."`
	Mode string `help:"What goes wrong." enum:"nothing,prepare,build,duplicate,step,panic" default:"nothing"`
}

// Prepare implements levada.Preparer.
func (o mainOptions) Prepare(ctx context.Context) error {
	if o.Mode == "prepare" {
		return errors.New("not prepared")
	}
	return ctx.Err()
}

// Summary implements levada.Summarizer.
func (o mainOptions) Summary(r *levada.Result, took time.Duration) string {
	return fmt.Sprintf("summary: counted %d, took long: %v", r.Counter("count", "n"), took < 0 || took > time.Minute)
}

func buildMain(p *levada.Pipeline, o mainOptions) error {
	in := levada.Create(p, "in", ints(o.N)...)
	switch o.Mode {
	case "build":
		return errors.New("not built")
	case "duplicate":
		levada.Map(in, "in", id[int])
	case "step":
		levada.TryMap(in, "step", func(v int) (int, error) { return v, fmt.Errorf("no %d", v) })
	case "panic":
		levada.Map(in, "step", func(int) int { panic("oh") })
	}
	levada.ForEach(in, "count", func(s *levada.Setup) levada.Process[int] {
		n := s.Counter("n")
		return func(c *levada.Ctx, _ int) error {
			n.Inc(1)
			if o.Wait {
				<-c.Context().Done()
			}
			return nil
		}
	})
	return nil
}

// outcome is what a program leaves behind.
type outcome struct {
	code           int
	stdout, stderr string
}

func program[O any](ctx context.Context, build func(*levada.Pipeline, O) error, args ...string) outcome {
	var stdout, stderr bytes.Buffer
	code := levada.Exec(ctx, "counter", args, &stdout, &stderr, build)
	return outcome{code, stdout.String(), stderr.String()}
}

// TestExec shows exit code and texts of every way in which a program ends. Nothing but the help is on stdout, and the summary
// is there only after a good run.
func TestExec(t *testing.T) {
	const good = "summary: counted 3, took long: false\n"
	cases := map[string]struct {
		args []string
		code int
		text []string // in stderr; of a good run all of it
	}{
		"good":            {nil, 0, []string{good}},
		"flags":           {[]string{"--n=5", "--parallelism", "2", "--max-bundle=1"}, 0, []string{strings.Replace(good, "3", "5", 1)}},
		"zero":            {[]string{"--parallelism=0", "--max-bundle=0"}, 0, []string{good}},
		"unknown flag":    {[]string{"--frob"}, 2, []string{"counter: ", "--frob", "--help"}},
		"argument":        {[]string{"frob"}, 2, []string{"counter: ", "frob", "--help"}},
		"no number":       {[]string{"--n=many"}, 2, []string{"counter: ", "--n", "many"}},
		"not in the enum": {[]string{"--mode=other"}, 2, []string{"counter: ", "--mode", "other"}},
		"parallelism":     {[]string{"--parallelism=-1"}, 2, []string{"counter: ", "--parallelism", "negative"}},
		"max-bundle":      {[]string{"--max-bundle=-1"}, 2, []string{"counter: ", "--max-bundle", "negative"}},
		"prepare":         {[]string{"--mode=prepare"}, 1, []string{"counter: not prepared\n"}},
		"build":           {[]string{"--mode=build"}, 1, []string{"counter: not built\n"}},
		"duplicate":       {[]string{"--mode=duplicate"}, 1, []string{"counter: ", "main_test.go:43: step in: duplicate step name", "main_test.go:38"}},
		"step":            {[]string{"--mode=step"}, 1, []string{"counter: step step, element 0 at ", "in window global: no 0\n"}},
		"panic":           {[]string{"--mode=panic"}, 1, []string{"counter: step step, element 0 at ", "panic: oh\n", "main_test.go:47"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			checkGoroutines(t)
			got := program(t.Context(), buildMain, c.args...)
			if got.code != c.code || got.stdout != "" {
				t.Errorf("exit code %d, want %d; stdout %q", got.code, c.code, got.stdout)
			}
			for _, text := range c.text {
				if !strings.Contains(got.stderr, text) || c.code == 0 && got.stderr != text {
					t.Errorf("stderr has no %q:\n%s", text, got.stderr)
				}
			}
			if c.code != 0 && strings.Contains(got.stderr, "summary") {
				t.Errorf("a summary after a failure:\n%s", got.stderr)
			}
		})
	}
}

// TestExecHelp shows that the help has the program's flags and the engine's, and that nothing is built or run for it.
func TestExecHelp(t *testing.T) {
	for _, flag := range []string{"--help", "-h"} {
		got := program(t.Context(), func(*levada.Pipeline, mainOptions) error { panic("built") }, flag, "--mode=prepare")
		if got.code != 0 || got.stderr != "" {
			t.Errorf("exit code %d, stderr %q", got.code, got.stderr)
		}
		for _, text := range []string{"Usage: counter [flags]", "--n=3", "How far to count.", "--parallelism=0", "--max-bundle=0"} {
			if !strings.Contains(got.stdout, text) {
				t.Errorf("%q is missing in\n%s", text, got.stdout)
			}
		}
	}
}

// TestExecCancel shows that a program whose context ends, before or while it runs, fails and says so.
func TestExecCancel(t *testing.T) {
	checkGoroutines(t)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	for _, when := range []string{"while it runs", "before"} {
		got := program(ctx, buildMain, "--wait", "--parallelism=2")
		if got.code != 1 || got.stdout != "" || !strings.HasPrefix(got.stderr, "counter: ") ||
			!strings.Contains(got.stderr, context.Canceled.Error()) || strings.Contains(got.stderr, "summary") {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", when, got.code, got.stdout, got.stderr)
		}
	}
}

// TestExecBadOptions shows that a mistake of the program's options is told, not panicked with.
func TestExecBadOptions(t *testing.T) {
	type clash struct{ Parallelism int }
	got := program(t.Context(), func(*levada.Pipeline, clash) error { return nil })
	if got.code != 2 || got.stdout != "" || !strings.Contains(got.stderr, "--parallelism") {
		t.Errorf("%+v", got)
	}
}

// TestExecPlainOptions shows that options need neither Prepare nor Summary.
func TestExecPlainOptions(t *testing.T) {
	if got := program(t.Context(), func(*levada.Pipeline, struct{}) error { return nil }); got != (outcome{}) {
		t.Errorf("%+v", got)
	}
}

// TestExecNoTerminal shows that a file which is no terminal gets no progress, also when the run takes longer than the time from
// one call to the next.
func TestExecNoTerminal(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	code := levada.Exec(t.Context(), "counter", nil, io.Discard, w, func(p *levada.Pipeline, _ struct{}) error {
		levada.Map(levada.Create(p, "in", 1), "slow", func(v int) int { time.Sleep(250 * time.Millisecond); return v })
		return nil
	})
	w.Close()
	text, err := io.ReadAll(r)
	if code != 0 || err != nil || len(text) != 0 {
		t.Errorf("exit code %d, stderr %q, %v", code, text, err)
	}
}
