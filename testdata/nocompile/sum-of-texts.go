// want: does not satisfy combine.Number

package main

import (
	"github.com/levadaflow/levada"
)

func main() {
	p := levada.New()
	numbers := levada.Create(p, "numbers", 1, 2)
	_ = numbers
	levada.SumPerKey(levada.KeyValue(numbers, "pair", func(v int) (int, string) { return v, "" }), "sum")
}
