package harness

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/internal/graph"
	"github.com/levadaflow/levada/portable/internal/wire"
)

// instance is a stage, bound. It runs one bundle at a time.
type instance struct {
	plan   *plan
	bound  *exec.Bound
	sinks  []*sink
	header wire.Header
}

// newInstance binds a stage. The instance has been started; it must be closed also if that has failed.
func newInstance(p *plan, run *exec.Run, stream func(address string) (*dataStream, error)) (*instance, error) {
	in := &instance{plan: p}
	for _, out := range p.sinks {
		d, err := stream(out.address)
		if err != nil {
			return nil, err
		}
		in.sinks = append(in.sinks, &sink{port: out, stream: d})
	}
	edges := p.stage.Edges()
	in.bound = exec.Bind(p.stage, &exec.Binder{
		Elem:    &exec.Elem{Run: run, Pane: event.NoPane},
		Tasks:   1,
		Metrics: exec.NewMetrics(),
		Carrier: func(e graph.Edge) exec.Carrier { return in.sinks[slices.Index(edges, e)] },
	}, nil)
	in.bound.RunHooks(in.bound.OnStart)
	return in, nil
}

// begin begins a bundle.
func (in *instance) begin(bundle string) {
	for _, s := range in.sinks {
		s.bundle, s.buf = bundle, nil
	}
	in.bound.RunHooks(in.bound.OnBundleStart)
}

// take takes in a message of the bundle's input. A failure of a step is in Elem.Err, as is a panic.
func (in *instance) take(data []byte) error {
	defer func() {
		if r := recover(); r != nil {
			in.bound.Panicked(r, in.bound.Current())
		}
	}()
	e := in.bound.Elem
	for len(data) > 0 && e.Err == nil {
		if e.Run.Stopped() {
			e.Err = exec.ErrStopped
			break
		}
		rest, err := in.element(data)
		if err != nil {
			return fmt.Errorf("reading the input of step %s: %w", in.plan.stage.Head.Name, err)
		}
		data = rest
	}
	return nil
}

// element takes in the element at the front of data and returns the bytes after it.
func (in *instance) element(data []byte) (rest []byte, err error) {
	h, e := &in.header, in.bound.Elem
	if rest, err = h.Read(data, in.plan.source.windows); err != nil {
		return nil, err
	}
	e.Time, e.Win, e.Pane = h.Time, h.Windows[:len(h.Windows):len(h.Windows)], h.Pane
	key, rest, err := wire.Prefixed(rest) // or the value
	if err != nil {
		return nil, err
	}
	switch {
	case in.bound.Root != nil: // an impulse
		in.bound.Root.Start(e, safe{e})
	case in.plan.source.keyed:
		values, err := wire.ReadIterable(rest)
		if err != nil {
			return nil, err
		}
		in.bound.Remote.Take(e, key, values.Values())
		return values.Rest(), nil
	default:
		in.bound.Remote.Take(e, nil, single(key))
	}
	return rest, nil
}

func single(data []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) { yield(data, nil) }
}

// finish ends the bundle: everything of it is with the runner afterwards.
func (in *instance) finish() error {
	if in.bound.FinishBundle(); in.bound.Elem.Err != nil {
		return in.bound.Elem.Err
	}
	for _, s := range in.sinks {
		if err := s.flush(true); err != nil {
			return err
		}
	}
	return nil
}

// safe is how a root meets the worker.
type safe struct{ e *exec.Elem }

// pointsPerLook is after how many elements a root looks whether the run ends.
const pointsPerLook = 64

// Points implements [exec.Safe].
func (s safe) Points(int) int {
	if s.e.Err == nil && s.e.Run.Stopped() {
		s.e.Err = exec.ErrStopped
	}
	if s.e.Err != nil {
		return 0
	}
	return pointsPerLook
}

// Block implements [exec.Safe].
func (s safe) Block(f func(ctx context.Context) error) error { return f(s.e.Run.Ctx) }

// sink is an output of a stage: elements are collected and sent to the runner.
type sink struct {
	port
	stream *dataStream
	bundle string
	buf    []byte
}

// flushBytes is how many bytes are collected before they are sent.
const flushBytes = 1 << 20

// Carry implements [exec.Carrier].
func (s *sink) Carry(e *exec.Elem, key, value []byte) error {
	buf, err := wire.AppendHeader(s.buf, &wire.Header{Time: e.Time, Windows: e.Win, Pane: e.Pane}, s.windows)
	if err != nil {
		return err
	}
	if s.keyed {
		buf = wire.AppendPrefixed(buf, key)
	}
	s.buf = wire.AppendPrefixed(buf, value)
	if len(s.buf) < flushBytes {
		return nil
	}
	return s.flush(false)
}

func (s *sink) flush(last bool) error {
	data := s.buf
	s.buf = nil // what is sent may be read later
	if err := s.stream.send(s.bundle, s.transform, data, last); err != nil {
		return fmt.Errorf("sending data: %w", err)
	}
	return nil
}
