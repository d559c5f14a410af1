// Package graph is the untyped form of a pipeline: steps, their connections, and how they are fused into stages.
//
// It is pure data. Invariants:
//   - Steps are in topological order: a step is added after its inputs.
//   - A stage has one head; every other step of it has all its inputs in the same stage.
package graph

import (
	"fmt"
	"hash/fnv"
)

// Kind says what a step is for the fusion of stages.
type Kind uint8

// The kinds of steps.
const (
	Root     Kind = iota // has no input and begins a stage
	Chain                // is fused into the stage of its input
	Exchange             // begins a stage: its input goes through an exchange
	Merge                // several inputs: fused if they are in one stage, else it begins one
)

// Port is one output of a step.
type Port struct {
	Step *Step
	Out  int
}

// Output is what the typed layer knows of an output's type.
type Output interface {
	// Join returns one sink that gives to all of sinks, in order; a sink that drops everything if there are none.
	Join(sinks []any) any
}

// Step is a transform of the pipeline.
type Step struct {
	ID      int
	Name    string // the path, unique
	Site    string // file:line of the call
	Kind    Kind
	Op      any // what internal/exec binds
	Inputs  []Port
	Outputs []Output
	Stage   *Stage // set by Fuse and Cut
	readers [][]Reader
}

// Reader is a consumer of an output: input number Input of Step.
type Reader struct {
	Step  *Step
	Input int
}

// Readers returns who reads output out.
func (s *Step) Readers(out int) []Reader { return s.readers[out] }

// Graph is a pipeline.
type Graph struct {
	Steps  []*Step
	byName map[string]*Step
}

// New returns an empty graph.
func New() *Graph { return &Graph{byName: map[string]*Step{}} }

// Lookup returns the step with that path, or nil.
func (g *Graph) Lookup(name string) *Step { return g.byName[name] }

// Add appends a step. Its name must be new (see Lookup).
func (g *Graph) Add(s *Step) {
	s.ID = len(g.Steps)
	s.readers = make([][]Reader, len(s.Outputs))
	g.Steps = append(g.Steps, s)
	g.byName[s.Name] = s
	for i, in := range s.Inputs {
		in.Step.readers[in.Out] = append(in.Step.readers[in.Out], Reader{s, i})
	}
}

// Fingerprint returns a number that is the same for graphs with the same steps, names and connections.
func (g *Graph) Fingerprint() uint64 {
	h := fnv.New64a()
	for _, s := range g.Steps {
		fmt.Fprintf(h, "%q %d %d %d\n", s.Name, s.Kind, len(s.Outputs), len(s.Inputs))
		for _, in := range s.Inputs {
			fmt.Fprintf(h, "%d.%d\n", in.Step.ID, in.Out)
		}
	}
	return h.Sum64()
}

// Stage is a chain of steps that run in one task without a queue between them.
type Stage struct {
	ID    int
	Head  *Step
	Steps []*Step // topological, the head first
}

// Fuse puts each step into a stage and returns the stages in topological order. It may be called again after more steps were
// added.
func (g *Graph) Fuse() []*Stage { return g.stages(stageOfInputs) }

// Cut is Fuse without fusing anything: each step is a stage of its own.
func (g *Graph) Cut() []*Stage { return g.stages(func(*Step) *Stage { return nil }) }

// stages puts each step into the stage that of returns, or into a new one if that is nil.
func (g *Graph) stages(of func(*Step) *Stage) []*Stage {
	var stages []*Stage
	for _, s := range g.Steps {
		if st := of(s); st != nil {
			s.Stage = st
			st.Steps = append(st.Steps, s)
			continue
		}
		s.Stage = &Stage{ID: len(stages), Head: s, Steps: []*Step{s}}
		stages = append(stages, s.Stage)
	}
	return stages
}

// stageOfInputs returns the stage that the step is fused into, or nil if it begins one.
func stageOfInputs(s *Step) *Stage {
	if s.Kind == Root || s.Kind == Exchange || len(s.Inputs) == 0 {
		return nil
	}
	st := s.Inputs[0].Step.Stage
	for _, in := range s.Inputs[1:] {
		if in.Step.Stage != st {
			return nil
		}
	}
	return st
}

// Edge is a connection between two stages: an output that the head of another stage reads.
type Edge struct {
	From  Port
	To    *Step
	Input int
}

// Edges returns the connections that leave the stage, in the order of its steps.
func (st *Stage) Edges() []Edge {
	var out []Edge
	for _, s := range st.Steps {
		for o := range s.Outputs {
			for _, r := range s.readers[o] {
				if r.Step.Stage != st {
					out = append(out, Edge{Port{s, o}, r.Step, r.Input})
				}
			}
		}
	}
	return out
}
