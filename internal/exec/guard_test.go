package exec_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/internal/graph"
	"github.com/levadaflow/levada/internal/invariants"
	"github.com/levadaflow/levada/trigger"
	"github.com/levadaflow/levada/window"
)

// The tests in this file guard what elements, panes and open windows cost, in allocations and bytes. They measure no time.

// grouping is a count per key behind fixed windows of a minute, in one task and without an engine.
type grouping struct {
	e      *exec.Elem
	push   exec.Sink[pair]
	reader exec.Reader
	panes  int
}

func newGrouping(t testing.TB, w levada.Windowing, general bool) *grouping {
	t.Helper()
	g := &grouping{e: &exec.Elem{Run: &exec.Run{Ctx: context.Background()}}}
	root := &exec.RootOp{Bind: func(_ *exec.Binder, _ *exec.Inst, outs []any) exec.RootTask {
		g.push = outs[0].(exec.Sink[pair])
		return nil
	}}
	p := levada.New()
	in := levada.WindowInto(levada.RootOf[pair](p, "in", root, false), "w", w)
	levada.Do(levada.SumPerKey(in, "sum"), "out", func(*levada.Ctx, pair) error { g.panes++; return nil })
	built, err := p.Build()
	if err != nil {
		t.Fatal(err)
	}
	stages := built.Fuse()
	metrics := exec.NewMetrics()
	b := &exec.Binder{Elem: g.e, Tasks: 1, Metrics: metrics, General: general}
	g.reader = exec.Bind(stages[1], b, nil).Reader
	b = &exec.Binder{Elem: g.e, Tasks: 1, Metrics: metrics, General: general, Direct: func(graph.Edge) exec.Reader { return g.reader }}
	exec.Bind(stages[0], b, nil)
	return g
}

func (g *grouping) add(key string, t event.Time) {
	g.e.Begin(t)
	g.push(g.e, pair{Key: key, Value: 1})
}

func minutes() levada.Windowing { return levada.Windowing{Windows: window.Fixed(time.Minute)} }

func firings(t trigger.Trigger) levada.Windowing {
	return levada.Windowing{Windows: window.Fixed(time.Minute), Trigger: t, Accumulation: levada.Accumulating}
}

// TestAlarmsAreBounded: firings by number that come before a delay is over leave nothing behind.
func TestAlarmsAreBounded(t *testing.T) {
	skipChecked(t)
	w := firings(trigger.Repeat{Trigger: trigger.AfterAny{trigger.AfterCount(2), trigger.AfterDelay(time.Hour)}})
	for _, fn := range []window.Fn{w.Windows, window.Sessions(time.Minute)} {
		w.Windows = fn
		g := newGrouping(t, w, false)
		before := heap()
		for i := range 200_000 {
			g.e.Now = event.Time(i)
			g.add("a", 30_000)
		}
		if g.panes != 100_000 || heap()-before > 100_000 {
			t.Errorf("%v: %d panes, %d bytes", fn, g.panes, heap()-before)
		}
		runtime.KeepAlive(g)
	}
}

func skipChecked(t *testing.T) {
	if invariants.Enabled {
		t.Skip("the invariants allocate")
	}
}

func keyNames(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("user%07d", i)
	}
	return all
}

// TestTableAllocs: an element of a key that is there allocates nothing; a pane allocates nothing; a new key costs less than a
// twentieth of an allocation, in windows that follow others of the same size.
func TestTableAllocs(t *testing.T) {
	skipChecked(t)
	g := newGrouping(t, minutes(), false)
	names := keyNames(2000)
	at := event.Time(0)
	for range 3 { // the first windows make what the later ones use again
		for _, n := range names {
			g.add(n, at)
		}
		at += 60_000
		g.reader.Advance(g.e, at)
	}
	for _, n := range names {
		g.add(n, at)
	}
	if n := testing.AllocsPerRun(1000, func() { g.add("user0000007", at) }); n != 0 {
		t.Errorf("%v allocations per element", n)
	}
	perRound := testing.AllocsPerRun(5, func() {
		at += 60_000
		g.reader.Advance(g.e, at)
		for _, n := range names {
			g.add(n, at)
		}
	})
	if perKey := perRound / float64(len(names)); perKey > 0.05 {
		t.Errorf("%.3f allocations per key and pane", perKey)
	}
	if g.e.Err != nil || g.panes < 2000*9 {
		t.Errorf("%d panes, %v", g.panes, g.e.Err)
	}
}

// heap returns the bytes that live.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestTableBytes: what an open window of a key costs, with keys of 11 bytes and sums of 8, and that it is given back.
func TestTableBytes(t *testing.T) {
	skipChecked(t)
	const n = 200_000
	names := keyNames(n)
	for _, c := range []struct {
		name    string
		general bool
		w       levada.Windowing
		most    int64 // bytes a key
	}{
		{"fast", false, minutes(), 100},
		{"sliding, by slices", false, levada.Windowing{Windows: window.Sliding(time.Hour, time.Minute)}, 100},
		{"early firings", false, firings(trigger.AfterWatermark{Early: trigger.AfterDelay(time.Minute)}), 330},
		{"counts", false, firings(trigger.Repeat{Trigger: trigger.AfterCount(10)}), 330},
		{"general", true, minutes(), 520},
		{"sessions", false, levada.Windowing{Windows: window.Sessions(time.Minute)}, 520},
	} {
		g := newGrouping(t, c.w, c.general)
		before := heap()
		for _, name := range names {
			g.add(name, 30_000)
		}
		open := heap() - before
		if per := open / n; per > c.most {
			t.Errorf("%s: %d bytes for each key, want at most %d", c.name, per, c.most)
		}
		g.reader.Advance(g.e, event.Max)
		g.e.Begin(event.Min)
		left := heap() - before
		if g.panes < n || left > open/5 {
			t.Errorf("%s: %d panes; %d of %d bytes are left when all keys are gone", c.name, g.panes, left, open)
		}
		runtime.KeepAlive(g)
	}
}

// TestExchangeAllocs: elements that go through an exchange allocate nothing once its batches are there.
func TestExchangeAllocs(t *testing.T) {
	skipChecked(t)
	out := &returning{}
	p := levada.New()
	var push exec.Sink[pair]
	root := &exec.RootOp{Bind: func(_ *exec.Binder, _ *exec.Inst, outs []any) exec.RootTask {
		push = outs[0].(exec.Sink[pair])
		return nil
	}}
	levada.GroupByKey(levada.WindowInto(levada.RootOf[pair](p, "in", root, false), "w", minutes()), "group")
	built, err := p.Build()
	if err != nil {
		t.Fatal(err)
	}
	e := &exec.Elem{Run: &exec.Run{Ctx: context.Background()}}
	exec.Bind(built.Fuse()[0], &exec.Binder{Elem: e, Tasks: 1, Metrics: exec.NewMetrics()}, func(graph.Edge) exec.Output { return out })
	e.Begin(5)
	for range 3 * exec.BatchSize {
		push(e, pair{Key: "k", Value: 1})
	}
	if n := testing.AllocsPerRun(3*exec.BatchSize, func() { push(e, pair{Key: "k", Value: 1}) }); n != 0 || e.Err != nil {
		t.Errorf("%v allocations per element, %v", n, e.Err)
	}
}

// returning is an exchange whose batches come back at once.
type returning struct{ back exec.Payload }

func (r *returning) Receivers() int                { return 1 }
func (r *returning) Mark() event.Time              { return event.Min }
func (r *returning) Take(int) (exec.Payload, bool) { return r.back, true }
func (r *returning) Send(_ int, p exec.Payload)    { p.Reset(); r.back = p }
