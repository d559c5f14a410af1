// want: Out[string]

package main

import (
	"github.com/levadaflow/levada"
)

func main() {
	p := levada.New()
	numbers := levada.Create(p, "numbers", 1, 2)
	_ = numbers
	levada.ParDo(numbers, "do", func(s *levada.Setup, a *levada.Out[int], b *levada.Out[string]) levada.Process[int] {
		return nil
	})
}
