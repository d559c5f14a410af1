// Package check holds the rules of the house as tests over the source tree: the import order, what the pure packages may not
// do, sizes, doc comments. It imports whatever it needs and is imported by nothing.
//
// Invariants:
//   - A rule is a function from parsed files to findings, "file:line: rule: text", and is itself tested with a bad example.
//   - What is excepted from a rule stands in one table next to the rule, with a reason.
package check
