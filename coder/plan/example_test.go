package plan_test

import (
	"fmt"
	"time"

	"github.com/levadaflow/levada/coder/plan"
)

func Example() {
	type visit struct {
		User string
		Page int
	}
	p, err := plan.ForKey[visit]()
	if err != nil {
		fmt.Println(err)
		return
	}
	v := visit{"ada", 7}
	enc, _ := p.Append(nil, v)
	back, rest, err := p.Decode(enc)
	fmt.Printf("% x\n", enc)
	fmt.Println(back == v, len(rest), err, p.Size(v), p.Fixed())
	fmt.Println("key group", plan.KeyGroup(p.Hash(v)))

	_, err = plan.ForKey[struct{ At time.Time }]()
	fmt.Println(err)
	// Output:
	// 02 00 03 61 64 61 07
	// true 0 <nil> 7 false
	// key group 893
	// type cannot be a key: struct { At time.Time }.At: time.Time; use event.Time or int64 milliseconds
}
