package levada_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/levadatest"
)

// The tests in the files beam_*_test.go show what tests of Beam's Java SDK show. Their subtests have the names of these, and
// docs/beam-tests.tsv says which is which.

// beamModes are the executions that they run in.
var beamModes = []levada.Embedded{{Parallelism: 1}, {Parallelism: 4}}

// el is an element with its time.
func el[T any](at event.Time, v T) levada.Timed[T] { return levada.Timed[T]{Value: v, Time: at} }

// atMin are elements without times.
func atMin[T any](values ...T) []levada.Timed[T] {
	var all []levada.Timed[T]
	for _, v := range values {
		all = append(all, el(event.Min, v))
	}
	return all
}

func pair[K, V any](k K, v V) levada.KV[K, V] { return levada.KV[K, V]{Key: k, Value: v} }

// valueOf, timed and windowed are ways to show an element.
func valueOf[T any](e element[T]) string { return fmt.Sprint(e.Value) }
func timed[T any](e element[T]) string   { return fmt.Sprintf("%v@%d", e.Value, e.Time) }
func windowed[T any](e element[T]) string {
	return fmt.Sprintf("%v@%d [%d,%d)", e.Value, e.Time, e.Window.Start, e.Window.End)
}

// shown returns what has come, sorted.
func shown[T any](c *levadatest.Collected[T], show func(element[T]) string) []string {
	var all []string
	for _, e := range c.Take() {
		all = append(all, show(e))
	}
	slices.Sort(all)
	return all
}

// same compares two lists, whatever their order.
func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// eachBeamMode runs a subtest in every mode.
func eachBeamMode(t *testing.T, name string, f func(t *testing.T, h *levadatest.Harness)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		for _, mode := range beamModes {
			t.Run(fmt.Sprint("p", mode.Parallelism), func(t *testing.T) {
				h := levadatest.New(t)
				h.Run = mode
				f(t, h)
			})
		}
	})
}

// beam runs a pipeline on an input and compares what comes out, in any order. A bounded input is created; an unbounded one comes
// from a source whose watermark is at event.Min until all has come, and which then ends.
func beam[I, O any](t *testing.T, name string, unbounded bool, in []levada.Timed[I],
	build func(in levada.PCollection[I]) levada.PCollection[O], show func(element[O]) string, want ...string) {
	t.Helper()
	eachBeamMode(t, name, func(t *testing.T, h *levadatest.Harness) {
		t.Helper()
		same(t, through(h, unbounded, in, build, show), want...)
	})
}

// through returns what comes out of a pipeline, sorted; see beam.
func through[I, O any](h *levadatest.Harness, unbounded bool, in []levada.Timed[I],
	build func(in levada.PCollection[I]) levada.PCollection[O], show func(element[O]) string) []string {
	var src *levadatest.Src[I]
	var input levada.PCollection[I]
	if unbounded {
		src = levadatest.Source[I](h, "in")
		input = src.Out
	} else {
		input = levada.CreateTimed(h.Pipeline, "in", in...)
	}
	got := levadatest.Collect(h, build(input))
	h.Start()
	if unbounded {
		for _, e := range in {
			src.Add(e.Time, e.Value)
		}
	}
	h.Finish()
	return shown(got, show)
}

// windows is a window step.
func windows[T any](in levada.PCollection[T], w levada.Windowing) levada.PCollection[T] {
	return levada.WindowInto(in, "windows", w)
}

// beamOptions are the options of a program.
type beamOptions struct {
	FakeOption string `help:"Anything." default:"fake"`
}

// TestBeamOptions shows that the options a program is started with are there in a DoFn's setup, its calls and its timers.
func TestBeamOptions(t *testing.T) {
	seen := make(chan string, 1)
	emit := func(in levada.PCollection[string]) {
		levada.Do(in, "see", func(_ *levada.Ctx, s string) error { seen <- s; return nil })
	}
	for name, build := range map[string]func(p *levada.Pipeline, o beamOptions) error{
		"testPipelineOptionsParameter": func(p *levada.Pipeline, o beamOptions) error {
			emit(levada.Map(levada.Create(p, "in", 1), "step", func(int) string { return o.FakeOption }))
			return nil
		},
		"testSetupParameter": func(p *levada.Pipeline, o beamOptions) error {
			emit(levada.ParDo(levada.Create(p, "in", 1), "step", func(s *levada.Setup, out *levada.Out[string]) levada.Process[int] {
				var mine string
				s.OnStart(func(context.Context) error { mine = o.FakeOption; return nil })
				return func(c *levada.Ctx, _ int) error { out.Emit(c, mine); return nil }
			}))
			return nil
		},
		"testPipelineOptionsParameterOnTimer": func(p *levada.Pipeline, o beamOptions) error {
			in := levada.Create(p, "in", pair("a", 1))
			emit(levada.ParDoKeyed(in, "step", func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
				timer := levada.EventTimer(s, "timer")
				timer.OnFire(func(c *levada.Ctx, _ string) error { out.Emit(c, o.FakeOption); return nil })
				return func(c *levada.Ctx, _ keyInt) error { timer.Set(c, c.Window().Last()); return nil }
			}))
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			if code := levada.Exec(t.Context(), "program", []string{"--fake-option=my value"}, io.Discard, io.Discard, build); code != 0 {
				t.Fatalf("exit code %d", code)
			}
			select {
			case s := <-seen:
				if s != "my value" {
					t.Errorf("%q", s)
				}
			case <-time.After(time.Second):
				t.Error("nothing has come")
			}
		})
	}
}

// moves returns a function that is told of the state which an instance comes to, and fails the test if it has not been in one of those
// that may come before. The first is "new".
func moves(t *testing.T) func(to string, from ...string) {
	state := "new"
	return func(to string, from ...string) {
		if !slices.Contains(from, state) {
			t.Errorf("%s after %s", to, state)
		}
		state = to
	}
}
