// want: as func(c *levada.Ctx, key string) error value in argument to timer.OnFire

package main

import (
	"github.com/levadaflow/levada"
)

func main() {
	p := levada.New()
	numbers := levada.Create(p, "numbers", levada.KV[string, int]{Key: "1", Value: 37})
	levada.ParDoKeyed(numbers, "do", func(s *levada.Keyed[string], out *levada.Out[int]) levada.Process[levada.KV[string, int]] {
		timer := levada.EventTimer(s, "timer")
		timer.OnFire(func(c *levada.Ctx, key int) error { return nil })
		return func(c *levada.Ctx, kv levada.KV[string, int]) error { return nil }
	})
}
