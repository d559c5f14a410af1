// want: too many arguments

package main

import (
	"github.com/levadaflow/levada"
)

func main() {
	p := levada.New()
	numbers := levada.Create(p, "numbers", 1, 2)
	_ = numbers
	levada.Map(numbers, "map", func(v int) int { return v }, levada.AnySkew)
}
