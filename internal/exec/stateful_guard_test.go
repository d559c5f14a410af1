package exec_test

import (
	"context"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/internal/graph"
)

// number is an element of the steps with state in this file: key and value.
type number = levada.KV[uint64, int64]

// keyedStep is a step with state, in one task and without an engine.
type keyedStep struct {
	e      *exec.Elem
	push   exec.Sink[number]
	reader exec.Reader
	out    int
}

func newKeyedStep(t testing.TB, w levada.Windowing, fn levada.DoFnKeyed[uint64, int64, int64]) *keyedStep {
	t.Helper()
	return newKeyedStage(t, func(in levada.PCollection[number]) levada.PCollection[int64] {
		return levada.ParDoKeyed(levada.WindowInto(in, "w", w), "step", fn)
	})
}

// newKeyedStage is newKeyedStep for steps that make one exchange by key.
func newKeyedStage(t testing.TB, build func(in levada.PCollection[number]) levada.PCollection[int64]) *keyedStep {
	t.Helper()
	g := &keyedStep{e: &exec.Elem{Run: &exec.Run{Ctx: context.Background()}}}
	root := &exec.RootOp{Bind: func(_ *exec.Binder, _ *exec.Inst, outs []any) exec.RootTask {
		g.push = outs[0].(exec.Sink[number])
		return nil
	}}
	p := levada.New()
	levada.Do(build(levada.RootOf[number](p, "in", root, false)), "out", func(*levada.Ctx, int64) error { g.out++; return nil })
	built, err := p.Build()
	if err != nil {
		t.Fatal(err)
	}
	stages := built.Fuse()
	b := &exec.Binder{Elem: g.e, Tasks: 1, Metrics: exec.NewMetrics()}
	g.reader = exec.Bind(stages[1], b, nil).Reader
	b = &exec.Binder{Elem: g.e, Tasks: 1, Metrics: b.Metrics, Direct: func(graph.Edge) exec.Reader { return g.reader }}
	exec.Bind(stages[0], b, nil)
	return g
}

func (g *keyedStep) add(t testing.TB, key uint64, v int64, at event.Time) {
	g.e.Begin(at)
	if g.push(g.e, number{Key: key, Value: v}); g.e.Err != nil {
		t.Fatal(g.e.Err)
	}
}

// silence emits how many elements a key had when none has come for a minute.
func silence(s *levada.Keyed[uint64], out *levada.Out[int64]) levada.Process[number] {
	seen := levada.ValueState[int64](s, "seen")
	timer := levada.EventTimer(s, "silence")
	timer.OnFire(func(c *levada.Ctx, _ uint64) error {
		n, _ := seen.Read(c)
		seen.Clear(c)
		out.Emit(c, n)
		return nil
	})
	return func(c *levada.Ctx, _ number) error {
		n, _ := seen.Read(c)
		seen.Write(c, n+1)
		timer.Set(c, c.Time()+60_000)
		return nil
	}
}

// TestStatefulAllocs: elements, timers and the coming and going of keys cost less than a twentieth of an allocation each, even if all goes at once.
func TestStatefulAllocs(t *testing.T) {
	skipChecked(t)
	g := newKeyedStep(t, levada.Windowing{}, silence)
	at := event.Time(0)
	round := func() {
		for key := range uint64(1000) {
			g.add(t, key, 1, at)
			g.add(t, key, 1, at+1)
		}
		at += 100_000
		g.reader.Advance(g.e, at)
	}
	round()
	if n := testing.AllocsPerRun(10, round); n > 100 {
		t.Errorf("%v allocations for 1000 keys and timers", n)
	}
	if g.out < 11_000 {
		t.Errorf("%d timers fired", g.out)
	}
}

