// Package engine runs a graph in this process: a goroutine for each task, inboxes with credits, bundles, in-band watermarks,
// the split ledger, the clock, quiescence, and the run's end.
//
// Invariants:
//   - A task owns its state; only messages in its inbox reach it. A bundle's end is the only place where a watermark leaves.
//   - The order at a bundle's end: OnBundleFinish hooks, flush, splits' reports, the steps' watermarks along the chain, messages.
//   - A producer has credit for 4 batches per receiver; watermarks need none and coalesce.
//   - in-flight is the number of messages put and not yet settled; a message is settled after the bundle in which it was read
//     has sent all that it caused. At 0 nothing runs and nothing will by itself.
//   - Locks: a coordinator's before an inbox's; no other is taken while one is held.
package engine
