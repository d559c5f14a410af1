// want: levada.GroupOption[string, int] of levada.LateTo(&late) does not match

package main

import (
	"github.com/levadaflow/levada"
)

func main() {
	p := levada.New()
	numbers := levada.Create(p, "numbers", 1, 2)
	_ = numbers
	keyed := levada.KeyBy(numbers, "key", func(v int) int { return v })
	var late levada.LateOf[string, int]
	levada.CountPerKey(keyed, "count", levada.LateTo(&late))
}
