package levada_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/internal/graph"
	"github.com/levadaflow/levada/internal/invariants"
	"github.com/levadaflow/levada/window"
)

// bare is a stage bound without an engine, to measure what one element costs in it.
type bare[T any] struct {
	e    *exec.Elem
	sink exec.Sink[T]
}

// bind binds the first stage of a pipeline that build makes behind a root.
func bind[T any](t testing.TB, build func(levada.PCollection[T])) *bare[T] {
	t.Helper()
	p := levada.New()
	b := &bare[T]{e: &exec.Elem{Run: &exec.Run{Ctx: context.Background()}}}
	root := &exec.RootOp{Bind: func(_ *exec.Binder, _ *exec.Inst, outs []any) exec.RootTask {
		b.sink = outs[0].(exec.Sink[T])
		return nil
	}}
	build(levada.RootOf[T](p, "in", root, false))
	g, err := p.Build()
	if err != nil {
		t.Fatal(err)
	}
	binder := &exec.Binder{Elem: b.e, Tasks: 1, Metrics: exec.NewMetrics()}
	exec.Bind(g.Fuse()[0], binder, func(graph.Edge) exec.Output { return &loop{} })
	return b
}

func (b *bare[T]) push(v T, t event.Time) {
	b.e.Begin(t)
	b.sink(b.e, v)
}

// loop is an exchange whose batches come back at once.
type loop struct{ back exec.Payload }

func (l *loop) Receivers() int                { return 1 }
func (l *loop) Take(int) (exec.Payload, bool) { return l.back, true }
func (l *loop) Send(_ int, p exec.Payload)    { p.Reset(); l.back = p }
func (l *loop) Mark() event.Time              { return event.Min }

type hit struct {
	user   string
	status int
	bytes  int64
}

// allSteps is a chain of every fused step.
func allSteps(in levada.PCollection[hit]) {
	mapped := levada.Map(in, "map", func(h hit) hit { return h })
	tried := levada.TryMap(mapped, "try", func(h hit) (hit, error) { return h, nil })
	kept := levada.Filter(tried, "filter", func(h hit) bool { return h.status > 0 })
	flat := levada.FlatMap(kept, "flat", once)
	timed := levada.WithTimestamps(flat, "times", func(hit) event.Time { return 70_000 })
	mt := levada.MapTimed(timed, "map-timed", func(h hit) (event.Time, hit) { return 80_000, h })
	done := levada.ParDo(mt, "do", func(s *levada.Setup, out *levada.Out[hit]) levada.Process[hit] {
		n := s.Counter("n")
		return func(c *levada.Ctx, h hit) error {
			n.Inc(1)
			out.Emit(c, h)
			out.EmitAt(c, h, c.Time()+1)
			return nil
		}
	})
	fixed := levada.WindowInto(done, "fixed", levada.Windowing{Windows: window.Fixed(time.Minute)})
	slide := levada.WindowInto(done, "slide", levada.Windowing{Windows: window.Sliding(time.Minute, 20*time.Second)})
	both := levada.Flatten("both", fixed, fixed)
	levada.CountPerKey(levada.KeyBy(both, "key", func(h hit) string { return h.user }), "count")
	levada.Reshuffle(slide, "spread")
}

// once is a sequence of one that needs no allocation: it is the same function for all.
func once(h hit) iter.Seq[hit] {
	current = h
	return yieldCurrent
}

var current hit

func yieldCurrent(yield func(hit) bool) { yield(current) }

// TestAllocs holds the budget: no allocation per element in a fused chain, up to and into the exchange.
func TestAllocs(t *testing.T) {
	if invariants.Enabled {
		t.Skip("the invariants allocate")
	}
	b := bind(t, allSteps)
	h := hit{"user", 200, 5000}
	for range 10 * exec.BatchSize { // fills the batches
		b.push(h, 60_000)
	}
	if n := testing.AllocsPerRun(5000, func() { b.push(h, 60_000) }); n != 0 {
		t.Errorf("%v allocations per element", n)
	}
	if b.e.Err != nil {
		t.Error(b.e.Err)
	}
}

func BenchmarkChain(b *testing.B) {
	c := bind(b, allSteps)
	h := hit{"user", 200, 5000}
	b.ReportAllocs()
	for b.Loop() {
		c.push(h, 60_000)
	}
}

func BenchmarkMap(b *testing.B) {
	c := bind(b, func(in levada.PCollection[int]) {
		for _, name := range []string{"a", "b", "c", "d"} {
			in = levada.Map(in, name, func(v int) int { return v + 1 })
		}
	})
	b.ReportAllocs()
	for b.Loop() {
		c.push(1, 60_000)
	}
}

// The following run with the invariants on only: go test -race, or -tags invariants.

func runChecked(t *testing.T, build func(in levada.PCollection[[]byte])) error {
	t.Helper()
	if !invariants.Enabled {
		t.Skip("the invariants are off")
	}
	p := levada.New()
	build(levada.Create(p, "in", []byte("a"), []byte("b")))
	_, err := p.Run(t.Context(), levada.Embedded{Parallelism: 2})
	return err
}

func violated(t *testing.T, err error, text string) {
	t.Helper()
	var v *invariants.Violation
	if !errors.As(err, &v) || !strings.Contains(v.Text, text) {
		t.Errorf("%v, want a violation %q", err, text)
	}
}

func TestInvariantContextAfterUse(t *testing.T) {
	err := runChecked(t, func(in levada.PCollection[[]byte]) {
		levada.ForEach(in, "keeps", func(*levada.Setup) levada.Process[[]byte] {
			var kept *levada.Ctx
			return func(c *levada.Ctx, _ []byte) error {
				if kept != nil {
					_ = kept.Time()
				}
				kept = c
				return nil
			}
		})
	})
	violated(t, err, "step keeps uses the context of a call that has returned")
}

func TestInvariantElementChanged(t *testing.T) {
	err := runChecked(t, func(in levada.PCollection[[]byte]) {
		out := levada.ParDo(in, "changes", func(_ *levada.Setup, out *levada.Out[[]byte]) levada.Process[[]byte] {
			return func(c *levada.Ctx, v []byte) error {
				buf := []byte("x")
				out.Emit(c, buf)
				buf[0] = 'y'
				return nil
			}
		})
		levada.Reshuffle(out, "spread") // at parallelism 1 nothing would be between the two
	})
	violated(t, err, "an element was changed after it had been emitted")
}
