package exec_test

import (
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
)

// joins are the joins with state, of a stream with itself: even values on one side, odd ones on the other, of which those below 0 delete.
func joins() map[string]func(a, b levada.PCollection[number]) levada.PCollection[int64] {
	within := levada.Interval{Before: time.Second, After: time.Second}
	return map[string]func(a, b levada.PCollection[number]) levada.PCollection[int64]{
		"interval": func(a, b levada.PCollection[number]) levada.PCollection[int64] {
			return levada.IntervalJoin("join", a, b, within, func(_ uint64, a, b int64) int64 { return a + b })
		},
		"changelog": func(a, b levada.PCollection[number]) levada.PCollection[int64] {
			changes := levada.Map(b, "changes", func(kv number) levada.KV[uint64, levada.Opt[int64]] {
				return levada.KV[uint64, levada.Opt[int64]]{Key: kv.Key, Value: levada.Opt[int64]{Value: kv.Value, Ok: kv.Value >= 0}}
			})
			return levada.ChangelogJoin("join", a, changes, func(_ uint64, a int64, row levada.Opt[int64]) int64 { return a + row.Value })
		},
	}
}

// newJoin binds a join of a stream with itself.
func newJoin(t testing.TB, join func(a, b levada.PCollection[number]) levada.PCollection[int64]) *keyedStep {
	t.Helper()
	return newKeyedStage(t, func(in levada.PCollection[number]) levada.PCollection[int64] {
		return join(levada.Filter(in, "even", func(kv number) bool { return kv.Value%2 == 0 }),
			levada.Filter(in, "odd", func(kv number) bool { return kv.Value%2 != 0 }))
	})
}

// TestJoinsForget: of many keys that are quiet, and of one that never is, nothing is left when no partner can come any more.
func TestJoinsForget(t *testing.T) {
	skipChecked(t)
	for name, join := range joins() {
		g := newJoin(t, join)
		before := heap()
		const keys = 20_000
		for key := range uint64(keys) {
			g.add(t, key, 1, 1000)
			g.add(t, key, 2, 1500)
			g.add(t, key, -1, 1600)
		}
		full := heap() - before
		g.reader.Advance(g.e, 2_601)
		if left := heap() - before; full < keys*100 || left > 200<<10 {
			t.Errorf("%s, many keys: %d bytes of %d are left", name, left, full)
		}
		if out := keys * map[string]int{"interval": 2, "changelog": 1}[name]; g.out != out {
			t.Errorf("%s: %d results, want %d", name, g.out, out)
		}
		for i := range int64(200_000) {
			g.add(t, 1, i, event.Time(10_000+i*100))
			if i%10 == 0 {
				g.reader.Advance(g.e, event.Time(10_000+i*100))
			}
		}
		if left := heap() - before; left > 200<<10 {
			t.Errorf("%s, one key: %d bytes are left", name, left)
		}
	}
}

// BenchmarkJoins has the cost of an element, at ten a key and second of event time.
func BenchmarkJoins(b *testing.B) {
	for name, join := range joins() {
		b.Run(name, func(b *testing.B) {
			g := newJoin(b, join)
			b.ReportAllocs()
			n := int64(0)
			for b.Loop() {
				g.add(b, uint64(n/2%100), n, event.Time(n))
				if n++; n%1000 == 0 {
					g.reader.Advance(g.e, event.Time(n))
				}
			}
		})
	}
}
