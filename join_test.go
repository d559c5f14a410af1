package levada_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/levadatest"
	"github.com/levadaflow/levada/trigger"
	"github.com/levadaflow/levada/window"
	"pgregory.net/rapid"
)

type keyInts = levada.PCollection[keyInt]

// joinModes are how the joins' tests run.
var joinModes = []levada.Embedded{
	{Parallelism: 1}, {Parallelism: 1, MaxBundle: 1}, {Parallelism: 2, MaxBundle: 1000}, {Parallelism: 4, MaxBundle: 1},
	{Parallelism: 2, GeneralPath: true, Unfused: true},
}

// arrival is one thing that happens in a test of a join: an element comes or a watermark moves.
type arrival struct {
	second    bool // on the second input
	watermark bool
	at        event.Time
	key       string
	value     int // unique
}

// String is how a late element is noted.
func (v arrival) String() string {
	return fmt.Sprint(v.second, keyInt{Key: v.key, Value: v.value}, "@", v.at.Millis())
}

// anyArrivals draws what happens to a join: times from 0 to 40, two keys.
func anyArrivals(rt *rapid.T) []arrival {
	all := make([]arrival, rapid.IntRange(1, 25).Draw(rt, "arrivals"))
	for i := range all {
		all[i] = arrival{
			second: rapid.Bool().Draw(rt, "second"), watermark: rapid.IntRange(0, 3).Draw(rt, "watermark") == 0,
			at: event.Time(rapid.Int64Range(0, 40).Draw(rt, "at")), key: rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "key"), value: i + 1,
		}
	}
	return all
}

// joined is a join under test, with the two scripted inputs and what it is known to have taken.
type joined struct {
	*levadatest.Driver
	a, b         *levadatest.Script[keyInt]
	got          *levadatest.Collected[string]
	lateA, lateB *levadatest.Collected[keyInt]
	marks        [2]event.Time
	as, bs       []arrival // in time
	tooLate      []string
}

// startJoin starts a join of two inputs with the same windowing.
func startJoin(mode levada.Embedded, w levada.Windowing,
	build func(a, b keyInts, late levada.JoinOption[string, int, int]) levada.PCollection[string]) (*joined, error) {
	d := levadatest.NewDriver()
	d.Run = mode
	x := &joined{Driver: d, a: levadatest.AddScript[keyInt](d, "src-a"), b: levadatest.AddScript[keyInt](d, "src-b")}
	x.marks = [2]event.Time{event.Min, event.Min}
	var lateA, lateB levada.LateOf[string, int]
	out := build(levada.WindowInto(x.a.Out, "w-a", w), levada.WindowInto(x.b.Out, "w-b", w), levada.LateTo2(&lateA, &lateB))
	x.got = levadatest.Gather(out, "got")
	x.lateA, x.lateB = levadatest.Gather(lateA, "late-a"), levadatest.Gather(lateB, "late-b")
	return x, d.Start()
}

// mark is the join's input watermark.
func (x *joined) mark() event.Time { return min(x.marks[0], x.marks[1]) }

// do lets something happen. An element is too late, and noted as such, if late says so of it.
func (x *joined) do(v arrival, late func(v arrival) bool) error {
	src, kept, side := x.a, &x.as, 0
	if v.second {
		src, kept, side = x.b, &x.bs, 1
	}
	switch {
	case v.watermark:
		x.marks[side] = max(x.marks[side], v.at)
		return src.Watermark(v.at)
	case late(v):
		x.tooLate = append(x.tooLate, v.String())
	default:
		*kept = append(*kept, v)
	}
	return src.Add(v.at, keyInt{Key: v.key, Value: v.value})
}

// results are what has come since the last call, in order: value, window and time of each.
func (x *joined) results() []string {
	var all []string
	for _, e := range x.got.Take() {
		all = append(all, result(e.Value, e.Window, e.Time))
	}
	slices.Sort(all)
	return all
}

func result(text string, w event.Window, at event.Time) string {
	return fmt.Sprintf("%s %v @%d", text, w, at.Millis())
}

