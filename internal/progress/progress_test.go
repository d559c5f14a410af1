package progress_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/progress"
)

// mark draws a watermark; few values, so that they meet, and both ends.
func mark(t *rapid.T) event.Time {
	return rapid.OneOf(rapid.Map(rapid.Int64Range(-5, 20), func(v int64) event.Time { return event.Time(v) }),
		rapid.SampledFrom([]event.Time{event.Min, event.Max})).Draw(t, "mark")
}

// The frontier is the greatest minimum that there ever was over the senders which were neither idle nor ended; it is Max
// when all have ended.
func TestFrontierIsBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "senders")
		f := progress.NewFrontier(n)
		marks, idle, in := make([]event.Time, n), make([]bool, n), event.Min
		for i := range marks {
			marks[i] = event.Min
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			i, to, isIdle := rapid.IntRange(0, n-1).Draw(t, "sender"), mark(t), rapid.Bool().Draw(t, "idle")
			moved := f.Set(i, to, isIdle)
			if idle[i] = isIdle; marks[i] < event.Max {
				marks[i] = max(to, in) // a sender may go back, but not behind the frontier
			}

			var active []event.Time
			ended := 0
			for j, m := range marks {
				switch {
				case m == event.Max: // ended, also if it says that it is idle
					ended++
				case !idle[j]:
					active = append(active, m)
				}
			}
			before, behind := in, event.Max
			if len(active) > 0 {
				behind = slices.Min(active)
				in = max(in, behind)
			} else if ended == n {
				in = event.Max
			}
			if f.In() != in || moved != (in > before) {
				t.Fatalf("marks %d idle %v: frontier %d (moved: %v), want %d after %d", marks, idle, f.In(), moved, in, before)
			}
			if want := len(active) == 0 && ended < n; f.Idle() != want {
				t.Errorf("marks %d idle %v: Idle() = %v", marks, idle, !want)
			}
			at := f.Behind()
			if at < 0 && (len(active) > 0 || ended > 0) || at >= 0 && marks[at] != behind {
				t.Errorf("marks %d idle %v: sender %d is behind, at %d", marks, idle, at, behind)
			}
		}
	})
}

func TestFrontier(t *testing.T) {
	if in := progress.NewFrontier(0).In(); in != event.Max {
		t.Errorf("without senders the frontier is at %v", in)
	}
	f := progress.NewFrontier(2)
	for _, c := range []struct {
		why    string
		sender int
		to     event.Time
		idle   bool
		want   event.Time
	}{
		{"one sender alone does not move it", 0, 10, false, event.Min},
		{"both do, to the minimum", 1, 5, false, 5},
		{"the idle one does not count", 1, 5, true, 10},
		{"all are idle: it stays", 0, 20, true, 10},
		{"a sender goes back, but not behind it", 0, 15, false, 15},
		{"who comes back does not pull it back", 1, 6, false, 15},
		{"and holds it", 0, 30, false, 15},
		{"the only one that is not idle ends: the idle one may come back", 1, event.Max, false, 30},
		{"who has ended does not count", 0, 40, false, 40},
		{"nor makes it Max", 0, 40, true, 40},
		{"all have ended", 0, event.Max, true, event.Max},
	} {
		if f.Set(c.sender, c.to, c.idle); f.In() != c.want {
			t.Errorf("%s: the frontier is at %d, want %d", c.why, f.In(), c.want)
		}
	}
}

// Holds are a multiset: as a sorted slice, but for the speed.
func TestHoldsAreASortedSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h progress.Holds
		var slow []event.Time
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			at := event.Time(rapid.Int64Range(0, rapid.SampledFrom([]int64{3, 1000}).Draw(t, "range")).Draw(t, "at"))
			if len(slow) > 0 && rapid.Bool().Draw(t, "there") {
				at = rapid.SampledFrom(slow).Draw(t, "one")
			}
			i, there := slices.BinarySearch(slow, at)
			if rapid.Bool().Draw(t, "add") {
				h.Add(at)
				slow = slices.Insert(slow, i, at)
			} else {
				if h.Remove(at) != there {
					t.Fatalf("Remove(%d) = %v from %d", at, !there, slow)
				}
				if there {
					slow = slices.Delete(slow, i, i+1)
				}
			}
			checkHolds(t, &h, slow)
		}
	})
}

func checkHolds(t interface {
	Fatalf(format string, args ...any)
	Helper()
}, h *progress.Holds, slow []event.Time) {
	t.Helper()
	low, ok := h.Min()
	if ok != (len(slow) > 0) || ok && low != slow[0] {
		t.Fatalf("Min() = %d, %v of %d", low, ok, slow)
	}
	if n := len(slices.Compact(slices.Clone(slow))); h.Len() != n {
		t.Fatalf("Len() = %d, want %d", h.Len(), n)
	}
}

// With one hold that never goes, nothing is popped from the heap: what is removed behind it goes only by compaction.
func TestHoldsCompact(t *testing.T) {
	var h progress.Holds
	h.Add(0)
	for at := event.Time(1); at <= 1000; at++ {
		h.Add(at)
	}
	for at := event.Time(1); at <= 1000; at++ {
		if at%10 != 0 && !h.Remove(at) {
			t.Fatalf("%d is gone", at)
		}
	}
	want := []event.Time{0}
	for at := event.Time(10); at <= 1000; at += 10 {
		want = append(want, at)
	}
	for len(want) > 0 {
		checkHolds(t, &h, want)
		if !h.Remove(want[0]) {
			t.Fatalf("%d is gone", want[0])
		}
		want = want[1:]
	}
	checkHolds(t, &h, nil)
}

