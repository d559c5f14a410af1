package jobs

import (
	"context"
	"math/rand/v2"
	"runtime"
	"strconv"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/internal/graph"
	"github.com/levadaflow/levada/trigger"
	"github.com/levadaflow/levada/window"
)

// costed is an element of the cost jobs.
type costed = levada.KV[string, int64]

// costJobs measure what an element and an open window of a key cost in one step, with its results: in one task, without reading,
// writing or an exchange.
func costJobs() []*Job {
	minute := window.Fixed(time.Minute)
	sum := func(w levada.Windowing) func(levada.PCollection[costed]) levada.PCollection[costed] {
		return func(in levada.PCollection[costed]) levada.PCollection[costed] {
			return levada.SumPerKey(levada.WindowInto(in, "w", w), "step")
		}
	}
	keyed := func(fn levada.DoFnKeyed[string, int64, costed]) func(levada.PCollection[costed]) levada.PCollection[costed] {
		return func(in levada.PCollection[costed]) levada.PCollection[costed] {
			return levada.ParDoKeyed(levada.WindowInto(in, "w", levada.Windowing{Windows: minute}), "step", fn)
		}
	}
	early, late := trigger.AfterWatermark{Early: trigger.AfterDelay(10 * time.Second)}, trigger.AfterWatermark{Late: trigger.AfterCount(1)}
	count := trigger.Repeat{Trigger: trigger.AfterCount(10)}
	var all []*Job
	for _, c := range []struct {
		name    string
		general bool
		build   func(levada.PCollection[costed]) levada.PCollection[costed]
	}{
		{"default", false, sum(levada.Windowing{Windows: minute})},
		{"default-general", true, sum(levada.Windowing{Windows: minute})},
		{"early", false, sum(levada.Windowing{Windows: minute, Trigger: early, Accumulation: levada.Accumulating})},
		{"late", false, sum(levada.Windowing{Windows: minute, Trigger: late, AllowedLateness: time.Minute, Accumulation: levada.Discarding})},
		{"count", false, sum(levada.Windowing{Windows: minute, Trigger: count, Accumulation: levada.Discarding})},
		{"sessions", false, sum(levada.Windowing{Windows: window.Sessions(10 * time.Second)})},
		{"state", false, keyed(countInState)},
		{"state-timer", false, keyed(silenceInState)},
	} {
		all = append(all, &Job{Name: "cost-" + c.name, run: func(Args) (Values, error) { return cost(c.build, c.general) }})
	}
	return all
}

// countInState counts in a value, and emits at the window's end.
func countInState(s *levada.Keyed[string], out *levada.Out[costed]) levada.Process[costed] {
	n := levada.ValueState[int64](s, "n")
	s.OnWindowExpiration(func(c *levada.Ctx, key string) error {
		v, _ := n.Read(c)
		out.Emit(c, costed{Key: key, Value: v})
		return nil
	})
	return func(c *levada.Ctx, kv costed) error {
		v, _ := n.Read(c)
		n.Write(c, v+kv.Value)
		return nil
	}
}

// silenceInState counts in a value, and emits when no element has come for ten seconds, by a timer that each element moves.
func silenceInState(s *levada.Keyed[string], out *levada.Out[costed]) levada.Process[costed] {
	n, silence := levada.ValueState[int64](s, "n"), levada.EventTimer(s, "silence")
	silence.OnFire(func(c *levada.Ctx, key string) error {
		v, _ := n.Read(c)
		n.Clear(c)
		out.Emit(c, costed{Key: key, Value: v})
		return nil
	})
	return func(c *levada.Ctx, kv costed) error {
		v, _ := n.Read(c)
		n.Write(c, v+kv.Value)
		silence.SetAfter(c, 10*time.Second)
		return nil
	}
}

// costStep is a step in one task, without an engine.
type costStep struct {
	e      *exec.Elem
	push   exec.Sink[costed]
	reader exec.Reader
}

func newCostStep(build func(levada.PCollection[costed]) levada.PCollection[costed], general bool) (*costStep, error) {
	g := &costStep{e: &exec.Elem{Run: &exec.Run{Ctx: context.Background()}}}
	root := &exec.RootOp{Bind: func(_ *exec.Binder, _ *exec.Inst, outs []any) exec.RootTask {
		g.push = outs[0].(exec.Sink[costed])
		return nil
	}}
	p := levada.New()
	levada.Do(build(levada.RootOf[costed](p, "in", root, false)), "out", func(*levada.Ctx, costed) error { return nil })
	built, err := p.Build()
	if err != nil {
		return nil, err
	}
	stages, metrics := built.Fuse(), exec.NewMetrics()
	g.reader = exec.Bind(stages[1], &exec.Binder{Elem: g.e, Tasks: 1, Metrics: metrics, General: general}, nil).Reader
	direct := func(graph.Edge) exec.Reader { return g.reader }
	exec.Bind(stages[0], &exec.Binder{Elem: g.e, Tasks: 1, Metrics: metrics, General: general, Direct: direct}, nil)
	return g, nil
}

func (g *costStep) add(key string, at event.Time) {
	g.e.Begin(at)
	g.push(g.e, costed{Key: key, Value: 1})
}

// What the cost jobs do.
const (
	costElements  = 1_000_000
	costKeys      = 10_000
	costPerMinute = 100_000 // of event time, and of the clock
	costOpen      = 100_000 // keys with an open window, for the bytes
)

// cost measures a step twice: with many elements of some keys, and with one element of many keys.
func cost(build func(levada.PCollection[costed]) levada.PCollection[costed], general bool) (Values, error) {
	names := make([]string, costOpen)
	for i := range names {
		names[i] = "user" + strconv.Itoa(1_000_000+i)
	}
	g, err := newCostStep(build, general)
	if err != nil {
		return nil, err
	}
	before := liveBytes()
	for _, name := range names {
		g.add(name, 30_000)
	}
	bytes := float64(liveBytes()-before) / costOpen
	runtime.KeepAlive(g)
	if g, err = newCostStep(build, general); err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(1, 2))
	var start, end runtime.MemStats
	runtime.ReadMemStats(&start)
	began := time.Now()
	for n := range costElements {
		at := event.Time(n * 60_000 / costPerMinute)
		g.add(names[r.IntN(costKeys)], at)
		if n%1000 == 0 {
			g.e.Now = at
			g.reader.Clock(g.e)
			g.reader.Advance(g.e, at)
		}
	}
	took := time.Since(began)
	runtime.ReadMemStats(&end)
	return Values{
		"ns an element":                 float64(took.Nanoseconds()) / costElements,
		"bytes allocated an element":    float64(end.TotalAlloc-start.TotalAlloc) / costElements,
		"bytes an open window of a key": bytes,
	}, g.e.Err
}

// liveBytes returns the bytes that live.
func liveBytes() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
