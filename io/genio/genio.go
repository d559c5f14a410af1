// Package genio makes elements: for demonstrations, tests and measurements.
//
// Invariant: the elements and their times follow from the config alone, whatever the parallelism.
package genio

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/source"
)

// Config says what is made. The zero value makes elements for ever, as fast as it can.
type Config struct {
	// Count is the number of elements; 0 is no end.
	Count int64
	// Rate is how many elements come in a second of processing time; 0 is as many as it can.
	Rate float64
	// Start is the time of element 0.
	Start event.Time
	// Every is the distance in event time between one element and the next, before they are put out of order; 0 is 1 s / Rate, or 1 ms without a
	// rate.
	Every time.Duration
	// OutOfOrder is how far, at most, an element is behind its time. The watermark stays that far behind.
	OutOfOrder time.Duration
	// Seed makes other elements.
	Seed uint64
	// Parts is into how many parts the elements are dealt out, which run in parallel; 0 is 4.
	Parts int
}

// ErrBadConfig is wrapped by the building error of a config that makes no sense.
var ErrBadConfig = errors.New("bad config of a generator")

func (c Config) validate() error {
	if c.Count < 0 || !(c.Rate >= 0) || math.IsInf(c.Rate, 0) || c.Every < 0 || c.OutOfOrder < 0 || c.Parts < 0 || c.Start.Check() != nil {
		return fmt.Errorf("%w: %+v", ErrBadConfig, c)
	}
	return nil
}

type offsets = source.OffsetRange

// Generate makes elements: number i is what fn makes of i and random numbers that are i's own. fn is shared by all tasks. The collection
// is unbounded if the config has no Count.
func Generate[T any](p *levada.Pipeline, name string, c Config, fn func(i int64, r *rand.Rand) T) levada.PCollection[T] {
	if err := c.validate(); err != nil {
		p.Problem(name, err)
		c = Config{}
	}
	return levada.Scope(p, name, func() levada.PCollection[T] {
		parts := max(c.Parts, 0)
		if parts == 0 {
			parts = 4
		}
		numbers := make([]int64, parts)
		for i := range numbers {
			numbers[i] = int64(i)
		}
		g := &generator[T]{c: c, parts: int64(parts), fn: fn, every: float64(c.Every) / float64(time.Millisecond)}
		switch {
		case c.Every == 0 && c.Rate > 0:
			g.every = 1000 / c.Rate
		case c.Every == 0:
			g.every = 1
		}
		ranges := source.OffsetRanges(func(_ context.Context, part int64) (offsets, error) {
			if c.Count == 0 {
				return offsets{To: math.MaxInt64}, nil
			}
			return offsets{To: (c.Count - part + g.parts - 1) / g.parts}, nil
		})
		ranges.Unbounded = c.Count == 0
		return levada.ParDoSplit(levada.Create(p, "parts", numbers...), "make", ranges, g.setup)
	})
}

// generator makes the elements of one pipeline. Part k has the numbers k, k + parts, k + 2 parts and so on.
type generator[T any] struct {
	c     Config
	parts int64
	every float64 // milliseconds
	fn    func(i int64, r *rand.Rand) T
	began atomic.Int64 // processing time of the first call, plus one
}

func (g *generator[T]) setup(s *levada.Splitting, out *levada.Out[T]) levada.ProcessSplit[int64, offsets, int64] {
	wm := levada.ManualWatermark(s)
	pcg := rand.NewPCG(0, 0)
	r := rand.New(pcg)
	behind := g.c.OutOfOrder.Milliseconds()
	return func(c *levada.Ctx, part int64, claim *levada.Claim[offsets, int64]) (levada.Resume, error) {
		g.began.CompareAndSwap(0, c.Now().Millis()+1)
		began := event.Time(g.began.Load() - 1)
		for n := claim.Restriction().From; ; n++ {
			i := n*g.parts + part
			if g.c.Rate > 0 && n < claim.Restriction().To {
				due := began.AddMillis(int64(float64(i) * 1000 / g.c.Rate))
				if wait := due.Sub(c.Now()); wait > 0 {
					return levada.ResumeAfter(wait), nil
				}
			}
			if !claim.TryClaim(n) {
				return levada.Done, nil
			}
			pcg.Seed(g.c.Seed, uint64(i))
			at := g.c.Start.AddMillis(int64(float64(i) * g.every))
			late := int64(0)
			if behind > 0 {
				late = r.Int64N(behind + 1)
			}
			wm.Advance(max(at.AddMillis(-behind), event.Min))
			out.EmitAt(c, g.fn(i, r), max(at.AddMillis(-late), event.Min))
		}
	}
}
