package exec

import (
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/graph"
)

// cutter is an output that can be read from another stage by a step which has no exchange of its own.
type cutter interface{ cut() HeadOp }

func (OutputOf[T]) cut() HeadOp     { return passOp[T](nil, sameTask) }
func (OutputOf2[K, V]) cut() HeadOp { return passOp[event.KV[K, V]](nil, sameTask) }

// sameTask gives elements to the task of the same number, so that they stay in order.
func sameTask(int) func(e *Elem) int { return func(e *Elem) int { return e.Task } }

// headOf returns how a step begins a stage. A step of a chain does so in graphs that are cut: behind an exchange that gives it its
// elements as they are.
func headOf(s *graph.Step) *HeadOp {
	switch op := s.Op.(type) {
	case *HeadOp:
		return op
	case *MergeOp:
		return &op.HeadOp
	case *ChainOp:
		in := s.Inputs[0]
		head := in.Step.Outputs[in.Out].(cutter).cut()
		read := head.Reader
		head.Reader = func(b *Binder, st *Inst, outs []any) Reader { return read(b, st, []any{op.Bind(b, st, outs)}) }
		return &head
	}
	return nil
}
