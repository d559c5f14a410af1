// want: combine.Fn

package main

import (
	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/combine"
)

func main() {
	p := levada.New()
	numbers := levada.Create(p, "numbers", 1, 2)
	_ = numbers
	keyed := levada.KeyBy(numbers, "key", func(v int) int { return v })
	levada.CombinePerKey(keyed, "sum", combine.Sum[float64]())
}
