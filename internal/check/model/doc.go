// Package model compares the engine with a second, simple-minded reading of the event-time rules. Random programs are
// computed by brute force: every window keeps all of its elements, and everything is worked out anew from them. Where there is no
// model, the engine is compared with itself: parallelism, bundles, paths, fusion and the order of elements change nothing.
//
// Invariants:
//   - The model is written from the rules. It shares no code with the engine.
//   - Where model and engine are known to disagree, a named switch keeps such programs out, and says why.
//   - A disagreement is printed as a whole scenario file, with what the model says as the expected parts.
package model
