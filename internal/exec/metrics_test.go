package exec

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// taskOf is what steps of one task declare metrics with.
func taskOf(m *Metrics) *Binder { return &Binder{Metrics: m, bound: &Bound{Elem: &Elem{Run: &Run{}}}} }

// TestMetricsPublished shows that what a task counts is visible after its bundle's end only.
func TestMetricsPublished(t *testing.T) {
	m := NewMetrics()
	b := taskOf(m)
	c, d := b.Counter(testInst(), "n"), b.Distribution(testInst(), "sizes")
	check := func(when string, n int64, sizes Value) {
		t.Helper()
		if got := m.All[0].Value(); got.Sum != n {
			t.Errorf("%s: the counter is %d, want %d", when, got.Sum, n)
		}
		if got := m.All[1].Value(); got != sizes {
			t.Errorf("%s: the distribution is %+v, want %+v", when, got, sizes)
		}
	}
	check("declared", 0, Value{})
	b.bound.FinishBundle()
	check("an empty bundle", 0, Value{})
	c.Inc(3)
	c.Inc(-1)
	d.Update(-7)
	check("within the bundle", 0, Value{})
	b.bound.FinishBundle()
	check("after the bundle", 2, Value{1, -7, -7, -7})
	b.bound.FinishBundle()
	check("after another", 2, Value{1, -7, -7, -7})
	c.Inc(1)
	d.Update(4)
	_ = b.bound.Close()
	check("closed", 3, Value{2, -3, -7, 4})
}

// TestMetricsShared shows that tasks add up to one metric, and that steps and names tell them apart.
func TestMetricsShared(t *testing.T) {
	m := NewMetrics()
	a, b := taskOf(m), taskOf(m)
	a.Counter(testInst(), "n").Inc(1)
	b.Counter(testInst(), "n").Inc(2)
	b.Counter(testInst(), "other").Inc(5)
	a.bound.FinishBundle()
	b.bound.FinishBundle()
	if len(m.All) != 2 || m.All[0].Value().Sum != 3 || m.All[1].Value().Sum != 5 || m.All[0].Step != "scope/step" {
		t.Errorf("%d metrics, %+v", len(m.All), m.All[0].Value())
	}
}

// TestDistribution compares distributions over several tasks and bundles with the values themselves.
func TestDistribution(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := NewMetrics()
		tasks := []*Binder{taskOf(m), taskOf(m)}
		var dists []*Distribution
		for _, b := range tasks {
			dists = append(dists, b.Distribution(testInst(), "sizes"))
		}
		values := rapid.OneOf(rapid.Int64Range(-5, 5), rapid.Int64(), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64}))
		var want Value
		for range rapid.IntRange(0, 10).Draw(t, "values") {
			v, task := values.Draw(t, "value"), rapid.IntRange(0, 1).Draw(t, "task")
			dists[task].Update(v)
			if want.Count == 0 {
				want.Min, want.Max = v, v
			}
			want = Value{want.Count + 1, want.Sum + v, min(want.Min, v), max(want.Max, v)}
			if rapid.Bool().Draw(t, "publish") {
				tasks[task].bound.FinishBundle()
			}
		}
		for _, b := range tasks {
			b.bound.FinishBundle()
		}
		if got := m.All[0].Value(); got != want {
			t.Fatalf("%+v, want %+v", got, want)
		}
	})
}
