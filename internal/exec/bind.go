package exec

import (
	"context"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/graph"
	"github.com/levadaflow/levada/window"
)

// ChainOp is a step that is fused into the stage of its input.
type ChainOp struct {
	// Bind returns the step's Sink[I] for its task. outs are Sink[O], one an output.
	Bind func(b *Binder, st *Inst, outs []any) (in any)
	// Blind says that the step neither looks at windows nor changes times.
	Blind bool
	// Window is set for steps that assign windows.
	Window window.Fn
	// Commit is set for steps that take elements to the outside.
	Commit Committer
}

// HeadOp is a step that begins a stage behind an exchange.
type HeadOp struct {
	// Writer returns the Sink of the exchange to the step head for a task of the stage before.
	Writer func(b *Binder, head *graph.Step, out Output) (in any, w Flusher)
	// Reader returns the other side.
	Reader func(b *Binder, st *Inst, outs []any) Reader
	// Side returns the sending end of inputs behind the first, which are side inputs; nil if there are none. Such a step runs in a
	// goroutine of its own, and its Reader is a [SideReader].
	Side func(out Output) (in any, w Flusher)
	// Restrict is set for splittable steps. They run in a goroutine of their own.
	Restrict *RestrictOp
	// Remote is set if a foreign runner may be in the place of the exchange.
	Remote *RemoteOp
	// Lazy is set if the step can compute the windows of its input by itself; see [Binder.Lazy].
	Lazy Grid
}

// MergeOp is a step with several inputs: fused if all are in one stage, else the head of one.
type MergeOp struct {
	ChainOp
	HeadOp
}

// RootOp is a step without inputs.
type RootOp struct {
	// Bind returns the root for its task.
	Bind func(b *Binder, st *Inst, outs []any) RootTask
	// List is set for sources that are read in splits; it is called once, before the start.
	List func(ctx context.Context) ([]Split, error)
	// Cut is that of [Source].
	Cut func(s Split) (part, rest Split, ok bool)
	// External says that elements come from outside of the engine (a script), so that standing still is no error.
	External bool
}

// Committer makes the results of a sink visible, all or nothing.
type Committer interface {
	// Begin is called once before the start. An error fails the job.
	Begin(ctx context.Context, tasks int) error
	// Prepare is called once after all tasks have ended well: everything must be durable, still under another name.
	Prepare() error
	// Commit is called after all sinks of the job have prepared. It makes the results visible.
	Commit() error
	// Abort is called in the place of Commit, and takes everything back.
	Abort()
}

// Binder is handed to the steps of a stage while it is bound in one task.
type Binder struct {
	Elem    *Elem
	Tasks   int // the parallelism
	Metrics *Metrics
	// General switches the fast paths off.
	General bool
	// Direct returns the reader that an edge leads to if it is in the same goroutine, else nil.
	Direct func(graph.Edge) Reader
	// Carrier, if it is set, takes the elements of an edge to a foreign runner, in the place of Direct and Bind's output. The
	// stage then has a Remote instead of a Reader, and the fast paths are off.
	Carrier func(graph.Edge) Carrier
	// View returns the contents of the view that a step makes.
	View func(st *graph.Step) View
	// Splits returns the coordinator of a split source's step.
	Splits func(st *graph.Step) Coordinator
	// Keeper is for steps whose results come later: collect emits those that are there. It is nil where no element may be kept beyond a
	// bundle.
	Keeper func(collect func(e *Elem)) Keeper
	bound  *Bound
}

// Counter declares a counter of the step.
func (b *Binder) Counter(st *Inst, name string) *Counter {
	c := &Counter{total: b.Metrics.metric(st.Step.Name, name, false)}
	b.bound.flushes = append(b.bound.flushes, c.publish)
	return c
}

// Distribution declares a distribution of the step.
func (b *Binder) Distribution(st *Inst, name string) *Distribution {
	d := &Distribution{total: b.Metrics.metric(st.Step.Name, name, true)}
	b.bound.flushes = append(b.bound.flushes, d.publish)
	return d
}

