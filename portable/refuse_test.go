package portable_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/io/textio"
	"github.com/levadaflow/levada/portable"
	"github.com/levadaflow/levada/trigger"
	"github.com/levadaflow/levada/window"
)

// counted is a grouping with a windowing.
func counted(w levada.Windowing) func(p *levada.Pipeline) {
	return func(p *levada.Pipeline) {
		in := levada.WindowInto(levada.Create(p, "in", "a"), "window", w)
		levada.CountPerKey(levada.KeyBy(in, "key", func(s string) string { return s }), "count")
	}
}

// refused are pipelines that this runner cannot run yet: with the step, and what is said of it.
var refused = map[string]struct {
	build      func(p *levada.Pipeline)
	step, what string
}{
	"reading files": {func(p *levada.Pipeline) { textio.Read(p, "read", textio.ReadFiles{Glob: "*"}) }, "read", "a source that is read in splits"},
	"writing files": {func(p *levada.Pipeline) {
		textio.Write(levada.Create(p, "in", "a"), "write", textio.WriteFiles{Prefix: "x"})
	}, "write", "a sink whose results become visible at the run's end"},
	"reshuffle": {func(p *levada.Pipeline) { levada.Reshuffle(levada.Create(p, "in", "a"), "spread") }, "spread", "Reshuffle"},
	"state": {func(p *levada.Pipeline) {
		in := levada.KeyBy(levada.Create(p, "in", "a"), "key", func(s string) string { return s })
		levada.ParDoKeyed(in, "state", func(s *levada.Keyed[string], _ *levada.Out[int]) levada.Process[levada.KV[string, string]] {
			seen := levada.ValueState[int](s, "seen")
			return func(c *levada.Ctx, _ levada.KV[string, string]) error { seen.Write(c, 1); return nil }
		})
	}, "state", "state, timers"},
	"late": {func(p *levada.Pipeline) {
		var late levada.LateOf[string, string]
		in := levada.KeyBy(levada.Create(p, "in", "a"), "key", func(s string) string { return s })
		levada.CountPerKey(in, "count", levada.LateTo(&late))
		levada.Do(late, "out", func(*levada.Ctx, levada.KV[string, string]) error { return nil })
	}, "count", "LateTo"},
	"sessions": {counted(levada.Windowing{Windows: window.Sessions(time.Minute)}), "count", "the window function window.Sessions(1m0s)"},
	"days":     {counted(levada.Windowing{Windows: window.Days(time.UTC)}), "count", "the window function window.Days(UTC)"},
	"trigger": {
		counted(levada.Windowing{Trigger: trigger.Repeat{Trigger: trigger.AfterCount(3)}, Accumulation: levada.Discarding}),
		"count", "the trigger ",
	},
	"output time": {counted(levada.Windowing{Windows: window.Fixed(time.Minute), OutputTime: levada.Earliest}), "count", "the output time earliest"},
	"closing":     {counted(levada.Windowing{Windows: window.Fixed(time.Minute), Closing: levada.Always}), "count", "a last pane"},
	"on time":     {counted(levada.Windowing{Windows: window.Fixed(time.Minute), OnTime: levada.NonEmpty}), "count", "a pane at the window's end"},
	"flatten of days": {func(p *levada.Pipeline) {
		days := levada.Windowing{Windows: window.Days(time.UTC)}
		a := levada.WindowInto(levada.Create(p, "a", 1), "days-a", days)
		levada.Flatten("both", a, levada.WindowInto(levada.Create(p, "b", 2), "days-b", days))
	}, "both", "the window function window.Days(UTC)"},
}

// TestRefused shows that what is not supported is refused before anything is submitted, with the step and its place.
func TestRefused(t *testing.T) {
	for name, r := range refused {
		t.Run(name, func(t *testing.T) {
			p := levada.New()
			r.build(p)
			_, err := p.Run(t.Context(), portable.Runner{Endpoint: "localhost:1"})
			var all levada.BuildErrors
			if !errors.Is(err, portable.ErrNotSupported) || !errors.As(err, &all) {
				t.Fatalf("not a refusal: %v", err)
			}
			if len(all) != 1 || all[0].Step != r.step || !strings.Contains(err.Error(), r.what) || !strings.Contains(all[0].Site, "refuse_test.go:") {
				t.Errorf("not a refusal of %s because of %q: %v", r.step, r.what, err)
			}
		})
	}
}

// TestRefusedTogether shows that all refusals come together, and after what is wrong with the pipeline itself.
func TestRefusedTogether(t *testing.T) {
	p := levada.New()
	in := levada.Reshuffle(levada.Create(p, "in", event.Time(1)), "one")
	levada.Reshuffle(in, "two")
	_, err := p.Run(t.Context(), portable.Runner{})
	if all, ok := err.(levada.BuildErrors); !ok || len(all) != 2 {
		t.Errorf("not both: %v", err)
	}
	levada.Reshuffle(in, "two")
	if _, err = p.Run(t.Context(), portable.Runner{}); !errors.Is(err, levada.ErrDuplicateName) || errors.Is(err, portable.ErrNotSupported) {
		t.Errorf("a pipeline that is wrong: %v", err)
	}
}

// TestNobodyThere shows that a job service that cannot be reached is an error, soon.
func TestNobodyThere(t *testing.T) {
	p := levada.New()
	levada.Create(p, "in", 1)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := p.Run(ctx, portable.Runner{Endpoint: "localhost:1"})
	if !errors.Is(err, portable.ErrJob) || !strings.Contains(err.Error(), "localhost:1") {
		t.Errorf("nobody is there: %v", err)
	}
}
