// Package wire has the forms in which Beam's Fn API carries elements: the header of a windowed value, and what is within a
// grouping's result. All are nested: they say themselves where they end. Coders of the windows are those of the package coder.
//
// It is pure. Invariants:
//   - What is read shares memory with the message that it was read from; nothing is copied.
//   - A corrupt message gives an error, never a panic, and costs no more memory than a small multiple of its length.
package wire
