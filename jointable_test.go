package levada_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/levadatest"
	"pgregory.net/rapid"
)

// rowText is what the joins with a table make of an element.
func rowText(k string, v int, row levada.Opt[int]) string { return pairText(k, levada.Some(v), row) }

// changelog joins with a table in which a change to a multiple of five deletes.
func changelog(a, b keyInts, late ...levada.JoinOption[string, int, levada.Opt[int]]) levada.PCollection[string] {
	changes := levada.Map(b, "changes", func(kv keyInt) levada.KV[string, levada.Opt[int]] {
		return levada.KV[string, levada.Opt[int]]{Key: kv.Key, Value: levada.Opt[int]{Value: kv.Value, Ok: kv.Value%5 != 0}}
	})
	return levada.ChangelogJoin("join", a, changes, rowText, late...)
}

// TestTableJoinProperty compares with brute force, after each arrival: an element comes out when the watermark has passed it, with the last
// change up to its time of all that came in time.
func TestTableJoinProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		deletes := rapid.Bool().Draw(rt, "deletes")
		w, latenessMs := anyWindowing(rt)
		x, err := startJoin(rapid.SampledFrom(joinModes).Draw(rt, "mode"), w,
			func(a, b keyInts, late levada.JoinOption[string, int, int]) levada.PCollection[string] {
				joined := levada.TableJoin("join", a, b, rowText, late)
				if deletes {
					joined = levada.Scope(a.Pipeline(), "deletes", func() levada.PCollection[string] { return changelog(a, b) })
				}
				return joined
			})
		defer x.Stop()
		if err != nil {
			rt.Fatal(err)
		}
		out := map[int]bool{} // elements that have come out
		behind := int64(0)    // elements behind the watermark, but not too late
		for _, v := range append(anyArrivals(rt), arrival{watermark: true, at: event.Max}, arrival{watermark: true, second: true, at: event.Max}) {
			if !v.watermark && !v.second && v.at < x.mark() {
				behind++
			}
			if err := x.do(v, func(v arrival) bool { return v.at.Plus(latenessMs) < x.mark() }); err != nil {
				rt.Fatal(err)
			}
			var want []string
			for _, a := range x.as {
				if out[a.value] || x.mark() <= a.at.Plus(latenessMs) {
					continue
				}
				out[a.value] = true
				var row levada.Opt[int]
				at := event.Min
				for _, b := range x.bs {
					if b.key == a.key && b.at <= a.at && b.at >= at && slices.Equal(w.Windows.Assign(nil, a.at), w.Windows.Assign(nil, b.at)) {
						row, at = levada.Opt[int]{Value: b.value, Ok: !deletes || b.value%5 != 0}, b.at
					}
				}
				want = append(want, result(rowText(a.key, a.value, row), w.Windows.Assign(nil, a.at)[0], a.at))
			}
			slices.Sort(want)
			if got := x.results(); !slices.Equal(got, want) {
				rt.Fatalf("after %+v:\n%s\nwant\n%s", v, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		for _, step := range []string{"join/lookup", "deletes/join/lookup"} {
			if n := x.Result().Counter(step, "emitted_late"); n > 0 && latenessMs == 0 || n > behind {
				rt.Fatalf("%d results of %s were late, of %d elements", n, step, behind)
			}
		}
		x.checkLate(rt, "join/lookup")
	})
}

// TestTableJoin tells what waits for what, what holds the watermark, and which version counts.
func TestTableJoin(t *testing.T) {
	joinStory(t, levada.Windowing{}, func(a, b keyInts) levada.PCollection[string] { return levada.TableJoin("join", a, b, rowText) }, func(s *story) {
		s.addA(5000, 1)
		s.addB(9000, 20) // later, and there before
		s.addB(5000, 10)
		s.a.Watermark(20_000)
		s.want() // the table is not as far
		s.b.Watermark(5000)
		s.want() // a change at that very time may come
		s.wantStep("join/lookup", 5000, 5000)
		s.addB(5000, 11) // here it is
		s.addA(4999, 2)  // late
		s.b.Watermark(5001)
		s.want("k 1 11@5000")
		s.wantStep("join/lookup", 5001, 5001)
		s.addB(5000, 12) // late: it is not in the table
		s.addA(8999, 3)
		s.addA(9000, 4)
		s.addA(30_000, 5)
		s.b.Watermark(40_000)
		s.want("k 3 11@8999", "k 4 20@9000")
		s.wantStep("join/lookup", 20_000, 20_000)
		s.a.Add(25_000, keyInt{Key: "nobody", Value: 6})
		s.Finish()
		s.want("k 5 20@30000", "nobody 6 -@25000")
		if n := s.Result().Counter("join/lookup", "dropped_late"); n != 2 {
			s.t.Errorf("%d dropped", n)
		}
	})
}

