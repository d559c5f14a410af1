// want: func(v int) int

package main

import (
	"github.com/levadaflow/levada"
)

func main() {
	p := levada.New()
	numbers := levada.Create(p, "numbers", 1, 2)
	_ = numbers
	texts := levada.Map(numbers, "map", func(v int) string { return "" })
	levada.Map(texts, "map", func(v int) int { return v })
}
