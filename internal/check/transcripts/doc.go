// Package transcripts runs Beam's trigger transcripts on the whole engine. The file in testdata is Apache Beam's
// (sdks/python/apache_beam/testing/data/trigger_transcripts.yaml, Apache License 2.0), unchanged.
//
// Invariants:
//   - What Python means by its words is said in one place, conventions_test.go.
//   - No expectation is edited. A transcript that asks for something else than the rules of Beam's Java core is listed as a
//     difference with the rule it breaks, and the test fails if it begins to pass.
package transcripts
