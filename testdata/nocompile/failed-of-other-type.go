// want: levada.TryOption[string] of levada.FailedTo(&bad) does not match

package main

import (
	"github.com/levadaflow/levada"
)

func main() {
	p := levada.New()
	numbers := levada.Create(p, "numbers", 1, 2)
	_ = numbers
	var bad levada.FailedOf[string]
	levada.TryMap(numbers, "try", func(v int) (int, error) { return v, nil }, levada.FailedTo(&bad))
}