// TestTableJoinLateness shows that elements wait for changes that may be late, and hold the watermark meanwhile.
func TestTableJoinLateness(t *testing.T) {
	w := levada.Windowing{AllowedLateness: 10 * time.Second, Accumulation: levada.Discarding}
	joinStory(t, w, func(a, b keyInts) levada.PCollection[string] { return levada.TableJoin("join", a, b, rowText) }, func(s *story) {
		s.addB(0, 10)
		s.addA(5000, 1)
		s.mark(14_000)
		s.wantStep("join/lookup", 14_000, 5000)
		s.addB(4000, 11)
		s.mark(15_000)
		s.want()
		s.mark(15_001)
		s.want("k 1 11@5000")
		s.wantStep("join/lookup", 15_001, 15_001)
	})
}

// TestTableJoinDeletes shows that a deleted key has no row, and may have one again.
func TestTableJoinDeletes(t *testing.T) {
	joinStory(t, levada.Windowing{}, func(a, b keyInts) levada.PCollection[string] { return changelog(a, b) }, func(s *story) {
		for i, change := range []int{1, 5, 10, 2} {
			s.addB(event.Time(i*10), change)
			s.addA(event.Time(i*10+9), 100+i)
		}
		s.Finish()
		s.want("k 100 1@9", "k 101 -@19", "k 102 -@29", "k 103 2@39")
	})
}

// TestTableJoinWindows shows that each window has a table of its own, and that the last instant of a window is no exception.
func TestTableJoinWindows(t *testing.T) {
	joinStory(t, fixed10, func(a, b keyInts) levada.PCollection[string] { return levada.TableJoin("join", a, b, rowText) }, func(s *story) {
		s.addA(9999, 1)
		s.addB(9999, 10)
		s.addA(10_000, 2)
		s.mark(9999)
		s.want()
		s.wantStep("join/lookup", 9999, 9999)
		s.addB(9999, 11)
		s.mark(10_000)
		s.want("k 1 11@9999")
		s.Finish()
		s.want("k 2 -@10000")
	})
}

// TestTableJoinBoundedTable shows that a table that has been read to its end is no reason to wait.
func TestTableJoinBoundedTable(t *testing.T) {
	for _, mode := range joinModes {
		h := levadatest.New(t)
		h.Run = mode
		src := levadatest.Source[keyInt](h, "src")
		table := levada.CreateTimed(h.Pipeline, "table", levada.Timed[keyInt]{Value: keyInt{Key: "k", Value: 7}, Time: event.Min})
		got := levadatest.Collect(h, levada.TableJoin("join", src.Out, table, rowText))
		src.Add(1000, keyInt{Key: "k", Value: 1})
		src.Watermark(1001)
		all := got.Take()
		if len(all) != 1 || all[0].Value != "k 1 7" || all[0].Time != 1000 {
			t.Errorf("got %v", all)
		}
	}
}

// TestTableJoinOfAnyLateness shows that nothing is lost where all waits for the end.
func TestTableJoinOfAnyLateness(t *testing.T) {
	w := levada.Windowing{AllowedLateness: levada.AnyLateness, Accumulation: levada.Discarding}
	joinStory(t, w, func(a, b keyInts) levada.PCollection[string] { return levada.TableJoin("join", a, b, rowText) }, func(s *story) {
		s.addB(3000, 10)
		s.addA(5000, 1)
		s.mark(1_000_000)
		s.addB(5000, 11)
		s.addA(4000, 2)
		s.addA(event.Max, 3)
		s.want()
		s.Finish()
		s.want("k 2 10@4000", "k 1 11@5000", "k 3 11@9223372036854775")
		if n := s.Result().Counter("join/lookup", "emitted_late"); n != 0 {
			s.t.Errorf("%d were late", n)
		}
	})
}
