// Package scenario runs the event-time model as executable text: a file says what a pipeline is, what happens to it, and what
// must come out. It reads and rewrites the files, builds the pipelines through the public API, and drives them under the virtual
// clock.
//
// Invariants:
//   - What is not supported yet is counted by name, and never as passed.
//   - A block that is disputed is named in a table with its reason; a file in which such a block passes has failed.
//   - Rewriting changes expected parts only.
package scenario
