package exec

import (
	"github.com/levadaflow/levada/coder/plan"
	"github.com/levadaflow/levada/internal/graph"
	"github.com/levadaflow/levada/internal/invariants"
)

// SumOf returns f if the invariants are on, else nil.
func SumOf[T any](f func(T) uint64) func(T) uint64 {
	if invariants.Enabled {
		return f
	}
	return nil
}

// FlattenOp is a step that passes on the elements of all its inputs.
func FlattenOp[T any](values *plan.Plan[T]) *MergeOp {
	op := &MergeOp{
		ChainOp: ChainOp{Bind: func(_ *Binder, _ *Inst, outs []any) any { return outs[0] }},
		HeadOp:  passOp(values.Hash, func(int) func(e *Elem) int { return func(e *Elem) int { return e.Task } }),
	}
	op.Remote = passRemote(values)
	return op
}

// ReshuffleOp is a step that spreads its input evenly over the tasks. Times, windows and panes stay as they are.
func ReshuffleOp[T any](values *plan.Plan[T]) *HeadOp {
	op := passOp(values.Hash, func(tasks int) func(e *Elem) int {
		next := -1
		return func(e *Elem) int {
			if next < 0 {
				next = e.Task
			}
			next = (next + 1) % tasks
			return next
		}
	})
	return &op
}

// passOp is an exchange without state. sum tells values apart, for the invariants.
func passOp[T any](sum func(T) uint64, route func(tasks int) func(e *Elem) int) HeadOp {
	sum = SumOf(sum)
	return HeadOp{
		Writer: func(_ *Binder, _ *graph.Step, out Output) (any, Flusher) {
			w := &writer[T]{out: out, open: make([]*Batch[T], out.Receivers()), route: route(out.Receivers()), sum: sum}
			return Sink[T](w.push), w
		},
		Reader: func(_ *Binder, st *Inst, outs []any) Reader {
			return &pass[T]{st: st, out: outs[0].(Sink[T]), sum: sum}
		},
	}
}
