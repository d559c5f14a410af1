package async

import (
	"math"
	"slices"
	"testing"
	"time"
)

// TestWaits shows that waits double up to the longest, whatever the numbers are, and what of them is random.
func TestWaits(t *testing.T) {
	const most = time.Duration(math.MaxInt64)
	for _, c := range []struct {
		p    Policy
		n    []int
		want []time.Duration
	}{
		{Policy{Initial: 100, Longest: 1000}, []int{1, 2, 3, 4, 5, 6, 1000}, []time.Duration{100, 200, 400, 800, 1000, 1000, 1000}},
		{Policy{Initial: 100, Longest: 50}, []int{1, 2}, []time.Duration{50, 50}},
		{Policy{Initial: 1, Longest: most}, []int{62, 63, 64, 65, math.MaxInt}, []time.Duration{1 << 61, 1 << 62, most, most, most}},
		{Policy{Initial: 100, Longest: 1000, Jitter: 0.5}, []int{1, 2, 6}, []time.Duration{75, 150, 750}}, // with the middle of what is random
		{Policy{Initial: 100, Longest: 1000, Jitter: 1}, []int{1, 2, 6}, []time.Duration{50, 100, 500}},
	} {
		var got []time.Duration
		for _, n := range c.n {
			got = append(got, c.p.wait(n, 0.5))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v after attempts %v: %v, want %v", c.p, c.n, got, c.want)
		}
	}
}

// TestSourcesDiffer shows that the random part is random: two steps do not wait alike.
func TestSourcesDiffer(t *testing.T) {
	var a, b source
	same := 0
	for range 100 {
		x, y := a.next(), b.next()
		if x < 0 || x >= 1 {
			t.Fatalf("%v", x)
		}
		if x == y {
			same++
		}
	}
	if same == 100 {
		t.Error("two sources give the same numbers")
	}
}
