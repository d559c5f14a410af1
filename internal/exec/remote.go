package exec

import (
	"errors"
	"fmt"
	"iter"

	"github.com/levadaflow/levada/coder/plan"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/graph"
	"github.com/levadaflow/levada/internal/pane"
	"github.com/levadaflow/levada/trigger"
	"github.com/levadaflow/levada/window"
)

// RemoteOp is what a HeadOp needs to be bound where the exchange in front of it is a foreign runner's: see [Binder.Carrier].
// A HeadOp without one can be run by this project's engine only.
type RemoteOp struct {
	// Key and Value name the types of what is carried; Key is "" where elements have no key.
	Key, Value string
	// Windowing is that of the step's input.
	Windowing Windowing
	// Writer returns the Sink of the exchange to the step head.
	Writer func(b *Binder, head *graph.Step, to Carrier) (in any)
	// Reader returns the other side.
	Reader func(b *Binder, st *Inst, outs []any) Remote
}

// Windowing is the windowing of a step's input, as data.
type Windowing struct {
	Windows window.Fn
	Merged  bool            // merging windows that a grouping has merged: plain intervals now
	Trigger trigger.Trigger // never nil
	Panes   pane.Strategy
}

// Carrier takes elements of an edge to a foreign runner.
type Carrier interface {
	// Carry takes an element, whose time, windows and pane are in e. key is nil where elements have none. It keeps neither
	// key nor value. An error fails the step behind the edge.
	Carry(e *Elem, key, value []byte) error
}

// Remote is the receiving end of a foreign runner's exchange, which has no state: what comes has been grouped.
type Remote interface {
	// Take takes an element, whose time, windows and pane are in e: behind a grouping a key and all values of a pane, else a
	// nil key and one value. It keeps nothing. A failure is in e.Err.
	Take(e *Elem, key []byte, values iter.Seq2[[]byte, error])
	// Current returns the element at hand, for the error of a panic; nil if there is none.
	Current() any
}

// begin binds the head of a stage that begins behind an exchange.
func (op *HeadOp) begin(b *Binder, st *Inst, outs []any) {
	if b.Carrier != nil {
		b.bound.Remote = op.Remote.Reader(b, st, outs)
		return
	}
	b.bound.Reader = op.Reader(b, st, outs)
}

// remoteOf returns what the head of another stage needs of a foreign exchange.
func remoteOf(s *graph.Step) *RemoteOp {
	switch op := s.Op.(type) {
	case *HeadOp:
		return op.Remote
	case *MergeOp:
		return op.Remote
	}
	return nil
}

// errTrailing is the error of an encoding that has more bytes than it needs.
var errTrailing = errors.New("bytes are left over")

// decode reads a value that has data for itself.
func decode[T any](p *plan.Plan[T], data []byte) (T, error) {
	v, rest, err := p.Decode(data)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("decoding %v: %w", p, errTrailing)
	}
	return v, err
}

// passRemote is the RemoteOp of a step that passes its input on.
func passRemote[T any](values *plan.Plan[T]) *RemoteOp {
	return &RemoteOp{
		Value: values.String(),
		Writer: func(b *Binder, head *graph.Step, to Carrier) any {
			st := b.bound.guest(head)
			var buf []byte
			return Sink[T](func(e *Elem, v T) {
				if e.Err != nil {
					return
				}
				var err error
				if buf, err = values.Append(buf[:0], v); err == nil {
					err = to.Carry(e, nil, buf)
				}
				if err != nil {
					e.Fail(st, v, err)
				}
			})
		},
		Reader: func(_ *Binder, st *Inst, outs []any) Remote {
			return &remotePass[T]{st: st, values: values, out: outs[0].(Sink[T])}
		},
	}
}

// remotePass is the receiving end of a foreign exchange without keys.
type remotePass[T any] struct {
	st     *Inst
	values *plan.Plan[T]
	out    Sink[T]
	last   T // if there is one at hand
	at     bool
}

// Take implements [Remote].
func (r *remotePass[T]) Take(e *Elem, _ []byte, values iter.Seq2[[]byte, error]) {
	for data, err := range values {
		var v T
		if err == nil {
			v, err = decode(r.values, data)
		}
		if err != nil {
			e.Fail(r.st, nil, err)
			return
		}
		r.last, r.at = v, true
		e.Enter(r.st)
		if r.out(e, v); e.Err != nil {
			return
		}
	}
	r.at = false
}

// Current implements [Remote].
func (r *remotePass[T]) Current() any {
	if r.at {
		return r.last
	}
	return nil
}

// remote is the RemoteOp of a grouping; nil if its values cannot be carried.
func (g *Group[K, V, A, R]) remote() *RemoteOp {
	if g.Keys == nil || g.Values == nil {
		return nil
	}
	return &RemoteOp{
		Key: g.Keys.String(), Value: g.Values.String(),
		Writer: func(b *Binder, head *graph.Step, to Carrier) any {
			st := b.bound.guest(head)
			var key, value []byte
			return newPair(func(e *Elem, k K, v V) {
				if e.Err != nil {
					return
				}
				var err error
				if key, err = g.Keys.Append(key[:0], k); err == nil {
					value, err = g.Values.Append(value[:0], v)
				}
				if err == nil {
					err = to.Carry(e, key, value)
				}
				if err != nil {
					e.Fail(st, event.KV[K, V]{Key: k, Value: v}, err)
				}
			})
		},
		Reader: func(_ *Binder, st *Inst, outs []any) Remote {
			return &remoteGroup[K, V, A, R]{g: g, st: st, out: outs[0].(Sink2[K, R])}
		},
	}
}

// remoteGroup adds up the values of a pane that a foreign runner has grouped.
type remoteGroup[K comparable, V, A, R any] struct {
	g   *Group[K, V, A, R]
	st  *Inst
	out Sink2[K, R]
	key K // of the pane at hand, if there is one
	at  bool
}

// Take implements [Remote].
func (r *remoteGroup[K, V, A, R]) Take(e *Elem, key []byte, values iter.Seq2[[]byte, error]) {
	k, err := decode(r.g.Keys, key)
	if err != nil {
		e.Fail(r.st, nil, err)
		return
	}
	r.key, r.at = k, true
	e.Enter(r.st)
	acc := r.g.Fn.Zero()
	for data, err := range values {
		var v V
		if err == nil {
			v, err = decode(r.g.Values, data)
		}
		if err != nil {
			e.Fail(r.st, k, err)
			return
		}
		r.g.Fn.Add(&acc, v)
	}
	r.out(e, k, r.g.Fn.Result(acc))
	r.at = false
}

// Current implements [Remote].
func (r *remoteGroup[K, V, A, R]) Current() any {
	if r.at {
		return r.key
	}
	return nil
}
