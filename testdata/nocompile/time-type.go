// want: does not satisfy event.Stamp

package main

import (
	"github.com/levadaflow/levada"
)

func main() {
	p := levada.New()
	numbers := levada.Create(p, "numbers", 1, 2)
	_ = numbers
	levada.WithTimestamps(numbers, "times", func(v int) int64 { return 0 })
}
