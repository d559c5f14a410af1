package levada_test

import (
	"fmt"
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

// intervalText joins within an interval; results are texts.
func intervalText(within levada.Interval) func(a, b keyInts, late ...levada.JoinOption[string, int, int]) levada.PCollection[string] {
	return func(a, b keyInts, late ...levada.JoinOption[string, int, int]) levada.PCollection[string] {
		return levada.IntervalJoin("join", a, b, within, func(k string, a, b int) string { return pairText(k, levada.Some(a), levada.Some(b)) }, late...)
	}
}

// within reports, brute force, whether b is in the interval around a.
func within(i levada.Interval, a, b event.Time) bool {
	return (i.Before == levada.AnyDistance || a.Millis()-i.Before.Milliseconds() <= b.Millis()) &&
		(i.After == levada.AnyDistance || b.Millis() <= a.Millis()+i.After.Milliseconds())
}

// anyWindowing draws windows for a join with state, and their allowed lateness in milliseconds.
func anyWindowing(rt *rapid.T) (w levada.Windowing, latenessMs int64) {
	latenessMs = rapid.SampledFrom([]int64{0, 0, 3}).Draw(rt, "lateness")
	return levada.Windowing{
		Windows:         rapid.SampledFrom([]window.Fn{window.Global(), window.Fixed(15 * time.Millisecond)}).Draw(rt, "windows"),
		AllowedLateness: time.Duration(latenessMs) * time.Millisecond, Accumulation: levada.Discarding,
	}, latenessMs
}

// TestIntervalJoinProperty compares with brute force, after each arrival: the pairs of all that was in time come as soon as both are there.
func TestIntervalJoinProperty(t *testing.T) {
	bound := rapid.SampledFrom([]time.Duration{0, 1, 3, 10, -2, 100})
	rapid.Check(t, func(rt *rapid.T) {
		i := levada.Interval{Before: bound.Draw(rt, "before") * time.Millisecond, After: bound.Draw(rt, "after") * time.Millisecond}
		for _, d := range []*time.Duration{&i.Before, &i.After} {
			if *d == 100*time.Millisecond {
				*d = levada.AnyDistance
			}
		}
		if i.Before < 0 && i.Before+i.After < 0 {
			i.After = -i.Before
		} else if i.After < 0 && i.Before+i.After < 0 {
			i.Before = -i.After
		}
		w, latenessMs := anyWindowing(rt)
		x, err := startJoin(rapid.SampledFrom(joinModes).Draw(rt, "mode"), w,
			func(a, b keyInts, late levada.JoinOption[string, int, int]) levada.PCollection[string] {
				return intervalText(i)(a, b, late)
			})
		defer x.Stop()
		if err != nil {
			rt.Fatal(err)
		}
		for _, v := range append(anyArrivals(rt), arrival{watermark: true, at: event.Max}, arrival{watermark: true, second: true, at: event.Max}) {
			before := [2]int{len(x.as), len(x.bs)}
			if err := x.do(v, func(v arrival) bool { return v.at.Plus(latenessMs) < x.mark() }); err != nil {
				rt.Fatal(err)
			}
			var want []string
			for n, a := range x.as {
				for m, b := range x.bs {
					windows := w.Windows.Assign(nil, a.at)
					if fresh := n >= before[0] || m >= before[1]; fresh && a.key == b.key && within(i, a.at, b.at) &&
						slices.Equal(windows, w.Windows.Assign(nil, b.at)) {
						text := pairText(a.key, levada.Some(a.value), levada.Some(b.value))
						want = append(want, result(text, windows[0], max(a.at, b.at)))
					}
				}
			}
			slices.Sort(want)
			if got := x.results(); !slices.Equal(got, want) {
				rt.Fatalf("%+v: after %+v:\n%s\nwant\n%s", i, v, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			for _, s := range x.Result().Steps {
				if s.Name == "join/match" && (s.In != x.mark() || s.Out != x.mark()) {
					rt.Fatalf("the step is at %d and gives %d, want %d: %v", s.In, s.Out, x.mark(), s.Held)
				}
			}
		}
		if n := x.Result().Counter("join/match", "emitted_late"); n != 0 && latenessMs == 0 {
			rt.Fatalf("%d pairs were late", n)
		}
		x.checkLate(rt, "join/match")
	})
}

// TestIntervalJoin tells the bounds, the times of results, what is late, and when an element is forgotten.
func TestIntervalJoin(t *testing.T) {
	i := levada.Interval{Before: 2 * time.Second, After: 5 * time.Second}
	joinStory(t, levada.Windowing{}, func(a, b keyInts) levada.PCollection[string] { return intervalText(i)(a, b) }, func(s *story) {
		s.addA(10_000, 1)
		s.addB(7999, 2)
		s.want()
		s.addB(8000, 3)
		s.want("k 1 3@10000")
		s.addB(15_000, 4)
		s.want("k 1 4@15000")
		s.addB(15_001, 5)
		s.want()
		s.mark(15_000)
		s.addB(15_000, 6) // on time: nothing before the watermark
		s.want("k 1 6@15000")
		s.addB(14_999, 7)
		s.want() // late
		s.mark(15_001)
		s.addA(17_000, 8)
		s.want("k 8 4@17000", "k 8 6@17000", "k 8 5@17000")
		s.wantStep("join/match", 15_001, 15_001)
		s.Finish()
		s.want()
		if r := s.Result(); r.Counter("join/match", "dropped_late") != 1 || r.Counter("join/match", "emitted_late") != 0 {
			s.t.Errorf("%d dropped, %d emitted late", r.Counter("join/match", "dropped_late"), r.Counter("join/match", "emitted_late"))
		}
	})
}

// TestIntervalJoinLateness shows that an element that is late by no more than is allowed finds all its partners.
func TestIntervalJoinLateness(t *testing.T) {
	w := levada.Windowing{AllowedLateness: 10 * time.Second, Accumulation: levada.Discarding}
	i := levada.Interval{After: 5 * time.Second}
	joinStory(t, w, func(a, b keyInts) levada.PCollection[string] { return intervalText(i)(a, b) }, func(s *story) {
		s.addA(10_000, 1)
		s.mark(25_000)
		s.addB(15_000, 2)
		s.want("k 1 2@15000")
		s.addB(14_999, 3)
		s.want() // too late
		s.mark(25_001)
		s.addA(15_001, 4)
		s.want()
		if r := s.Result(); r.Counter("join/match", "dropped_late") != 1 || r.Counter("join/match", "emitted_late") != 1 {
			s.t.Errorf("%d dropped, %d emitted late", r.Counter("join/match", "dropped_late"), r.Counter("join/match", "emitted_late"))
		}
	})
}

// TestIntervalJoinAtTheEnds shows that bounds and times at the ends of what there is do not overflow.
func TestIntervalJoinAtTheEnds(t *testing.T) {
	i := levada.Interval{Before: levada.AnyDistance, After: levada.AnyDistance}
	joinStory(t, levada.Windowing{}, func(a, b keyInts) levada.PCollection[string] { return intervalText(i)(a, b) }, func(s *story) {
		s.addA(event.Min, 1)
		s.addB(event.Max, 2)
		s.addA(event.Max, 3)
		s.addB(event.Min, 4)
		s.want("k 1 2@9223372036854775", "k 3 2@9223372036854775", "k 1 4@-9223372036854775", "k 3 4@9223372036854775")
		s.Finish()
		s.want()
	})
	i = levada.Interval{Before: -time.Second, After: levada.AnyDistance} // at least a second later
	joinStory(t, levada.Windowing{}, func(a, b keyInts) levada.PCollection[string] { return intervalText(i)(a, b) }, func(s *story) {
		s.addA(1000, 1)
		s.addB(1999, 2)
		s.addB(2000, 3)
		s.mark(5000)
		s.addB(1_000_000, 4)
		s.want("k 1 3@2000", "k 1 4@1000000")
	})
}

// TestIntervalJoinFollowedByWindows shows that results of a join are on time for what groups them.
func TestIntervalJoinFollowedByWindows(t *testing.T) {
	i := levada.Interval{Before: 5 * time.Second, After: 5 * time.Second}
	joinStory(t, levada.Windowing{}, func(a, b keyInts) levada.PCollection[string] {
		windows := levada.WindowInto(intervalText(i)(a, b), "windows", fixed10)
		counts := levada.CountPerKey(levada.KeyBy(windows, "key", id[string]), "count")
		return levada.Map(counts, "text", levada.KV[string, int64].String)
	}, func(s *story) {
		s.addA(1000, 1)
		s.addB(6000, 2)
		s.mark(9999)
		s.addB(9999, 3)
		s.addA(9999, 4)
		s.want()
		s.mark(10_000)
		s.want("k 1 2: 1@9999", "k 4 2: 1@9999", "k 4 3: 1@9999")
	})
}

// TestJoinsOfPanes shows that results have no pane, whichever of the two comes last.
func TestJoinsOfPanes(t *testing.T) {
	atEnd := levada.Windowing{ // of a table, all waits for the end
		Trigger: trigger.Repeat{Trigger: trigger.AfterCount(1)}, Accumulation: levada.Discarding, OutputTime: levada.Latest,
		AllowedLateness: levada.AnyLateness, OnTime: levada.NonEmpty,
	}
	interval := func(a, b keyInts) levada.PCollection[string] { return intervalText(levada.Interval{})(a, b) }
	table := func(a, b keyInts) levada.PCollection[string] { return levada.TableJoin("join", a, b, rowText) }
	for _, c := range []struct {
		w    levada.Windowing
		join func(a, b keyInts) levada.PCollection[string]
		want []string
	}{
		{fixed10, interval, []string{"k 1 5 none"}}, {fixed10, table, []string{"k 1 5 none", "k 4 - none"}},
		{atEnd, interval, nil}, {atEnd, table, []string{"k 1 - none", "k 4 3 none"}},
	} {
		joinStory(t, c.w, func(a, b keyInts) levada.PCollection[string] {
			return c.join(levada.SumPerKey(a, "sum-a"), levada.SumPerKey(b, "sum-b"))
		}, func(s *story) {
			s.addA(1, 1)
			s.addB(2, 2)
			s.addB(3, 3)
			s.addA(10_000, 4)
			s.Finish()
			got := texts(s.got.Take(), func(e levadatest.Element[string]) string { return fmt.Sprint(e.Value, " ", e.Pane) })
			if !slices.Equal(got, c.want) {
				s.t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
