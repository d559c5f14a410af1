// Package gen writes the inputs of the benchmarks: web access logs and Nexmark events.
//
// Invariants:
//   - A file is a function of its kind and size alone: the same on every machine and in every run.
//   - A file under its final name is complete.
package gen
