package source

import "github.com/levadaflow/levada/event"

// Estimator says how far the output of one restriction is complete: nothing before its watermark will come, or it is late. Its state is its
// watermark; it travels with what is left of the restriction, also to another task. (Beam's WatermarkEstimator.) It is used by one
// goroutine at a time.
type Estimator interface {
	// Begin starts it anew, for a restriction that was left with this watermark.
	Begin(state event.Time)
	// Observe is told of each output, at event time t and processing time now.
	Observe(t, now event.Time)
	// Current returns the watermark at processing time now. It never goes back, and is within [event.Min, event.Max].
	Current(now event.Time) event.Time
}

// ManualEstimator is an estimator that the source's code sets. (Beam's WatermarkEstimators.Manual.)
type ManualEstimator struct{ mark, last event.Time }

// Begin implements [Estimator].
func (m *ManualEstimator) Begin(state event.Time) { m.mark, m.last = state, state }

// Set says that nothing before t will come. Going back is no error and has no effect. The error, for a t outside of
// [event.Min, event.Max], is that of event.Time.Check.
func (m *ManualEstimator) Set(t event.Time) error {
	if err := t.Check(); err != nil {
		return err
	}
	m.last = t
	return nil
}

// Observe implements [Estimator]: outputs do not matter.
func (*ManualEstimator) Observe(_, _ event.Time) {}

// Current implements [Estimator]. What was set and then set back before this call was never there.
func (m *ManualEstimator) Current(event.Time) event.Time {
	m.mark = max(m.mark, m.last)
	return m.mark
}

// MonotonicEstimator is an estimator for outputs whose times only grow: it follows the last one. (Beam's MonotonicallyIncreasing.)
type MonotonicEstimator struct{ mark, last event.Time }

// Begin implements [Estimator].
func (m *MonotonicEstimator) Begin(state event.Time) { m.mark, m.last = state, state }

// Observe implements [Estimator].
func (m *MonotonicEstimator) Observe(t, _ event.Time) { m.last = t }

// Current implements [Estimator].
func (m *MonotonicEstimator) Current(event.Time) event.Time {
	m.mark = max(m.mark, m.last)
	return m.mark
}

// BoundedEstimator is an estimator for outputs that are out of order by no more than OutOfOrder: it stays that far behind the greatest time.
type BoundedEstimator struct {
	OutOfOrder int64 // milliseconds
	// MaxFuture is how many milliseconds a time may be ahead of the clock; what is further ahead comes from a wrong clock, and does not
	// count, so that it does not make the rest late. Negative: any time counts.
	MaxFuture int64
	// Ignored is called for each output that does not count; it may be nil.
	Ignored func()

	mark, most event.Time
}

// Begin implements [Estimator].
func (b *BoundedEstimator) Begin(state event.Time) { b.mark, b.most = state, event.Min }

// Observe implements [Estimator].
func (b *BoundedEstimator) Observe(t, now event.Time) {
	if b.MaxFuture >= 0 && t > now.AddMillis(b.MaxFuture) {
		if b.Ignored != nil {
			b.Ignored()
		}
		return
	}
	b.most = max(b.most, t)
}

// Current implements [Estimator].
func (b *BoundedEstimator) Current(event.Time) event.Time {
	if b.most > event.Min {
		b.mark = max(b.mark, b.most.Plus(-b.OutOfOrder))
	}
	return b.mark
}

// WallTimeEstimator is an estimator for outputs that have the times at which they are emitted: it follows the clock. (Beam's WallTime.)
type WallTimeEstimator struct{ mark event.Time }

// Begin implements [Estimator].
func (w *WallTimeEstimator) Begin(state event.Time) { w.mark = state }

// Observe implements [Estimator]: outputs do not matter.
func (*WallTimeEstimator) Observe(_, _ event.Time) {}

// Current implements [Estimator].
func (w *WallTimeEstimator) Current(now event.Time) event.Time {
	w.mark = max(w.mark, min(now, event.Max))
	return w.mark
}
