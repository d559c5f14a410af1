// Package event is the vocabulary of event time: [Time], [Window], [Pane] and [KV].
//
// It is imported by every other package and imports none of them.
//
// Invariants:
//   - A [Time] is a number of milliseconds since the Unix epoch. Nothing in here goes through nanoseconds, so that every
//     instant between the years -292,000,000 and +292,000,000 is exact.
//   - The engine's own sums saturate at [Min] and [Max] ([Time.Plus]); what user code computes saturates only at the ends of
//     int64 ([Time.Add]), so that a time outside of [Min, Max] is still seen, and refused, where it is emitted.
package event
