package levadatest

import (
	"context"
	"slices"
	"testing"

	"github.com/levadaflow/levada/coder/plan"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/source"
)

// most is how many elements of a part the checks read.
const most = 10_000

// seen is an element as the checks compare it.
type seen[M comparable] struct {
	hash uint64
	t    event.Time
	mark M
}

// CheckUnbounded checks that a source keeps the contract of [source.Unbounded], with what it has now, up to 10,000 elements a part, of
// which there must be some: however it is divided up it gives the same elements; a reader that is opened with a mark goes on behind it; nothing
// comes behind the watermark; marks can be encoded. T must be of a type that can be encoded.
func CheckUnbounded[T any, M comparable](t testing.TB, src source.Unbounded[T, M]) {
	t.Helper()
	c := &conformance[T, M]{TB: t}
	if _, err := plan.For[M](); err != nil {
		t.Errorf("the mark: %v", err)
	}
	var err error
	if c.values, err = plan.For[T](); err != nil {
		t.Fatalf("the elements: %v", err)
	}
	whole := c.all(src, 1)
	if len(whole) == 0 {
		t.Fatal("the source has no elements now: there is nothing to check")
	}
	for _, n := range []int{1, 2, 7} {
		if again := c.all(src, n); !slices.Equal(again, whole) {
			t.Errorf("divided into %d parts the source gives %d elements, and %d as one, or others", n, len(again), len(whole))
		}
	}
	for _, p := range c.split(src, 3) {
		c.part(p)
	}
}

// CheckBounded checks that a source keeps the contract of [source.Bounded]: see [CheckUnbounded].
func CheckBounded[T any](t testing.TB, src source.Bounded[T]) {
	t.Helper()
	CheckUnbounded(t, source.AsUnbounded(src))
}

type conformance[T any, M comparable] struct {
	testing.TB
	values *plan.Plan[T]
}

func (c *conformance[T, M]) split(src source.Unbounded[T, M], n int) []source.Unbounded[T, M] {
	c.Helper()
	parts, err := src.Split(context.Background(), n)
	if err != nil {
		c.Fatalf("Split(%d): %v", n, err)
	}
	return parts
}

// all returns the hashes of all elements, sorted.
func (c *conformance[T, M]) all(src source.Unbounded[T, M], n int) []uint64 {
	c.Helper()
	var all []uint64
	for _, p := range c.split(src, n) {
		var none M
		for _, x := range c.read(p, none, false, most) {
			all = append(all, x.hash)
		}
	}
	slices.Sort(all)
	return all
}

// read reads up to n elements behind a mark.
func (c *conformance[T, M]) read(src source.Unbounded[T, M], mark M, begun bool, n int) []seen[M] {
	c.Helper()
	r, err := src.Open(context.Background(), mark, begun)
	if err != nil {
		c.Fatalf("Open(%v, %v): %v", mark, begun, err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			c.Errorf("Close: %v", err)
		}
	}()
	var all []seen[M]
	low := event.Min
	for len(all) < n {
		low = max(low, r.Watermark())
		next, ok, err := r.Next(context.Background())
		t := next.Time
		switch {
		case err != nil:
			c.Fatalf("Next, after %d elements: %v", len(all), err)
		case !ok:
			return all
		case t < low:
			c.Errorf("element %d at %v is behind the watermark %v", len(all), t, low)
		case t.Check() != nil:
			c.Errorf("element %d: %v", len(all), t.Check())
		}
		all = append(all, seen[M]{c.values.Hash(next.Value), t, r.Mark()})
	}
	return all
}

// part checks marks.
func (c *conformance[T, M]) part(p source.Unbounded[T, M]) {
	c.Helper()
	var none M
	all := c.read(p, none, false, most)
	for _, i := range []int{len(all) - 1, len(all) / 2, 0, len(all) / 3} { // also back
		if i < 0 || i >= len(all) {
			continue
		}
		rest := c.read(p, all[i].mark, true, 5)
		want := all[i+1 : min(i+6, len(all))]
		if len(rest) < len(want) || !slices.Equal(rest[:len(want)], want) {
			c.Errorf("opened with the mark %v of element %d, a reader goes on with %v, want %v", all[i].mark, i, rest, want)
		}
	}
	r, err := p.Open(context.Background(), none, false)
	if err != nil {
		c.Fatalf("Open: %v", err)
	}
	if len(all) > 0 {
		if _, _, err := r.Next(context.Background()); err != nil {
			c.Errorf("Next: %v", err)
		}
		if err := r.Finalize(r.Mark()); err != nil {
			c.Errorf("Finalize(%v): %v", r.Mark(), err)
		}
	}
	if err := r.Close(); err != nil {
		c.Errorf("Close: %v", err)
	}
}
