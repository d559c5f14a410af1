// want: does not match inferred type levada.PCollection[levada.KV[int, B]]

package main

import "github.com/levadaflow/levada"

func main() {
	p := levada.New()
	numbers := levada.Create(p, "numbers", 1, 2)
	a := levada.KeyBy(numbers, "by-number", func(v int) int { return v })
	b := levada.KeyBy(numbers, "by-text", func(v int) string { return "x" })
	levada.CoGroup2("join", a, b)
}
