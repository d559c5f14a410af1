// Package scenario reads scenarios: transcripts that say what a pipeline is, what happens to it, and what must come out.
//
// A scenario is a sequence of blocks. A block is a directive line, input lines, "----", the expected output, and a blank
// line or the end of the file. Comments, lines that begin with "#", stand only between blocks.
//
// Invariants:
//   - The reader keeps every byte: what [File.Rewrite] gives differs from the file only in the expected outputs that differ.
//   - Parsing is syntax only. Whether a step exists, an operation is known or a size makes sense is for the one who builds
//     the pipeline: a scenario may be about just that. What the parsers refuse can't be a scenario at all.
//   - Every error begins with "file:line: ".
package scenario
