package exec_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/levadatest"
	"github.com/levadaflow/levada/trigger"
	"github.com/levadaflow/levada/window"
)

// move is an element, or a step of the watermark or of the clock.
type move struct {
	item
	watermark bool
	clock     time.Duration
}

// random is a pipeline: windows, and what is grouped behind them.
type random struct {
	fn         window.Fn
	byElement  bool // the windows of fn are given by a WindowBy, which has the kind in the place of fn
	kind       window.Fn
	trigger    trigger.Trigger
	lateness   time.Duration
	accumulate levada.Accumulation
	output     levada.OutputTime
	closing    levada.Firing
	onTime     levada.Firing
	keyFirst   bool // the key is given before the windows
	again      bool // what comes out is grouped once more
	alone      bool // only one grouping reads the windows, which it may then compute by itself
	moves      []move
}

func drawRandom(t *rapid.T) random {
	ms := func(name string, least int) time.Duration {
		return time.Duration(rapid.IntRange(least, 25).Draw(t, name)) * time.Millisecond
	}
	r := random{fn: window.Fixed(ms("size", 1)), lateness: ms("lateness", 0), accumulate: levada.Discarding}
	switch rapid.SampledFrom([]string{"fixed", "offset", "sliding", "days"}).Draw(t, "windows") {
	case "offset":
		r.fn = window.Fixed(7 * time.Millisecond).Offset(3 * time.Millisecond)
	case "sliding":
		r.fn = window.Sliding(ms("size", 1), ms("period", 1))
	case "days":
		r.fn = window.Days(time.UTC)
	}
	if rapid.Bool().Draw(t, "accumulate") {
		r.accumulate = levada.Accumulating
	}
	r.keyFirst, r.again, r.alone = rapid.Bool().Draw(t, "key first"), rapid.Bool().Draw(t, "again"), rapid.Bool().Draw(t, "alone")
	if !r.again { // what comes to a second grouping in one move is in no order, which some triggers show
		r.trigger = nil
		if rapid.IntRange(0, 3).Draw(t, "default") > 0 {
			r.trigger = trigger.MayLoseData{Trigger: drawTrigger(t, 2)}
			if rapid.IntRange(0, 5).Draw(t, "global") == 0 {
				r.fn = window.Global()
			}
		}
		r.output = rapid.SampledFrom([]levada.OutputTime{levada.EndOfWindow, levada.Earliest, levada.Latest}).Draw(t, "output time")
		firings := []levada.Firing{levada.Always, levada.NonEmpty}
		r.closing = rapid.SampledFrom(firings).Draw(t, "closing")
		r.onTime = rapid.SampledFrom(firings).Draw(t, "on time")
	}
	at := event.Time(-20)
	for _, it := range drawItems(t) {
		if it.key > "b" { // most are of one key
			it.key = "a"
		}
		if rapid.IntRange(0, 3).Draw(t, "clock") == 0 {
			r.moves = append(r.moves, move{clock: ms("by", 1)})
		}
		if rapid.IntRange(0, 2).Draw(t, "watermark") == 0 {
			at += event.Time(rapid.IntRange(0, 15).Draw(t, "step"))
			r.moves = append(r.moves, move{item: item{time: at}, watermark: true})
		}
		r.moves = append(r.moves, move{item: it})
	}
	return r
}

// drawTrigger gives a trigger, nested as deep at most.
func drawTrigger(t *rapid.T, deep int) trigger.Trigger {
	kind := rapid.IntRange(0, 10).Draw(t, "trigger")
	if deep == 0 {
		kind %= 4
	}
	part := func() trigger.Trigger { return drawTrigger(t, deep-1) }
	each, delay := trigger.Repeat{Trigger: trigger.AfterCount(1)}, trigger.AfterDelay(9*time.Millisecond)
	switch kind {
	case 10: // what is usual, and goes on after a firing
		return rapid.SampledFrom([]trigger.Trigger{
			trigger.OrFinally{Main: each, Finally: delay}, trigger.Repeat{Trigger: trigger.AfterAny{trigger.AfterCount(2), delay}},
			trigger.AfterWatermark{Early: delay, Late: trigger.AfterCount(1)},
		}).Draw(t, "usual")
	case 0:
		return trigger.AfterCount(rapid.IntRange(1, 3).Draw(t, "count"))
	case 1:
		return trigger.AfterDelay(time.Duration(rapid.IntRange(0, 12).Draw(t, "delay")) * time.Millisecond)
	case 2:
		return trigger.Default{}
	case 3:
		return trigger.Never{}
	case 4:
		return trigger.AfterEach{part(), part()}
	case 5:
		return trigger.AfterAny{part(), part()}
	case 6:
		return trigger.AfterAll{part(), part()}
	case 7:
		return trigger.OrFinally{Main: part(), Finally: part()}
	case 8:
		return trigger.AfterWatermark{Early: part(), Late: part()}
	}
	return trigger.Repeat{Trigger: part()}
}

// windowed adds the window step.
func windowed[T any](in levada.PCollection[T], r random) levada.PCollection[T] {
	w := levada.Windowing{Windows: r.fn, Trigger: r.trigger, AllowedLateness: r.lateness, Accumulation: r.accumulate,
		OutputTime: r.output, Closing: r.closing, OnTime: r.onTime}
	if !r.byElement {
		return levada.WindowInto(in, "w", w)
	}
	w.Windows = r.kind
	return levada.WindowBy(in, "w", func(dst []event.Window, _ T, t event.Time) []event.Window { return r.fn.Assign(dst, t) }, w)
}