// TestStatefulGivesMemoryBack: keys whose state was cleared, and windows that have expired, leave nothing behind.
func TestStatefulGivesMemoryBack(t *testing.T) {
	skipChecked(t)
	keys := uint64(100_000)
	if os.Getenv("LEVADA_LONG") != "" {
		keys = 1_000_000
	}
	for name, c := range map[string]struct {
		w  levada.Windowing
		to event.Time
	}{"cleared": {levada.Windowing{}, 200_000}, "expired": {minutes(), 60_000}} {
		g := newKeyedStep(t, c.w, silence)
		if name == "expired" {
			g = newKeyedStep(t, c.w, func(s *levada.Keyed[uint64], _ *levada.Out[int64]) levada.Process[number] {
				bag := levada.BagState[int64](s, "bag")
				return func(c *levada.Ctx, kv number) error { bag.Add(c, kv.Value); return nil }
			})
		}
		before := heap()
		for key := range keys {
			g.add(t, key, 1, 1000)
		}
		full := heap() - before
		g.reader.Advance(g.e, c.to)
		if left := heap() - before; full < int64(keys)*40 || left > 200<<10 {
			t.Errorf("%s: %d bytes of %d are left", name, left, full)
		}
	}
}

// TestTimerMemory: a pending timer costs at most 64 bytes beyond what its key costs without one.
func TestTimerMemory(t *testing.T) {
	skipChecked(t)
	n := uint64(300_000)
	if os.Getenv("LEVADA_LONG") != "" {
		n = 10_000_000
	}
	type step = levada.DoFnKeyed[uint64, int64, int64]
	bytes := func(set func(c *levada.Ctx, event, processing levada.Timer[uint64])) float64 {
		var fn step = func(s *levada.Keyed[uint64], _ *levada.Out[int64]) levada.Process[number] {
			seen := levada.ValueState[bool](s, "seen")
			e, p := levada.EventTimer(s, "e"), levada.ProcessingTimer(s, "p")
			e.OnFire(func(*levada.Ctx, uint64) error { return nil })
			p.OnFire(func(*levada.Ctx, uint64) error { return nil })
			return func(c *levada.Ctx, _ number) error {
				seen.Write(c, true)
				set(c, e, p)
				return nil
			}
		}
		g := newKeyedStep(t, levada.Windowing{}, fn)
		before := heap()
		for key := range n {
			g.add(t, key, 1, event.Time(key*7919%1_000_000))
		}
		used := float64(heap()-before) / float64(n)
		g.reader.Advance(g.e, event.Min)
		return used
	}
	bare := bytes(func(*levada.Ctx, levada.Timer[uint64], levada.Timer[uint64]) {})
	t.Logf("a key with state: %.1f bytes, 8 of them its own", bare)
	for name, set := range map[string]func(c *levada.Ctx, event, processing levada.Timer[uint64]){
		"event":          func(c *levada.Ctx, e, _ levada.Timer[uint64]) { e.SetAfter(c, time.Minute) },
		"without a hold": func(c *levada.Ctx, e, _ levada.Timer[uint64]) { e.SetWithoutHold(c, c.Time()+60_000) },
		"processing":     func(c *levada.Ctx, _, p levada.Timer[uint64]) { p.SetAfter(c, time.Minute) },
	} {
		timer := bytes(set) - bare
		t.Logf("%s timer: %.1f bytes", name, timer)
		if timer > 64 {
			t.Errorf("%s timer: %.1f bytes", name, timer)
		}
	}
}

func BenchmarkStateful(b *testing.B) {
	for _, c := range []struct {
		name string
		fn   levada.DoFnKeyed[uint64, int64, int64]
	}{
		{"value", func(s *levada.Keyed[uint64], out *levada.Out[int64]) levada.Process[number] {
			seen := levada.ValueState[int64](s, "seen")
			return func(c *levada.Ctx, _ number) error {
				n, _ := seen.Read(c)
				seen.Write(c, n+1)
				return nil
			}
		}},
		{"value and timer", silence},
	} {
		b.Run(c.name, func(b *testing.B) {
			g := newKeyedStep(b, levada.Windowing{}, c.fn)
			r := rand.New(rand.NewPCG(1, 2))
			n := int64(0)
			b.ReportAllocs()
			for b.Loop() {
				g.add(b, r.Uint64N(10_000), 1, event.Time(n/2))
				if n++; n%1000 == 0 {
					g.reader.Advance(g.e, event.Time(n/2))
				}
			}
		})
	}
}