// checkLate compares what came too late, and its count.
func (x *joined) checkLate(rt *rapid.T, step string) {
	var got []string
	for side, c := range []*levadatest.Collected[keyInt]{x.lateA, x.lateB} {
		for _, e := range c.Take() {
			got = append(got, arrival{side > 0, false, e.Time, e.Value.Key, e.Value.Value}.String())
		}
	}
	slices.Sort(got)
	slices.Sort(x.tooLate)
	if !slices.Equal(got, x.tooLate) || x.Result().Counter(step, "dropped_late") != int64(len(got)) {
		rt.Fatalf("too late: %q, %d counted, want %q", got, x.Result().Counter(step, "dropped_late"), x.tooLate)
	}
}

// pairText is what the joins of these tests make of a pair; a missing side is "-".
func pairText(key string, a, b levada.Opt[int]) string {
	text := func(v levada.Opt[int]) string {
		if v.Ok {
			return fmt.Sprint(v.Value)
		}
		return "-"
	}
	return key + " " + text(a) + " " + text(b)
}

// joinKinds are the joins per window, each as a step and as what it should make of the values of a key.
var joinKinds = map[string]struct {
	left, right bool // elements without a partner come out
	step        func(a, b keyInts, late levada.JoinOption[string, int, int]) levada.PCollection[string]
}{
	"inner": {false, false, func(a, b keyInts, late levada.JoinOption[string, int, int]) levada.PCollection[string] {
		return levada.Join("join", a, b, func(k string, a, b int) string { return pairText(k, levada.Some(a), levada.Some(b)) }, late)
	}},
	"left": {true, false, func(a, b keyInts, late levada.JoinOption[string, int, int]) levada.PCollection[string] {
		return levada.LeftJoin("join", a, b, func(k string, a int, b levada.Opt[int]) string { return pairText(k, levada.Some(a), b) }, late)
	}},
	"outer": {true, true, func(a, b keyInts, late levada.JoinOption[string, int, int]) levada.PCollection[string] {
		return levada.OuterJoin("join", a, b, pairText, late)
	}},
}

// pairsOf are the pairs of a window, brute force.
func pairsOf(as, bs []arrival, left, right bool) []string {
	var all []string
	for _, key := range []string{"x", "y"} {
		pick := func(side []arrival, missing bool) []levada.Opt[int] {
			var values []levada.Opt[int]
			for _, v := range side {
				if v.key == key {
					values = append(values, levada.Some(v.value))
				}
			}
			if len(values) == 0 && missing {
				return []levada.Opt[int]{{}}
			}
			return values
		}
		before := len(all)
		a, b := pick(as, right), pick(bs, left)
		for _, x := range a {
			for _, y := range b {
				all = append(all, pairText(key, x, y))
			}
		}
		if nothing := pairText(key, levada.Opt[int]{}, levada.Opt[int]{}); len(all) == before+1 && all[before] == nothing {
			all = all[:before]
		}
	}
	return all
}

// TestJoinProperty compares the joins per window with brute force: fixed and sliding windows, elements in any order, some too late.
func TestJoinProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		kind := joinKinds[rapid.SampledFrom(slices.Sorted(maps.Keys(joinKinds))).Draw(rt, "kind")]
		size, period := 10*time.Millisecond, time.Duration(rapid.SampledFrom([]int64{10, 5}).Draw(rt, "period"))*time.Millisecond
		windows := window.Sliding(size, period)
		x, err := startJoin(rapid.SampledFrom(joinModes).Draw(rt, "mode"), levada.Windowing{Windows: windows}, kind.step)
		defer x.Stop()
		if err != nil {
			rt.Fatal(err)
		}
		type sides struct{ a, b []arrival }
		open := map[event.Window]*sides{}
		late := func(v arrival) bool { // of this test's own keeping: an element may be late for one of its windows only
			for _, w := range windows.Assign(nil, v.at) {
				if w.Expiry(0) < x.mark() {
					x.tooLate = append(x.tooLate, v.String())
					continue
				}
				if open[w] == nil {
					open[w] = &sides{}
				}
				side := &open[w].a
				if v.second {
					side = &open[w].b
				}
				*side = append(*side, v)
			}
			return false
		}
		step := func(v arrival) {
			if err := x.do(v, late); err != nil {
				rt.Fatal(err)
			}
			var want []string
			for w, s := range open {
				if w.End <= x.mark() {
					for _, text := range pairsOf(s.a, s.b, kind.left, kind.right) {
						want = append(want, result(text, w, w.Last()))
					}
					delete(open, w)
				}
			}
			slices.Sort(want)
			if got := x.results(); !slices.Equal(got, want) {
				rt.Fatalf("after %+v:\n%s\nwant\n%s", v, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		for _, v := range anyArrivals(rt) {
			step(v)
		}
		step(arrival{watermark: true, at: event.Max})
		step(arrival{watermark: true, second: true, at: event.Max})
		x.checkLate(rt, "join/group")
	})
}

