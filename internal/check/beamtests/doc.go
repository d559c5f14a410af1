// Package beamtests checks docs/beam-tests.tsv: for each event-time test of Beam's Java SDK it names the Go tests that show the same behaviour, or
// says why there is none.
//
// A Go test is named by the folder of its package, "levada" for the root, and its function, with or without a subtest:
// levada.TestBeamParDo/testParDo. "scenario:name" is the file testdata/scenarios/name.txt.
package beamtests