// Bind binds the stage in one task. output gives the engine's end of an edge.
func Bind(stage *graph.Stage, b *Binder, output func(graph.Edge) Output) *Bound {
	b.bound = &Bound{Elem: b.Elem}
	b.General = b.General || b.Carrier != nil
	sinks := map[*graph.Step]any{}
	insts := map[*graph.Step]*Inst{}
	for _, s := range stage.Steps {
		insts[s] = newInst(s, insts)
		b.bound.Insts = append(b.bound.Insts, insts[s])
	}
	hooks := make([]stepHooks, len(stage.Steps))
	for i := len(stage.Steps) - 1; i >= 0; i-- {
		s := stage.Steps[i]
		before := b.bound.mark()
		outs := b.outs(s, sinks, output)
		switch op := s.Op.(type) {
		case *ChainOp:
			if s == stage.Head {
				headOf(s).begin(b, insts[s], outs)
			} else {
				sinks[s] = op.Bind(b, insts[s], outs)
			}
		case *RootOp:
			b.bound.Root = op.Bind(b, insts[s], outs)
		case *HeadOp:
			op.begin(b, insts[s], outs)
		case *MergeOp:
			if s == stage.Head {
				op.begin(b, insts[s], outs)
			} else {
				sinks[s] = op.Bind(b, insts[s], outs)
			}
		}
		hooks[i] = b.bound.since(before)
	}
	b.bound.order(hooks)
	return b.bound
}

func newInst(s *graph.Step, insts map[*graph.Step]*Inst) *Inst {
	st := &Inst{Step: s, Out: event.Min, in: event.Min, asked: event.Min, mark: int32(s.ID) + 1}
	st.seen.in.Store(int64(event.Min))
	st.seen.out.Store(int64(event.Min))
	for _, in := range s.Inputs {
		if p := insts[in.Step]; p != nil {
			st.parents = append(st.parents, p)
		}
	}
	return st
}

// outs returns a Sink for each output of s: the chains of the same stage and the exchanges to others.
func (b *Binder) outs(s *graph.Step, sinks map[*graph.Step]any, output func(graph.Edge) Output) []any {
	outs := make([]any, len(s.Outputs))
	for o, typ := range s.Outputs {
		var to []any
		for _, r := range s.Readers(o) {
			if r.Step.Stage == s.Stage {
				to = append(to, sinks[r.Step])
				continue
			}
			edge := graph.Edge{From: graph.Port{Step: s, Out: o}, To: r.Step, Input: r.Input}
			if b.Carrier != nil {
				to = append(to, remoteOf(r.Step).Writer(b, r.Step, b.Carrier(edge)))
				continue
			}
			if b.Direct != nil {
				if rd := b.Direct(edge); rd != nil {
					to = append(to, rd.Direct())
					continue
				}
			}
			in, w := writerOf(b, edge, output(edge))
			b.bound.writers = append(b.bound.writers, w)
			to = append(to, in)
		}
		outs[o] = typ.Join(to)
	}
	return outs
}

// writerOf returns the sending end of an edge.
func writerOf(b *Binder, edge graph.Edge, out Output) (any, Flusher) {
	head := headOf(edge.To)
	if head.Side != nil && edge.Input > 0 {
		return head.Side(out)
	}
	return head.Writer(b, edge.To, out)
}

// stepHooks are the hooks that one step has added.
type stepHooks struct{ start, bundleStart, bundleFinish, close []Hook }

func (b *Bound) mark() [4]int {
	return [4]int{len(b.OnStart), len(b.OnBundleStart), len(b.OnBundleFinish), len(b.OnClose)}
}

func (b *Bound) since(m [4]int) stepHooks {
	return stepHooks{b.OnStart[m[0]:], b.OnBundleStart[m[1]:], b.OnBundleFinish[m[2]:], b.OnClose[m[3]:]}
}

// order puts the hooks, added from the last step to the first, into the order of the steps.
func (b *Bound) order(hooks []stepHooks) {
	var o Bound
	for _, h := range hooks {
		o.OnStart = append(o.OnStart, h.start...)
		o.OnBundleStart = append(o.OnBundleStart, h.bundleStart...)
		o.OnBundleFinish = append(o.OnBundleFinish, h.bundleFinish...)
		o.OnClose = append(o.OnClose, h.close...)
	}
	b.OnStart, b.OnBundleStart, b.OnBundleFinish, b.OnClose = o.OnStart, o.OnBundleStart, o.OnBundleFinish, o.OnClose
}

// Hooks gives a step access to the points of its life.
func (b *Binder) Hooks() *Bound { return b.bound }

// OutputOf is the typed part of an output.
type OutputOf[T any] struct{}

// Join implements [graph.Output].
func (OutputOf[T]) Join(sinks []any) any {
	switch len(sinks) {
	case 0:
		return Sink[T](func(*Elem, T) {})
	case 1:
		return sinkOf[T](sinks[0])
	case 2:
		a, b := sinkOf[T](sinks[0]), sinkOf[T](sinks[1])
		return Sink[T](func(e *Elem, v T) {
			if a(e, v); e.Err == nil {
				b(e, v)
			}
		})
	}
	all := make([]Sink[T], len(sinks))
	for i, s := range sinks {
		all[i] = sinkOf[T](s)
	}
	return Sink[T](func(e *Elem, v T) {
		for _, s := range all {
			if s(e, v); e.Err != nil {
				return
			}
		}
	})
}
