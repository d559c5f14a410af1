// want: does not match levada.PCollection[levada.KV[K, V]]

package main

import (
	"github.com/levadaflow/levada"
)

func main() {
	p := levada.New()
	texts := levada.Create(p, "texts", "1", "2")
	levada.ParDoKeyed(texts, "do", func(s *levada.Keyed[string], out *levada.Out[int]) levada.Process[levada.KV[string, int]] {
		timer := levada.EventTimer(s, "timer")
		timer.OnFire(func(c *levada.Ctx, key string) error { return nil })
		return func(c *levada.Ctx, kv levada.KV[string, int]) error { return nil }
	})
}
