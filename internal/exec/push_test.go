package exec_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/internal/graph"
)

// to is an exchange between two tasks in one: what is sent is read at once.
type to struct {
	reader exec.Reader
	e      *exec.Elem
	back   []exec.Payload
}

func (r *to) Receivers() int   { return 2 }
func (r *to) Mark() event.Time { return event.Min }
func (r *to) Take(int) (exec.Payload, bool) {
	if n := len(r.back); n > 0 {
		p := r.back[n-1]
		r.back = r.back[:n-1]
		return p, true
	}
	return nil, true
}
func (r *to) Send(_ int, p exec.Payload) {
	r.reader.Batch(r.e, p, 0, p.Len())
	p.Reset()
	r.back = append(r.back, p)
}

// BenchmarkExchange is an element's way through an exchange by key, both ends in one task, with few keys and with many. A bundle
// ends every 7000 elements.
func BenchmarkExchange(b *testing.B) {
	for name, keys := range map[string]int{"9 keys": 9, "10000 keys": 10_000} {
		b.Run(name, func(b *testing.B) {
			var push exec.Sink[pair]
			root := &exec.RootOp{Bind: func(_ *exec.Binder, _ *exec.Inst, outs []any) exec.RootTask {
				push = outs[0].(exec.Sink[pair])
				return nil
			}}
			p := levada.New()
			in := levada.WindowInto(levada.RootOf[pair](p, "in", root, false), "w", minutes())
			keyed := levada.KeyValue(in, "key", func(kv pair) (string, int) { return kv.Key, kv.Value })
			levada.Do(levada.SumPerKey(keyed, "sum"), "out", func(*levada.Ctx, pair) error { return nil })
			built, err := p.Build()
			if err != nil {
				b.Fatal(err)
			}
			stages := built.Fuse()
			run := &exec.Run{Ctx: context.Background()}
			out := &to{e: &exec.Elem{Run: run}}
			out.reader = exec.Bind(stages[1], &exec.Binder{Elem: out.e, Tasks: 2, Metrics: exec.NewMetrics()}, nil).Reader
			e := &exec.Elem{Run: run}
			bound := exec.Bind(stages[0], &exec.Binder{Elem: e, Tasks: 2, Metrics: exec.NewMetrics()},
				func(graph.Edge) exec.Output { return out })
			names := keyNames(keys)
			zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 4, uint64(keys-1))
			drawn := make([]string, 1<<16)
			for i := range drawn {
				drawn[i] = names[zipf.Uint64()]
			}
			e.Begin(0)
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				e.Time = event.Time(n / 7 * 60 / 1000)
				push(e, pair{Key: drawn[n&(1<<16-1)], Value: 1})
				if n++; n%7000 == 0 {
					bound.FinishBundle()
					out.reader.Advance(out.e, e.Time-30_000)
				}
			}
		})
	}
}