// run returns what came out, a list of sorted lines for each move and the end.
func (r random) run(t *rapid.T, mode levada.Embedded) (all [][]string) {
	d := levadatest.NewDriver()
	d.Run = mode
	defer d.Stop()
	src := levadatest.AddScript[item](d, "src")
	byKey := func(it item) (string, int) { return it.key, it.value }
	var pairs levada.PCollection[levada.KV[string, int]]
	if r.keyFirst {
		pairs = windowed(levada.KeyValue(src.Out, "key", byKey), r)
	} else {
		pairs = levada.KeyValue(windowed(src.Out, r), "key", byKey)
	}
	var late levada.LateOf[string, int]
	sums := levada.SumPerKey(pairs, "sum", levada.LateTo(&late))
	if r.again {
		sums = levada.SumPerKey(levada.KeyBy(levada.Map(sums, "value", func(kv levada.KV[string, int]) int { return kv.Value }), "again",
			func(int) string { return "all" }), "second")
	}
	outs := []*levadatest.Collected[levada.KV[string, int]]{levadatest.Gather(sums, "a"), levadatest.Gather(late, "b")}
	if !r.alone {
		grouped := levada.Map(levada.GroupByKey(pairs, "group"), "list", func(kv levada.KV[string, levada.Values[int]]) levada.KV[string, int] {
			vs := slices.Sorted(kv.Value.All())
			return levada.KV[string, int]{Key: fmt.Sprint(kv.Key, vs), Value: len(vs)}
		})
		outs = append(outs, levadatest.Gather(grouped, "c"))
	}
	step := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for i, o := range outs {
			for _, e := range o.Take() {
				lines = append(lines, fmt.Sprint(i, " ", e.Value, " ", e.Time.Millis(), " ", e.Window, " ", e.Pane))
			}
		}
		slices.Sort(lines)
		for _, s := range d.Result().Steps {
			if s.Name == "sum" || s.Name == "group" {
				lines = append(lines, fmt.Sprint(s))
			}
		}
		all = append(all, lines)
	}
	for _, m := range r.moves {
		switch {
		case m.clock > 0:
			step(d.Clock(m.clock))
		case m.watermark:
			step(src.Watermark(m.time))
		default:
			step(src.Add(m.time, m.item))
		}
	}
	step(d.Finish())
	result := d.Result()
	var counts []int64
	for _, step := range []string{"sum", "group"} {
		counts = append(counts, result.Counter(step, "dropped_late"), result.Counter(step, "dropped_closed"))
	}
	return append(all, []string{fmt.Sprint(counts, result.Counter("w", "no_window"))})
}

// TestPathsAgree shows that the fast path and the tables by window give what the general path gives, at every parallelism and bundle
// size: every pane at the same move, all that is late, the watermarks and what holds them, and the counters.
func TestPathsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRandom(t)
		want := r.run(t, levada.Embedded{Parallelism: 1, MaxBundle: 1, GeneralPath: true})
		for _, mode := range []levada.Embedded{
			{Parallelism: 1}, {Parallelism: 1, MaxBundle: 1}, {Parallelism: 2}, {Parallelism: 3, MaxBundle: 1}, {Parallelism: 3, GeneralPath: true},
		} {
			if d := cmp.Diff(want, r.run(t, mode)); d != "" {
				t.Fatalf("%+v: - general, + this:\n%s", mode, d)
			}
		}
	})
}

// TestPreCombining shows that nothing is lost or counted twice when elements are combined before they are sent, with many hits and
// with none, in order and late, for all kinds of windows.
func TestPreCombining(t *testing.T) {
	const splits, each = 4, 20_000
	for name, fn := range map[string]window.Fn{
		"fixed": window.Fixed(time.Second), "sliding": window.Sliding(2*time.Second, time.Second), "global": window.Global(),
	} {
		for _, keys := range []int64{3, 1 << 40} {
			totals := func(mode levada.Embedded) (sum int64, perKey map[int64]int64) {
				src := exec.Source[int64]{
					List: func(context.Context) (all []exec.Split, err error) {
						for i := range splits {
							all = append(all, exec.Split{Mark: event.Min, Value: uint64(i)})
						}
						return all, nil
					},
					Read: func(r *exec.Reading[int64], s exec.Split) error {
						rnd := rand.New(rand.NewPCG(s.Value.(uint64), 1))
						for i := range int64(each) {
							r.Advance(event.Time(i - 500))
							if !r.Emit(rnd.Int64N(keys), event.Time(i-rnd.Int64N(3000)), 0) {
								break
							}
						}
						return nil
					},
				}
				p := levada.New()
				in := levada.RootOf[int64](p, "in", src.Op(), false)
				w := levada.WindowInto(in, "w", levada.Windowing{
					Windows: fn, AllowedLateness: levada.AnyLateness, Accumulation: levada.Discarding,
				})
				counts := levada.CountPerKey(levada.KeyBy(w, "key", func(k int64) int64 { return k }), "count")
				perKey = map[int64]int64{}
				collected := levadatest.Gather(counts, "out")
				if _, err := p.Run(t.Context(), mode); err != nil {
					t.Fatal(err)
				}
				for _, e := range collected.Take() {
					sum += e.Value.Value
					perKey[e.Value.Key] += e.Value.Value
				}
				return sum, perKey
			}
			want, wantKeys := totals(levada.Embedded{Parallelism: 1, GeneralPath: true})
			for _, mode := range []levada.Embedded{{Parallelism: 1}, {Parallelism: 2}, {Parallelism: 4}, {Parallelism: 2, MaxBundle: 100}} {
				got, gotKeys := totals(mode)
				if got != want || !cmp.Equal(gotKeys, wantKeys) {
					t.Errorf("%s, %d keys, %+v: %d elements, want %d", name, keys, mode, got, want)
				}
			}
		}
	}
}
