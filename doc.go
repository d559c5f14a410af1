// Package levada is event-time dataflow for Go, after the model of Apache Beam.
//
// A pipeline is a graph of typed collections. Every element has an event time and windows; watermarks say how far time is
// complete; a grouping gives a window's result when the watermark has passed its end; what comes later is late, and is told
// apart from what is lost. Build a [Pipeline] with [New] or [Main], add steps, and run it with [Pipeline.Run].
//
// Every transform is F(input, "step name", what, options). Step names are required and unique in their scope: counters and
// errors are known by them.
//
// # Once per element, once per window
//
// A function with a *[Ctx] is called once per element and window; a plain function once per element, with all its windows.
// A closure is shared by all tasks, which call it at the same time: it must not change what it has captured without a lock. A
// DoFn ([ParDo]) has an instance for each task, and what it creates in its setup belongs to that instance alone.
//
// # Elements
//
// An element belongs to the engine once it is emitted and is never changed afterwards, neither by the step that emitted it nor
// by those that read it. Results of more than four words are several times cheaper with ParDo and out.Emit(c, T{...}) than
// returned from Map.
package levada
