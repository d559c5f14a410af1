// want: func(v int) int

package main

import (
	"github.com/levadaflow/levada"
)

func main() {
	p := levada.New()
	numbers := levada.Create(p, "numbers", 1, 2)
	_ = numbers
	levada.Filter(numbers, "filter", func(v int) int { return v })
}
