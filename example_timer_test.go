package levada_test

import (
	"fmt"
	"time"

	"github.com/levadaflow/levada"
)

// A timer for the next full minute.
func ExampleTimer_SetAligned() {
	printKeyed(func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[levada.KV[string, string]] {
		timer := levada.EventTimer(s, "timer")
		timer.OnFire(func(c *levada.Ctx, user string) error {
			out.Emit(c, fmt.Sprint(user, " at ", c.FireTime()))
			return nil
		})
		return func(c *levada.Ctx, kv levada.KV[string, string]) error {
			if kv.Key == "bert" {
				timer.SetAligned(c, time.Minute, 0)
			}
			return nil
		}
	})
	// Output: bert at 1970-01-01T00:01:00.000Z
}
