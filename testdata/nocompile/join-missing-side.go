// want: does not match inferred type func(key string, a int, b levada.Opt[int]) O

package main

import "github.com/levadaflow/levada"

func main() {
	p := levada.New()
	a := levada.KeyBy(levada.Create(p, "numbers", 1, 2), "key", func(int) string { return "x" })
	levada.LeftJoin("left", a, a, func(key string, v int, row levada.Opt[int]) int { return v })
	levada.LeftJoin("right", a, a, func(key string, row levada.Opt[int], v int) int { return v })
}
