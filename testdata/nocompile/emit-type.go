// want: as int value in argument to out.Emit

package main

import (
	"github.com/levadaflow/levada"
)

func main() {
	p := levada.New()
	numbers := levada.Create(p, "numbers", 1, 2)
	_ = numbers
	levada.ParDo(numbers, "do", func(s *levada.Setup, out *levada.Out[int]) levada.Process[int] {
		return func(c *levada.Ctx, v int) error { out.Emit(c, "text"); return nil }
	})
}
