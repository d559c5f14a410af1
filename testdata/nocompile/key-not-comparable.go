// want: does not satisfy comparable

package main

import (
	"github.com/levadaflow/levada"
)

func main() {
	p := levada.New()
	numbers := levada.Create(p, "numbers", 1, 2)
	_ = numbers
	levada.KeyBy(numbers, "key", func(v int) []byte { return nil })
}
