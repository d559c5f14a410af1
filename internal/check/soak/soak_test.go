package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/levadatest"
	"github.com/levadaflow/levada/source"
	"github.com/levadaflow/levada/trigger"
	"github.com/levadaflow/levada/window"
)

type (
	hit     = levada.KV[string, int64]
	offsets = source.OffsetRange
	process = levada.ProcessSplit[string, offsets, int64]
)

// partition is a part of the source, with a life of its own.
type partition struct {
	r       *rand.Rand
	phase   string
	until   event.Time
	emitted int64
}

// source is what all partitions have emitted. The DoFn that uses it runs in several tasks.
type feed struct {
	mu    sync.Mutex
	parts map[string]*partition
	total int64
}

// jitter is how far, in milliseconds, an element's time may be behind the clock.
const jitter = 2000

// step returns the elements of a call at a time, and whether the partition is idle.
func (f *feed) step(name string, now event.Time) (all []levada.Timed[hit], idle bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.parts[name]
	if now >= p.until {
		p.phase = []string{"steady", "steady", "burst", "idle"}[p.r.IntN(4)]
		p.until = now.AddMillis(1000 + p.r.Int64N(20_000))
	}
	n := map[string]int{"steady": 1 + p.r.IntN(3), "burst": 50 + p.r.IntN(100)}[p.phase]
	for range n {
		kv := hit{Key: fmt.Sprint("user", p.r.IntN(50)), Value: 1}
		all = append(all, levada.Timed[hit]{Value: kv, Time: now.AddMillis(-p.r.Int64N(jitter))})
	}
	p.emitted += int64(n)
	f.total += int64(n)
	return all, p.phase == "idle"
}

// read is the source's DoFn. It holds the watermark back by the jitter, and its partitions move from task to task.
func (f *feed) read(s *levada.Splitting, out *levada.Out[hit]) process {
	wm := levada.ManualWatermark(s)
	return func(c *levada.Ctx, name string, claim *levada.Claim[offsets, int64]) (levada.Resume, error) {
		i := claim.Restriction().From
		now := c.Now()
		if c.Draining() || !claim.TryClaim(i) {
			return levada.Done, nil
		}
		all, idle := f.step(name, now)
		for _, x := range all {
			out.EmitAt(c, x.Value, x.Time)
		}
		if idle {
			wm.Idle()
		}
		wm.Advance(now.AddMillis(-jitter))
		return levada.ResumeAfter(100 * time.Millisecond), nil
	}
}

// counts are what the sinks have seen.
type counts struct {
	mu  sync.Mutex
	sum map[string]int64
}

func (n *counts) add(name string, v int64) {
	n.mu.Lock()
	n.sum[name] += v
	n.mu.Unlock()
}

func into[T any](n *counts, in levada.PCollection[T], name string, value func(T) int64) {
	levada.Do(in, "sink-"+name, func(_ *levada.Ctx, v T) error { n.add(name, value(v)); return nil })
}

