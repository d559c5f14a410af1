// want: window.Fn

package main

import (
	"github.com/levadaflow/levada"
)

func main() {
	p := levada.New()
	numbers := levada.Create(p, "numbers", 1, 2)
	_ = numbers
	levada.WindowInto(numbers, "minutes", levada.Windowing{Windows: 60})
}
