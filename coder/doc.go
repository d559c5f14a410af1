// Package coder encodes and decodes values as Beam's standard coders do, in the NESTED context: every encoding says itself
// where it ends, so encodings can follow one another.
//
// Whoever has a type that the engine cannot plan for (see the package plan) writes a [Coder] for it.
//
// Invariants:
//   - Decode(Append(nil, v)) is v, and reads all of it.
//   - A decoder takes only what Append writes, and so do its parts, with one exception: an [Iterable] also takes Beam's form
//     for an unknown length. A number with more bytes than it needs, a boolean of 2, a null marker of 7 are errors.
//   - A decoder never panics, whatever the bytes, and allocates no more than a small multiple of their number: a declared
//     length is compared with what is there before anything is allocated for it.
//   - What a decoder returns does not share memory with the bytes; what Append is given is not kept.
//   - A coder is immutable and may be used by several goroutines.
//
// Out of scope: Beam's OUTER context, timers, windowed values, rows (the package plan writes Beam's row form for structs),
// sharded keys.
package coder
