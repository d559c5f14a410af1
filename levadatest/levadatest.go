// Package levadatest has what tests of pipelines need: scripted sources, a virtual clock, and collected results.
//
// Each call takes effect and returns when all that it caused has happened, so that a test reads like a story: an element comes,
// the watermark moves, a pane is there. Nothing waits for real time, but for the calls of a levada.MapConcurrent: they must return.
//
// Invariants:
//   - Results do not depend on parallelism or bundle sizes; only the order of what one call causes does.
//   - Nothing is left behind when the test ends.
package levadatest

import (
	"fmt"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
)

// Harness is a pipeline under test. Its calls fail the test where a [Driver]'s return an error. Not safe for concurrent use.
type Harness struct {
	*Driver
	t         testing.TB
	collected int
}

// New returns a harness with an empty pipeline, in h.Pipeline. The run is stopped when the test ends; if that has failed, the
// steps' watermarks are logged.
func New(t testing.TB) *Harness {
	h := &Harness{Driver: NewDriver(), t: t}
	t.Cleanup(func() {
		if r := h.Result(); t.Failed() && r != nil {
			t.Logf("the steps' watermarks:\n%v", r)
		}
		h.Stop()
	})
	return h
}

func (h *Harness) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// Start starts the pipeline; the first call of a source or the clock does it too.
func (h *Harness) Start() { h.t.Helper(); h.must(h.Driver.Start()) }

// Clock moves processing time forward.
func (h *Harness) Clock(by time.Duration) { h.t.Helper(); h.must(h.Driver.Clock(by)) }

// Finish ends all sources.
func (h *Harness) Finish() { h.t.Helper(); h.must(h.Driver.Finish()) }

// Src is a scripted source of a harness.
type Src[T any] struct {
	*Script[T]
	h *Harness
}

// Source adds a scripted source to the harness's pipeline. Its collection is src.Out.
func Source[T any](h *Harness, name string) *Src[T] { return &Src[T]{AddScript[T](h.Driver, name), h} }

// Add emits v at time t.
func (s *Src[T]) Add(t event.Time, v T) { s.h.t.Helper(); s.h.must(s.Script.Add(t, v)) }

// Watermark moves the source's watermark to t.
func (s *Src[T]) Watermark(t event.Time) { s.h.t.Helper(); s.h.must(s.Script.Watermark(t)) }

// Collect keeps the elements of a collection, in a step named "collect-N".
func Collect[T any](h *Harness, in levada.PCollection[T]) *Collected[T] {
	h.collected++
	return Gather(in, fmt.Sprintf("collect-%d", h.collected))
}
