package genio_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/io/genio"
	"github.com/levadaflow/levada/levadatest"
)

func number(i int64, r *rand.Rand) string { return fmt.Sprint(i, " ", r.IntN(100)) }

// TestGenerate shows that elements and times follow from the config alone, that none is late, and that the rate is kept.
func TestGenerate(t *testing.T) {
	var want []string
	for _, parallelism := range []int{1, 4} {
		for _, parts := range []int{1, 3} {
			h := levadatest.New(t)
			h.Run.Parallelism = parallelism
			c := genio.Config{Count: 100, Rate: 10, OutOfOrder: time.Second, Seed: 5, Parts: parts, Start: 1_000_000}
			got := levadatest.Collect(h, genio.Generate(h.Pipeline, "gen", c, number))
			h.Start()
			if n := len(got.Take()); n != 1 {
				t.Errorf("%d elements at the start, want 1", n)
			}
			h.Clock(950 * time.Millisecond)
			h.Clock(50 * time.Millisecond)
			if n := len(got.Take()); n != 10 {
				t.Errorf("%d elements in the first second, want 10", n)
			}
			h.Finish()
			var all []string
			for _, e := range got.Take() {
				all = append(all, fmt.Sprint(e.Value, " ", e.Time))
			}
			if slices.Sort(all); len(all) != 89 {
				t.Errorf("%d elements, want 89 more", len(all))
			}
			if want == nil {
				want = all
			}
			if !slices.Equal(all, want) {
				t.Errorf("parallelism %d, %d parts: other elements", parallelism, parts)
			}
			if n := h.Result().Counter("gen/make", "emitted_late"); n != 0 {
				t.Errorf("%d elements are late", n)
			}
		}
	}
}

// TestGenerateForEver shows a generator without an end, as fast as it can, which is drained.
func TestGenerateForEver(t *testing.T) {
	p := levada.New()
	drain := make(chan struct{})
	var once sync.Once
	seen := 0
	levada.Do(genio.Generate(p, "gen", genio.Config{Parts: 1}, number), "count", func(*levada.Ctx, string) error {
		if seen++; seen > 10_000 {
			once.Do(func() { close(drain) })
		}
		return nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := p.Run(ctx, levada.Embedded{Parallelism: 1, Drain: drain}); err != nil || seen < 10_000 {
		t.Errorf("%d elements, %v", seen, err)
	}
}

func TestBadConfig(t *testing.T) {
	for _, c := range []genio.Config{{Count: -1}, {Rate: -1}, {Every: -1}, {OutOfOrder: -1}, {Parts: -1}, {Start: -1 << 62}} {
		p := levada.New()
		genio.Generate(p, "gen", c, number)
		if err := p.Err(); !errors.Is(err, genio.ErrBadConfig) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func ExampleGenerate() {
	p := levada.New()
	visits := genio.Generate(p, "visits", genio.Config{Count: 3, Every: time.Minute, Parts: 1}, func(i int64, r *rand.Rand) string {
		return fmt.Sprint("visit ", i)
	})
	levada.Do(visits, "print", func(c *levada.Ctx, v string) error {
		fmt.Println(v, c.Time())
		return nil
	})
	if _, err := p.Run(context.Background(), levada.Embedded{}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// visit 0 1970-01-01T00:00:00.000Z
	// visit 1 1970-01-01T00:01:00.000Z
	// visit 2 1970-01-01T00:02:00.000Z
}