// tagged is an element of one of two collections, as a program without CoGroup2 would have it.
type tagged struct {
	Second bool
	Value  int
}

// groupText is a group of both sides, whatever its order.
func groupText(key string, a, b []int) string {
	slices.Sort(a)
	slices.Sort(b)
	return fmt.Sprint(key, a, b)
}

// TestCoGroupIsGroupByKey shows that CoGroup2 has, pane by pane, what GroupByKey has of both inputs, for windows and triggers of all kinds.
func TestCoGroupIsGroupByKey(t *testing.T) {
	windows := []window.Fn{window.Global(), window.Fixed(10 * time.Millisecond), window.Sliding(12*time.Millisecond, 4*time.Millisecond),
		window.Sessions(5 * time.Millisecond)}
	triggers := []trigger.Trigger{nil, trigger.Repeat{Trigger: trigger.AfterCount(2)}, trigger.AfterWatermark{Late: trigger.AfterCount(1)},
		trigger.AfterWatermark{Early: trigger.AfterCount(2), Late: trigger.AfterCount(1)}, trigger.MayLoseData{Trigger: trigger.AfterCount(3)}}
	rapid.Check(t, func(rt *rapid.T) {
		w := levada.Windowing{
			Windows: rapid.SampledFrom(windows).Draw(rt, "windows"), Trigger: rapid.SampledFrom(triggers).Draw(rt, "trigger"),
			AllowedLateness: time.Duration(rapid.IntRange(0, 10).Draw(rt, "lateness")) * time.Millisecond,
			Accumulation:    rapid.SampledFrom([]levada.Accumulation{levada.Discarding, levada.Accumulating}).Draw(rt, "accumulation"),
			OutputTime:      rapid.SampledFrom([]levada.OutputTime{levada.EndOfWindow, levada.Earliest, levada.Latest}).Draw(rt, "output time"),
		}
		if w.Windows == window.Global() && w.Trigger == nil {
			w.Trigger = triggers[1]
		}
		var reference *levadatest.Collected[string]
		x, err := startJoin(rapid.SampledFrom(joinModes).Draw(rt, "mode"), w,
			func(a, b keyInts, late levada.JoinOption[string, int, int]) levada.PCollection[string] {
				tag := func(in keyInts, name string, second bool) levada.PCollection[levada.KV[string, tagged]] {
					return levada.KeyValue(in, name, func(kv keyInt) (string, tagged) { return kv.Key, tagged{second, kv.Value} })
				}
				groups := levada.GroupByKey(levada.Flatten("both", tag(a, "tag-a", false), tag(b, "tag-b", true)), "group")
				reference = levadatest.Gather(levada.Map(groups, "text", func(kv levada.KV[string, levada.Values[tagged]]) string {
					var a, b []int
					for v := range kv.Value.All() {
						if v.Second {
							b = append(b, v.Value)
						} else {
							a = append(a, v.Value)
						}
					}
					return groupText(kv.Key, a, b)
				}), "reference")
				return levada.Map(levada.CoGroup2("co", a, b, late), "co-text", func(kv levada.KV[string, levada.Grouped2[int, int]]) string {
					a, b := slices.Collect(kv.Value.A.All()), slices.Collect(kv.Value.B.All())
					if again := slices.Collect(kv.Value.B.All()); kv.Value.A.Len() != len(a) || !slices.Equal(again, b) {
						return "cannot be walked twice"
					}
					return groupText(kv.Key, a, b)
				})
			})
		defer x.Stop()
		if err != nil {
			rt.Fatal(err)
		}
		step := func(v arrival) {
			if err := x.do(v, func(arrival) bool { return false }); err != nil {
				rt.Fatal(err)
			}
			show := func(e levadatest.Element[string]) string { return fmt.Sprint(e) }
			got, want := texts(x.got.Take(), show), texts(reference.Take(), show)
			if !slices.Equal(got, want) {
				rt.Fatalf("after %+v:\n%s\nwant\n%s", v, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		for _, v := range anyArrivals(rt) {
			step(v)
		}
		step(arrival{watermark: true, at: event.Max})
		step(arrival{watermark: true, second: true, at: event.Max})
	})
}

// texts are the elements as sorted texts.
func texts[T any](all []levadatest.Element[T], show func(levadatest.Element[T]) string) []string {
	var s []string
	for _, e := range all {
		s = append(s, show(e))
	}
	slices.Sort(s)
	return s
}

// joinStory runs f on a join in each mode.
func joinStory(t *testing.T, w levada.Windowing, build func(a, b keyInts) levada.PCollection[string], f func(s *story)) {
	t.Helper()
	for _, mode := range joinModes {
		t.Run(fmt.Sprintf("p%d-b%d-unfused=%v", mode.Parallelism, mode.MaxBundle, mode.Unfused), func(t *testing.T) {
			h := levadatest.New(t)
			h.Run = mode
			s := &story{Harness: h, t: t, a: levadatest.Source[keyInt](h, "src-a"), b: levadatest.Source[keyInt](h, "src-b")}
			s.got = levadatest.Collect(h, build(levada.WindowInto(s.a.Out, "w-a", w), levada.WindowInto(s.b.Out, "w-b", w)))
			h.Start()
			f(s)
		})
	}
}

// story is a join in a test that tells what happens to it. All elements are of key k.
type story struct {
	*levadatest.Harness
	t    *testing.T
	a, b *levadatest.Src[keyInt]
	got  *levadatest.Collected[string]
}

func (s *story) addA(at event.Time, v int) { s.t.Helper(); s.a.Add(at, keyInt{Key: "k", Value: v}) }
func (s *story) addB(at event.Time, v int) { s.t.Helper(); s.b.Add(at, keyInt{Key: "k", Value: v}) }

// mark moves both watermarks.
func (s *story) mark(at event.Time) { s.t.Helper(); s.a.Watermark(at); s.b.Watermark(at) }

// want compares what has come since the last call, "text@time" each, in any order.
func (s *story) want(want ...string) {
	s.t.Helper()
	got := texts(s.got.Take(), func(e levadatest.Element[string]) string { return fmt.Sprintf("%s@%d", e.Value, e.Time) })
	slices.Sort(want)
	if !slices.Equal(got, want) {
		s.t.Errorf("got %q, want %q", got, want)
	}
}

// wantStep compares a step's watermarks.
func (s *story) wantStep(name string, in, out event.Time) {
	s.t.Helper()
	for _, x := range s.Result().Steps {
		if x.Name == name {
			if x.In != in || x.Out != out {
				s.t.Errorf("%s is at %d and gives %d, want %d and %d: %v", name, x.In, x.Out, in, out, x.Held)
			}
			return
		}
	}
	s.t.Errorf("no step %s", name)
}

// TestJoinPanes shows what several panes mean for a pair whose elements do not come together.
func TestJoinPanes(t *testing.T) {
	for _, c := range []struct {
		acc                        levada.Accumulation
		early, onTime, late, late2 []string
	}{
		{levada.Discarding, []string{"k 1 -@9999", "k 2 -@9999"}, []string{"k - 3@9999"}, []string{"k - 4@9999"}, []string{"k 5 -@9999"}},
		{levada.Accumulating, []string{"k 1 -@9999", "k 2 -@9999"}, []string{"k 1 3@9999", "k 2 3@9999"},
			[]string{"k 1 3@9999", "k 1 4@9999", "k 2 3@9999", "k 2 4@9999"},
			[]string{"k 1 3@9999", "k 1 4@9999", "k 2 3@9999", "k 2 4@9999", "k 5 3@9999", "k 5 4@9999"}},
	} {
		w := levada.Windowing{
			Windows: window.Fixed(10 * time.Second), AllowedLateness: time.Minute, Accumulation: c.acc,
			Trigger: trigger.AfterWatermark{Early: trigger.AfterCount(2), Late: trigger.AfterCount(1)},
		}
		joinStory(t, w, func(a, b keyInts) levada.PCollection[string] { return levada.OuterJoin("join", a, b, pairText) }, func(s *story) {
			s.addA(1000, 1)
			s.addA(2000, 2)
			s.want(c.early...)
			s.addB(3000, 3)
			s.mark(10_000)
			s.want(c.onTime...)
			s.addB(4000, 4)
			s.want(c.late...)
			s.addA(5000, 5)
			s.want(c.late2...)
			s.mark(70_000)
			s.addA(5000, 6)
			s.Finish()
			s.want()
			if n := s.Result().Counter("join/group", "dropped_late"); n != 1 {
				s.t.Errorf("%d dropped", n)
			}
		})
	}
}

// TestJoinSessions shows that both sides make one session.
func TestJoinSessions(t *testing.T) {
	w := levada.Windowing{Windows: window.Sessions(10 * time.Second)}
	joinStory(t, w, func(a, b keyInts) levada.PCollection[string] { return levada.OuterJoin("join", a, b, pairText) }, func(s *story) {
		s.addA(0, 1)
		s.addA(18_000, 2)
		s.addB(9000, 3) // between them
		s.addB(40_000, 4)
		s.a.Watermark(60_000)
		s.want() // the other watermark counts too
		s.b.Watermark(30_000)
		s.want("k 1 3@27999", "k 2 3@27999")
		s.Finish()
		s.want("k - 4@49999")
	})
}

// TestJoinZeroIsNotMissing shows that a zero value is told from none.
func TestJoinZeroIsNotMissing(t *testing.T) {
	w := levada.Windowing{Windows: window.Fixed(10 * time.Second)}
	joinStory(t, w, func(a, b keyInts) levada.PCollection[string] {
		return levada.LeftJoin("join", a, b, func(k string, a int, b levada.Opt[int]) string { return fmt.Sprint(a, b, b.Ok, b.Or(9)) })
	}, func(s *story) {
		s.addA(0, 0)
		s.addB(0, 0)
		s.addA(10_000, 0)
		s.addB(20_000, 0)
		s.Finish()
		s.want("0 0 true 0@9999", "0 none false 9@19999")
	})
}

// TestJoinStops shows that a run can be ended within a key of very many pairs.
func TestJoinStops(t *testing.T) {
	p := levada.New()
	n := make([]keyInt, 100_000)
	in := levada.Create(p, "in", n...)
	pairs := 0
	out := levada.Join("join", in, in, func(_ string, a, b int) int { pairs++; return a })
	levada.Do(out, "out", func(*levada.Ctx, int) error {
		if pairs == 1000 {
			return errors.New("enough")
		}
		return nil
	})
	if _, err := p.Run(t.Context(), levada.Embedded{Parallelism: 1}); err == nil || !strings.Contains(err.Error(), "enough") || pairs != 1000 {
		t.Errorf("%v after %d pairs", err, pairs)
	}
}

// allJoins are all kinds of joins, whose function fails for a value.
func allJoins(fail func()) map[string]func(a, b keyInts) {
	inner := func(string, int, int) int { fail(); return 0 }
	row := func(string, int, levada.Opt[int]) int { fail(); return 0 }
	return map[string]func(a, b keyInts){
		"pairs":  func(a, b keyInts) { levada.Join("join", a, b, inner) },
		"match":  func(a, b keyInts) { levada.IntervalJoin("join", a, b, levada.Interval{}, inner) },
		"lookup": func(a, b keyInts) { levada.TableJoin("join", a, b, row) },
	}
}

// TestJoinFailures shows that a panic of fn is an error that names step, key and time.
func TestJoinFailures(t *testing.T) {
	for step, build := range allJoins(func() { panic(errors.New("no such pair")) }) {
		for _, parallelism := range []int{1, 4} {
			p := levada.New()
			w := func(name string) keyInts {
				in := levada.CreateTimed(p, name, levada.Timed[keyInt]{Value: keyInt{Key: "the key", Value: 1}, Time: 5000})
				return levada.WindowInto(in, name+"-w", fixed10)
			}
			build(w("a"), w("b"))
			_, err := p.Run(t.Context(), levada.Embedded{Parallelism: parallelism})
			var at *levada.StepError
			if !errors.As(err, &at) || at.Step != "join/"+step || !strings.Contains(at.Element, "the key") || at.Stack == "" ||
				!strings.Contains(err.Error(), "no such pair") || !strings.Contains(at.Window, "00:00:10") {
				t.Errorf("%s: %v", step, err)
			}
		}
	}
}

// TestJoinBuildErrors shows what is refused while building, where, and that nothing panics.
func TestJoinBuildErrors(t *testing.T) {
	sessions := levada.Windowing{Windows: window.Sessions(time.Second)}
	type in = levada.PCollection[keyInt]
	interval := func(i levada.Interval) func(a, b in) {
		return func(a, b in) { levada.IntervalJoin("join", a, b, i, func(string, int, int) int { return 0 }) }
	}
	row := func(string, int, levada.Opt[int]) int { return 0 }
	for name, c := range map[string]struct {
		w     levada.Windowing
		build func(a, b in)
		step  string
		err   error
	}{
		"other windows": {fixed10, func(a, b in) {
			levada.CoGroup2("join", a, levada.WindowInto(b, "w2", levada.Windowing{Windows: window.Fixed(time.Second)}))
		}, "join/both", levada.ErrIncompatibleFlatten},
		"other pipeline": {fixed10, func(a, _ in) {
			var lateA, lateB levada.LateOf[string, int]
			levada.CoGroup2("join", a, levada.Create(levada.New(), "in", keyInt{}), levada.LateTo2(&lateA, &lateB))
			levada.Flatten("late", lateA, lateB)
		}, "join/b", levada.ErrOtherPipeline},
		"a bad name": {fixed10, func(a, b in) { levada.CoGroup2("", a, b) }, "", levada.ErrBadName},
		"unbounded in the global window": {levada.Windowing{}, func(a, b in) { levada.CoGroup2("join", a, b) }, "join/group",
			levada.ErrUnboundedGlobal},
		"values of no type": {fixed10, func(a, b in) {
			var lateA levada.LateOf[string, func()]
			var lateB levada.LateOf[string, int]
			fs := levada.Map(a, "f", func(kv keyInt) levada.KV[string, func()] { return levada.KV[string, func()]{} })
			levada.CoGroup2("join", fs, b, levada.LateTo2(&lateA, &lateB))
			levada.Map(lateA, "late", id[levada.KV[string, func()]])
		}, "join/both", levada.ErrValueType},
		"keys of no type": {fixed10, func(a, b in) {
			fs := levada.Map(a, "f", func(kv keyInt) levada.KV[float64, int] { return levada.KV[float64, int]{} })
			levada.CoGroup2("join", fs, fs)
		}, "join/group", levada.ErrKeyType},
		"interval in sessions": {sessions, interval(levada.Interval{}), "join/match", levada.ErrStatefulMerging},
		"table in sessions":    {sessions, func(a, b in) { levada.TableJoin("join", a, b, row) }, "join/lookup", levada.ErrStatefulMerging},
		"an empty interval":    {fixed10, interval(levada.Interval{Before: -2 * time.Second, After: time.Second}), "join/match", levada.ErrBadInterval},
		"an empty interval of great bounds": {fixed10, interval(levada.Interval{Before: -levada.AnyDistance, After: -levada.AnyDistance}),
			"join/match", levada.ErrBadInterval},
		"microseconds": {fixed10, interval(levada.Interval{After: time.Microsecond}), "join/match", levada.ErrBadInterval},
	} {
		d := levadatest.NewDriver()
		a, b := levadatest.AddScript[keyInt](d, "a"), levadatest.AddScript[keyInt](d, "b")
		c.build(levada.WindowInto(a.Out, "wa", c.w), levada.WindowInto(b.Out, "wb", c.w))
		var all levada.BuildErrors
		if err := d.Pipeline.Err(); !errors.As(err, &all) || !slices.ContainsFunc(all, func(e *levada.BuildError) bool {
			return e.Step == c.step && errors.Is(e, c.err) && strings.Contains(e.Site, "join_test.go:")
		}) {
			t.Errorf("%s: %v, want %v at %s", name, err, c.err, c.step)
		}
	}
	for _, bad := range []func(good in){
		func(good in) { levada.CoGroup2("join", good, in{}) }, func(good in) { levada.CoGroup2("join", in{}, good) },
	} {
		func() {
			defer func() {
				if err, ok := recover().(*levada.BuildError); !ok || err.Step != "join" {
					t.Errorf("the zero collection: %v", err)
				}
			}()
			bad(levada.Create(levada.New(), "in", keyInt{}))
		}()
	}
}