// build is the pipeline.
func build(p *levada.Pipeline, f *feed, n *counts) {
	var names []string
	for name := range f.parts {
		names = append(names, name)
	}
	slices.Sort(names)
	ranges := source.OffsetRanges(func(context.Context, string) (offsets, error) { return offsets{To: 1 << 60}, nil })
	ranges.Unbounded = true
	hits := levada.ParDoSplit(levada.Create(p, "names", names...), "read", ranges, f.read)
	value := func(kv hit) int64 { return kv.Value }

	tens := levada.WindowInto(hits, "tens", levada.Windowing{Windows: window.Fixed(10 * time.Second)})
	into(n, levada.SumPerKey(tens, "fixed"), "fixed", value)

	early := levada.WindowInto(hits, "early", levada.Windowing{
		Windows: window.Sliding(20*time.Second, 10*time.Second), Accumulation: levada.Discarding,
		Trigger: trigger.AfterWatermark{Early: trigger.AfterAny{trigger.AfterCount(40), trigger.AfterDelay(3 * time.Second)}},
	})
	into(n, levada.SumPerKey(early, "sliding"), "sliding", value)

	sessions := levada.WindowInto(hits, "sessions", levada.Windowing{Windows: window.Sessions(4 * time.Second)})
	into(n, levada.SumPerKey(sessions, "session"), "sessions", value)

	rate := levada.AsSingleton(levada.CombineGlobally(tens, "all", sum{}), "rate", int64(0))
	state := levada.ParDoKeyed(tens, "state", func(s *levada.Keyed[string], out *levada.Out[hit]) levada.Process[hit] {
		seen, total := levada.ValueState[int64](s, "seen"), levada.Side(s, rate)
		silence := levada.EventTimer(s, "silence")
		flush := func(c *levada.Ctx, key string) error {
			v, _ := seen.Read(c)
			seen.Clear(c)
			if total.Get(c) < v {
				return fmt.Errorf("%s has %d of %d", key, v, total.Get(c))
			}
			out.Emit(c, hit{Key: key, Value: v})
			return nil
		}
		silence.OnFire(flush)
		return func(c *levada.Ctx, kv hit) error {
			v, _ := seen.Read(c)
			seen.Write(c, v+kv.Value)
			silence.SetAfter(c, 3*time.Second)
			return nil
		}
	})
	into(n, state, "state", value)
	batches := levada.GroupIntoBatches(hits, "batches", levada.Batches[int64]{Count: 20, MaxDelay: 2 * time.Second})
	into(n, batches, "batches", func(kv levada.KV[string, []int64]) int64 { return int64(len(kv.Value)) })
}

// sum adds up hits.
type sum struct{}

func (sum) Zero() int64             { return 0 }
func (sum) Add(a *int64, v hit)     { *a += v.Value }
func (sum) Merge(a *int64, b int64) { *a += b }
func (sum) Result(a int64) int64    { return a }

// TestSoak runs a minute; with LEVADA_LONG set, an hour.
func TestSoak(t *testing.T) {
	minutes := 1
	if os.Getenv("LEVADA_LONG") != "" {
		minutes = 60
	}
	f := &feed{parts: map[string]*partition{}}
	for i := range 5 {
		f.parts[fmt.Sprint("part", i)] = &partition{r: rand.New(rand.NewPCG(7, uint64(i)))}
	}
	n := &counts{sum: map[string]int64{}}
	h := levadatest.New(t)
	h.Run = levada.Embedded{Parallelism: 3}
	build(h.Pipeline, f, n)
	h.Start()
	var heaps []uint64
	for m := range minutes {
		for range 600 {
			h.Clock(100 * time.Millisecond)
		}
		explained(t, h.Result())
		var stats runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&stats)
		heaps = append(heaps, stats.HeapAlloc)
		if m%10 == 0 {
			t.Logf("minute %d: %d hits, %.1f MiB", m, f.total, float64(stats.HeapAlloc)/(1<<20))
		}
	}
	if err := h.Drain(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int64{"fixed": f.total, "sliding": 2 * f.total, "sessions": f.total, "state": f.total, "batches": f.total} {
		if n.sum[name] != want {
			t.Errorf("%s: %d hits, want %d", name, n.sum[name], want)
		}
	}
	for _, c := range h.Result().Counters {
		t.Errorf("%s %s %d", c.Step, c.Name, c.Value)
	}
	if k := len(heaps) / 3; k > 0 && slices.Max(heaps[2*k:]) > slices.Max(heaps[:k])*3/2 {
		t.Errorf("memory grows: %v", heaps)
	}
}

// explained checks that each watermark that is behind the clock, or behind that of its input, has a reason that is told.
func explained(t *testing.T, r *levada.Result) {
	t.Helper()
	for _, s := range r.Steps {
		if s.Out < s.In && s.Held.Kind == "" {
			t.Errorf("%s is at %v, its input at %v, and nothing holds it", s.Name, s.Out, s.In)
		}
		if s.Held.Kind != "" && s.Held.Kind != "shift" && s.Out > s.Held.Time && s.Out < s.In {
			t.Errorf("%s is at %v, but held by %s at %v", s.Name, s.Out, s.Held.Kind, s.Held.Time)
		}
	}
}
