// want: PCollection[string]

package main

import (
	"github.com/levadaflow/levada"
)

func main() {
	p := levada.New()
	numbers := levada.Create(p, "numbers", 1, 2)
	_ = numbers
	texts := levada.Create(p, "texts", "a")
	levada.Flatten("both", numbers, texts)
}
