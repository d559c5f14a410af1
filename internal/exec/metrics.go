package exec

import (
	"math"
	"sync/atomic"
)

// Metric is a counter or distribution of a step, summed over its tasks. Reading is safe from any goroutine.
type Metric struct {
	Step, Name    string
	Distribution  bool
	count, sum    atomic.Int64
	lowest, upper atomic.Int64
}

// Value is a metric's content. A counter has only a Sum.
type Value struct{ Count, Sum, Min, Max int64 }

// Value returns the present content; of a distribution without values Min and Max are 0.
func (m *Metric) Value() Value {
	v := Value{m.count.Load(), m.sum.Load(), m.lowest.Load(), m.upper.Load()}
	if v.Count == 0 {
		v.Min, v.Max = 0, 0
	}
	return v
}

// Metrics are all metrics of a run. They are declared while stages are bound, by one goroutine.
type Metrics struct {
	All   []*Metric
	byKey map[[2]string]*Metric
}

// NewMetrics returns none.
func NewMetrics() *Metrics { return &Metrics{byKey: map[[2]string]*Metric{}} }

func (m *Metrics) metric(step, name string, distribution bool) *Metric {
	key := [2]string{step, name}
	if x := m.byKey[key]; x != nil {
		return x
	}
	x := &Metric{Step: step, Name: name, Distribution: distribution}
	x.lowest.Store(math.MaxInt64)
	x.upper.Store(math.MinInt64)
	m.byKey[key] = x
	m.All = append(m.All, x)
	return x
}

// Counter is a task's share of a counter. It is published at the bundle's end.
type Counter struct {
	n     int64
	total *Metric
	_     Apart
}

// Inc adds n.
func (c *Counter) Inc(n int64) { c.n += n }

func (c *Counter) publish() {
	if c.n != 0 {
		c.total.sum.Add(c.n)
		c.n = 0
	}
}

// Distribution is a task's share of a distribution of values.
type Distribution struct {
	v     Value
	total *Metric
	_     Apart
}

// Update takes one value.
func (d *Distribution) Update(x int64) {
	if d.v.Count == 0 {
		d.v.Min, d.v.Max = x, x
	}
	d.v.Count++
	d.v.Sum += x
	d.v.Min, d.v.Max = min(d.v.Min, x), max(d.v.Max, x)
}

func (d *Distribution) publish() {
	if d.v.Count == 0 {
		return
	}
	d.total.sum.Add(d.v.Sum)
	for old := d.total.lowest.Load(); d.v.Min < old && !d.total.lowest.CompareAndSwap(old, d.v.Min); {
		old = d.total.lowest.Load()
	}
	for old := d.total.upper.Load(); d.v.Max > old && !d.total.upper.CompareAndSwap(old, d.v.Max); {
		old = d.total.upper.Load()
	}
	d.total.count.Add(d.v.Count)
	d.v = Value{}
}
