// Package translate makes a Beam pipeline of a graph.
//
// Each stage is one ParDo, whose DoFn says nothing but which stage it is: the worker has the graph too, and binds the stage as
// the engine does. The exchange in front of a stage is a transform of the runner: Impulse, GroupByKey or Flatten.
//
// Invariants:
//   - What the runner or the worker cannot do is refused, with the step; all refusals come together.
//   - A graph always gives the same pipeline, with the same ids and names.
//   - Every edge between two stages is a PCollection of its own, whose elements are encoded as its reader wants them.
package translate
