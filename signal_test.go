package levada_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/combine"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/window"
)

type tickingOptions struct {
	Hang bool `help:"The results wait for the end of the run."`
}

// ticking emits something every 10 ms and counts it in windows that are far from their end.
func ticking(p *levada.Pipeline, o tickingOptions) error {
	out := levada.ParDoSplit(levada.Impulse(p, "impulse"), "ticks", unbounded(), func(s *levada.Splitting, out *levada.Out[int]) polling {
		levada.MonotonicWatermark(s)
		return func(c *levada.Ctx, _ []byte, claim *claim) (levada.Resume, error) {
			if i := claim.Restriction().From; claim.TryClaim(i) {
				out.EmitAt(c, 1, event.Time(i))
				fmt.Println("tick")
			}
			return levada.ResumeAfter(10 * time.Millisecond), nil
		}
	})
	hours := levada.WindowInto(out, "hours", levada.Windowing{Windows: window.Fixed(time.Hour)})
	levada.Do(levada.CombineGlobally(hours, "sum", combine.Sum[int]()), "print", func(c *levada.Ctx, n int) error {
		fmt.Println("sum", n > 0)
		if o.Hang {
			<-c.Context().Done()
		}
		return nil
	})
	return nil
}

// TestSignalProgram is the program that TestSignals runs.
func TestSignalProgram(t *testing.T) {
	flags := os.Getenv("LEVADA_TEST_SIGNALS")
	if flags == "" {
		t.Skip("run by TestSignals")
	}
	os.Args = append([]string{"program"}, strings.Fields(flags)...)
	levada.Main("program", ticking)
}

// TestSignals shows what signals do to a program.
func TestSignals(t *testing.T) {
	for _, c := range []struct {
		flags  string
		signal os.Signal
		code   int
		sum    bool
	}{
		{"--on-term=drain", syscall.SIGTERM, 0, true},
		{"--on-term=drain", os.Interrupt, 1, false},
		{"--on-term=cancel", syscall.SIGTERM, 1, false},
		{"--on-term=drain --hang", syscall.SIGTERM, 1, true}, // a second one cancels
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestSignalProgram$")
		cmd.Env = append(os.Environ(), "LEVADA_TEST_SIGNALS="+c.flags)
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines, sum, sent := bufio.NewScanner(stdout), false, false
		for lines.Scan() {
			if !sent {
				sent = true
				if err := cmd.Process.Signal(c.signal); err != nil {
					t.Error(err)
				}
			}
			if lines.Text() == "sum true" {
				if sum = true; strings.Contains(c.flags, "--hang") {
					_ = cmd.Process.Signal(c.signal)
				}
			}
		}
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != c.code || sum != c.sum {
			t.Errorf("%s, %v: exit code %d, results %v", c.flags, c.signal, code, sum)
		}
		cancel()
	}
}
