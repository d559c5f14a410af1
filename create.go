package levada

import (
	"fmt"

	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/internal/graph"

	"github.com/levadaflow/levada/event"
)

// Create gives the values, in order, at time event.Min in the global window. The collection is bounded.
func Create[T any](p *Pipeline, name string, values ...T) PCollection[T] {
	return RootOf[T](p, name, exec.CreateOp(values, nil), false)
}

// CreateTimed gives the values, in order, each at its time. A time outside of [event.Min, event.Max] is an error of building.
func CreateTimed[T any](p *Pipeline, name string, values ...Timed[T]) PCollection[T] {
	vs, times := make([]T, len(values)), make([]event.Time, len(values))
	for i, v := range values {
		vs[i], times[i] = v.Value, v.Time
		if err := v.Time.Check(); err != nil {
			p.problem(p.path(name), fmt.Errorf("value %d at %d ms: %w", i, v.Time.Millis(), err))
		}
	}
	return RootOf[T](p, name, exec.CreateOp(vs, times), false)
}

// Impulse gives one empty element at time event.Min in the global window, to begin a pipeline with.
func Impulse(p *Pipeline, name string) PCollection[[]byte] { return Create(p, name, []byte{}) }

// RootOf adds a step without inputs. It is for the packages of this project: op is internal.
func RootOf[T any](p *Pipeline, name string, op *exec.RootOp, unbounded bool) PCollection[T] {
	s := p.add(&graph.Step{Kind: graph.Root, Op: op, Outputs: []graph.Output{exec.OutputOf[T]{}}}, name)
	return PCollection[T]{p, graph.Port{Step: s}, initial, unbounded}
}

// SinkOf adds a step like [ForEach], with a function that makes its results visible at the run's end. It is for the packages
// of this project: commit is internal.
func SinkOf[I any](in PCollection[I], name string, commit exec.Committer, fn func(*Setup) Process[I]) {
	in.owner(name).needs(name, fn != nil)
	s := parDo(in, name, nil, nil, func(s *Setup, _ outs) Process[I] { return fn(s) })
	s.Op.(*exec.ChainOp).Commit = commit
}

// Problem reports that a step is wrong, found while building. It is for packages that add steps of their own.
func (p *Pipeline) Problem(name string, err error) { p.problem(p.path(name), err) }

// Pipeline returns the pipeline that the collection belongs to, nil for the zero value.
func (in PCollection[T]) Pipeline() *Pipeline { return in.p }

// Build returns the graph for a runner, or what is wrong with it, as [BuildErrors]. The type is internal: it is for the
// runners of this project.
func (p *Pipeline) Build() (*graph.Graph, error) {
	if err := p.Err(); err != nil {
		return nil, err
	}
	return p.graph, nil
}