// restriction is one of the model's.
type restriction struct {
	id         int
	name       string
	mark       event.Time
	idle, runs bool
	queued     bool
}

// ledgerModel is the restrictions that are not done, and the queue, in order.
type ledgerModel struct {
	all   []*restriction
	queue []*restriction
}

// The ledger's watermark is the greatest minimum that it has shown over the restrictions which were neither done nor idle.
func TestLedgerIsBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := progress.NewLedger()
		var m ledgerModel
		shown := event.Min
		for n := range rapid.IntRange(1, 60).Draw(t, "steps") {
			what := rapid.IntRange(0, 6).Draw(t, "what")
			if len(m.all) == 0 {
				what = 0
			}
			var r *restriction
			if what > 0 {
				r = rapid.SampledFrom(m.all).Draw(t, "which")
			}
			switch what {
			case 0:
				at := mark(t)
				r = &restriction{id: l.Add(fmt.Sprint("r", n), at), name: fmt.Sprint("r", n), mark: at, queued: true}
				if slices.ContainsFunc(m.all, func(o *restriction) bool { return o.id == r.id }) {
					t.Fatalf("number %d was given twice", r.id)
				}
				m.all, m.queue = append(m.all, r), append(m.queue, r)
			case 1:
				m.next(t, l)
			case 2:
				if !r.queued {
					l.Done(r.id)
					m.all = slices.DeleteFunc(m.all, func(o *restriction) bool { return o == r })
				}
			case 3:
				if r.runs {
					l.Park(r.id)
					r.runs = false
				}
			case 4:
				if !r.queued {
					l.Requeue(r.id)
					r.runs, r.queued = false, true
					m.queue = append(m.queue, r)
				}
			default:
				if r.runs {
					r.mark, r.idle = max(r.mark, mark(t)), rapid.Bool().Draw(t, "idle")
					l.Report(r.id, r.mark, r.idle)
				}
			}
			shown = checkLedger(t, l, m.all, shown)
		}
	})
}

// next takes the first restriction from the queue.
func (m *ledgerModel) next(t *rapid.T, l *progress.Ledger) {
	id, ok := l.Next()
	if ok != (len(m.queue) > 0) || ok && id != m.queue[0].id {
		t.Fatalf("Next() = %d, %v, of %d", id, ok, len(m.queue))
	}
	if ok {
		m.queue[0].queued, m.queue[0].runs = false, true
		m.queue = m.queue[1:]
	}
}

// checkLedger compares the ledger with the model and returns its watermark; shown is what it was.
func checkLedger(t *rapid.T, l *progress.Ledger, all []*restriction, shown event.Time) event.Time {
	var behind *restriction
	queued := 0
	for _, r := range all {
		if !r.idle && (behind == nil || r.mark < behind.mark) {
			behind = r
		}
		if r.queued {
			queued++
		}
	}
	want := shown
	if behind != nil {
		want = max(shown, behind.mark)
	}
	if got := l.Watermark(); len(all) == 0 && got != event.Max || len(all) > 0 && got != want {
		t.Fatalf("watermark %d, want %d after %d", got, want, shown)
	}
	if l.Open() != len(all) || l.Queued() != queued || l.Idle() != (len(all) > 0 && behind == nil) {
		t.Errorf("Open() = %d, Queued() = %d, Idle() = %v", l.Open(), l.Queued(), l.Idle())
	}
	low, ok := l.Low()
	if ok != (behind != nil) || ok && low != behind.mark {
		t.Errorf("Low() = %d, %v", low, ok)
	}
	name, at, ok := l.Behind()
	if ok != (behind != nil) || ok && at != behind.mark {
		t.Errorf("%s is behind at %d, %v", name, at, ok)
	}
	if ok && !slices.ContainsFunc(all, func(r *restriction) bool { return r.name == name && r.mark == at && !r.idle }) {
		t.Errorf("%s is not at %d", name, at)
	}
	return want
}

func TestLedger(t *testing.T) {
	if at := progress.NewLedger().Watermark(); at != event.Max {
		t.Errorf("without restrictions the watermark is %v", at)
	}
	l := progress.NewLedger()
	a, b := l.Add("a", 0), l.Add("b", 10)
	step := func(why string, want event.Time) {
		t.Helper()
		if got := l.Watermark(); got != want {
			t.Errorf("%s: the watermark is %d, want %d", why, got, want)
		}
	}
	step("neither has begun", 0)
	l.Report(a, 20, false)
	step("the other one counts, though it waits in the queue", 10)
	l.Report(b, 10, true)
	step("the idle one does not count", 20)
	l.Report(a, 20, true)
	step("all are idle", 20)
	if !l.Idle() {
		t.Error("all are idle and the ledger is not")
	}
	l.Report(b, 15, false)
	step("who comes back does not pull it back", 20)
	l.Done(a)
	l.Done(a)
	step("done twice is done once", 20)
	l.Report(b, 30, true)
	step("what is done does not count, the other is idle", 20)
	l.Done(b)
	step("all are done", event.Max)
}
