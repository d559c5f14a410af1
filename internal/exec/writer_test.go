package exec_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/coder/plan"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/internal/graph"
)

type pair = levada.KV[string, int]

// sent is a batch, of a grouping's exchange or another.
type sent interface {
	exec.Payload
	KVs() []pair
	Hashes() []uint64
}

// wire is an exchange in a test: it keeps what is sent.
type wire struct {
	receivers int
	sent      [][]sent
	taken     int
	limit     int // how many batches may be taken; 0: any number
}

func newWire(receivers int) *wire {
	return &wire{receivers: receivers, sent: make([][]sent, receivers)}
}

func (w *wire) Receivers() int { return w.receivers }

func (w *wire) Take(int) (exec.Payload, bool) {
	w.taken++
	return nil, w.limit == 0 || w.taken <= w.limit
}

func (w *wire) Send(to int, p exec.Payload) { w.sent[to] = append(w.sent[to], p.(sent)) }

func (w *wire) Mark() event.Time { return event.Min }

// sender is the first stage of a pipeline, bound in one task without an engine: a root and the sending end of an exchange.
type sender struct {
	e     *exec.Elem
	push  exec.Sink[pair]
	bound *exec.Bound
}

func newSender(t *testing.T, task int, out *wire, build func(in levada.PCollection[pair])) *sender {
	t.Helper()
	p := levada.New()
	s := &sender{e: &exec.Elem{Run: &exec.Run{Ctx: context.Background()}, Task: task}}
	root := &exec.RootOp{Bind: func(_ *exec.Binder, _ *exec.Inst, outs []any) exec.RootTask {
		s.push = outs[0].(exec.Sink[pair])
		return nil
	}}
	build(levada.RootOf[pair](p, "in", root, false))
	g, err := p.Build()
	if err != nil {
		t.Fatal(err)
	}
	b := &exec.Binder{Elem: s.e, Tasks: out.receivers, Metrics: exec.NewMetrics()}
	s.bound = exec.Bind(g.Fuse()[0], b, func(graph.Edge) exec.Output { return out })
	s.e.Begin(5)
	return s
}

func group(in levada.PCollection[pair])   { levada.GroupByKey(in, "group") }
func shuffle(in levada.PCollection[pair]) { levada.Reshuffle(in, "spread") }

// owns reports whether a receiver owns the key group: each has a range of them, in order, as even as possible.
func owns(receiver, receivers, group int) bool {
	from := (receiver*plan.KeyGroups + receivers - 1) / receivers
	to := ((receiver+1)*plan.KeyGroups + receivers - 1) / receivers
	return from <= group && group < to
}

// TestWriterRoutes shows that every element goes to the receiver that owns its key group, with the key's hash, in the order in
// which it came.
func TestWriterRoutes(t *testing.T) {
	keys, err := plan.ForKey[string]()
	if err != nil {
		t.Fatal(err)
	}
	for _, receivers := range []int{1, 2, 3, 7, 16} {
		out := newWire(receivers)
		s := newSender(t, 0, out, group)
		const n = 5000
		for i := range n {
			s.push(s.e, pair{Key: fmt.Sprint("key-", i%500), Value: i})
		}
		s.bound.FinishBundle()
		total := 0
		for to, batches := range out.sent {
			last := -1
			for _, b := range batches {
				total += b.Len()
				for i, kv := range b.KVs() {
					h := keys.Hash(kv.Key)
					if b.Hashes()[i] != h || !owns(to, receivers, plan.KeyGroup(h)) || kv.Value <= last {
						t.Fatalf("receiver %d of %d got %v after %d, hash %x, key group %d", to, receivers, kv, last, b.Hashes()[i], plan.KeyGroup(h))
					}
					last = kv.Value
				}
			}
			if len(batches) == 0 {
				t.Errorf("receiver %d of %d got nothing", to, receivers)
			}
		}
		if total != n {
			t.Errorf("%d receivers got %d elements of %d", receivers, total, n)
		}
	}
}

// TestWriterSends shows that a batch is sent when it is full, and a partial one at a flush, once.
func TestWriterSends(t *testing.T) {
	out := newWire(1)
	s := newSender(t, 0, out, group)
	push := func(n int) {
		for i := range n {
			s.push(s.e, pair{Key: "k", Value: i})
		}
	}
	sizes := func() (all []int) {
		for _, b := range out.sent[0] {
			all = append(all, b.Len())
		}
		return all
	}
	push(exec.BatchSize - 1)
	if got := sizes(); len(got) != 0 {
		t.Errorf("sent %v before the batch was full", got)
	}
	push(1)
	if got := sizes(); !slices.Equal(got, []int{exec.BatchSize}) {
		t.Errorf("sent %v, want a full batch", got)
	}
	s.bound.FinishBundle() // there is nothing
	push(3)
	s.bound.FinishBundle()
	s.bound.FinishBundle()
	if got := sizes(); !slices.Equal(got, []int{exec.BatchSize, 3}) {
		t.Errorf("sent %v", got)
	}
}

// TestWriterStopped shows that a run which ends gives no batch, and that nothing is put anywhere then.
func TestWriterStopped(t *testing.T) {
	out := newWire(1)
	out.limit = 1
	s := newSender(t, 0, out, group)
	for i := range exec.BatchSize + 2 {
		s.push(s.e, pair{Key: "k", Value: i})
		if stopped := s.e.Err == exec.ErrStopped; stopped != (i >= exec.BatchSize) || !stopped && s.e.Err != nil {
			t.Fatalf("element %d: %v", i, s.e.Err)
		}
	}
	if out.taken != 2 {
		t.Errorf("asked %d times for a batch", out.taken)
	}
	if s.bound.FinishBundle(); len(out.sent[0]) != 1 {
		t.Errorf("%d batches were sent", len(out.sent[0]))
	}
}

// TestReshuffleRoutes shows that elements are spread evenly, and that each sender begins with another receiver.
func TestReshuffleRoutes(t *testing.T) {
	firsts := map[int]bool{}
	for task := range 3 {
		out := newWire(3)
		s := newSender(t, task, out, shuffle)
		for i := range 10 {
			s.push(s.e, pair{Value: i})
		}
		s.bound.FinishBundle()
		for to, batches := range out.sent {
			if n := batches[0].Len(); n < 3 || n > 4 || len(batches[0].Hashes()) != 0 {
				t.Errorf("task %d sends %d to %d, with %d hashes", task, n, to, len(batches[0].Hashes()))
			}
			if batches[0].KVs()[0].Value == 0 {
				firsts[to] = true
			}
		}
	}
	if len(firsts) != 3 {
		t.Errorf("the first elements go to %v only", firsts)
	}
}
