package jobs

import (
	"sync/atomic"

	"github.com/levadaflow/levada"
)

// startupJob adds up ten numbers: what it costs is the start of the process and of the engine.
func startupJob() *Job {
	var sum atomic.Int64
	return &Job{
		Name: "startup", Repeat: 20,
		build: func(p *levada.Pipeline, _ Args) {
			numbers := levada.Create(p, "numbers", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
			squares := levada.Map(numbers, "square", func(n int) int64 { return int64(n * n) })
			keyed := levada.KeyBy(squares, "key", func(int64) string { return "all" })
			levada.ForEach(levada.SumPerKey(keyed, "add"), "keep", func(*levada.Setup) levada.Process[levada.KV[string, int64]] {
				return func(_ *levada.Ctx, kv levada.KV[string, int64]) error {
					sum.Add(kv.Value)
					return nil
				}
			})
		},
		ready: func(a Args) error { return a.writeResult("%d", sum.Load()) },
		hand: func(a Args) error {
			n := 0
			for i := 1; i <= 10; i++ {
				n += i * i
			}
			return a.writeResult("%d", n)
		},
	}
}
