package levada

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/graph"
)

// KV is a key with a value.
type KV[K, V any] = event.KV[K, V]

// Pipeline is a graph of steps that is being built. It is not safe for concurrent use. Errors of building are collected and
// returned together by Run.
type Pipeline struct {
	graph    *graph.Graph
	scope    []string
	problems BuildErrors
}

// New returns an empty pipeline.
func New() *Pipeline { return &Pipeline{graph: graph.New()} }

// Scope calls fn, and puts the scope's name before those of the steps that fn adds: "parsing/parse". Scopes nest. It returns
// what fn returns. Two scopes of one name are one.
func Scope[R any](p *Pipeline, name string, fn func() R) R {
	p.needs(name, fn != nil)
	if err := checkName(name); err != nil {
		p.problem(p.path(name), err)
	}
	p.scope = append(p.scope, name)
	defer func() { p.scope = p.scope[:len(p.scope)-1] }()
	return fn()
}

// Err returns what is wrong with the pipeline so far, as [BuildErrors], or nil.
func (p *Pipeline) Err() error {
	if len(p.problems) == 0 {
		return nil
	}
	return slices.Clone(p.problems)
}

// Fingerprint returns a number that is the same for pipelines of the same steps, names and connections.
func (p *Pipeline) Fingerprint() uint64 { return p.graph.Fingerprint() }

func (p *Pipeline) path(name string) string {
	return strings.Join(append(slices.Clone(p.scope), name), "/")
}

func (p *Pipeline) problem(step string, err error) {
	p.problems = append(p.problems, &BuildError{Step: step, Site: site(), Err: err})
}

func checkName(name string) error {
	if name == "" || strings.Contains(name, "/") {
		return fmt.Errorf("%w: %q is empty or has a slash", ErrBadName, name)
	}
	return nil
}

// add appends a step and reports what is wrong with its name. The step is there in any case, so that building can go on.
func (p *Pipeline) add(s *graph.Step, name string) *graph.Step {
	s.Name, s.Site = p.path(name), site()
	if err := checkName(name); err != nil {
		p.problem(s.Name, err)
	}
	if first := p.graph.Lookup(s.Name); first != nil {
		p.problem(s.Name, fmt.Errorf("%w: the first is at %s", ErrDuplicateName, first.Site))
		s.Name += fmt.Sprintf("#%d", len(p.graph.Steps))
	}
	p.graph.Add(s)
	return s
}

// site returns file:line of the call into this project's API.
func site() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if !ownFrame(f.Function) || !more {
			return fmt.Sprintf("%s:%d", f.File, f.Line)
		}
	}
}

// ownFrame reports whether a function is part of the API that users call.
func ownFrame(function string) bool {
	const module = "github.com/levadaflow/levada"
	rest, ok := strings.CutPrefix(function, module)
	return ok && !strings.Contains(rest, "_test.") && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "/io/") || strings.HasPrefix(rest, "/levadatest."))
}

// PCollection is the output of a step: elements of type T, each with a time, windows and a pane. It is a handle to build with; it
// may be copied and read by any number of steps. The zero value belongs to no pipeline: a step on it panics with a
// [*BuildError].
type PCollection[T any] struct {
	p         *Pipeline
	port      graph.Port
	windowing *strategy
	unbounded bool
}

// errZeroCollection is what a step on the zero PCollection panics with: there is no pipeline to report it to.
var errZeroCollection = errors.New("the input is the zero PCollection: it was never set (a LateOf without LateTo?)")

// owner returns the pipeline of a step's inputs.
func (in PCollection[T]) owner(name string) *Pipeline {
	if in.p == nil {
		panic(&BuildError{Step: name, Site: site(), Err: errZeroCollection})
	}
	return in.p
}

// needs panics, as owner does, if what a step is to call is not there: building cannot go on without it.
func (p *Pipeline) needs(name string, isThere bool) {
	if !isThere {
		panic(&BuildError{Step: p.path(name), Site: site(), Err: ErrNilFunction})
	}
}

// derived returns a collection with the windowing of in.
func derived[O, I any](in PCollection[I], s *graph.Step, out int) PCollection[O] {
	return PCollection[O]{in.p, graph.Port{Step: s, Out: out}, in.windowing, in.unbounded}
}
