package async

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Policy says how often a call is attempted. All times are real ones.
type Policy struct {
	Timeout  time.Duration        // of an attempt; 0: none
	Attempts int                  // at least 1
	Initial  time.Duration        // the wait before the second attempt; each later one is twice as long
	Longest  time.Duration        // the longest wait
	Jitter   float64              // the random part of a wait, from 0 to 1
	If       func(err error) bool // whether another attempt is worth it; nil: always
}

// run calls once until it succeeds or the policy says that it is enough, and returns the number of attempts.
func (p *Policy) run(ctx context.Context, random func() float64, once func(ctx context.Context) error) (attempts int, err error) {
	for n := 1; ; n++ {
		if err = p.attempt(ctx, once); err == nil {
			return n, nil
		}
		if n >= p.Attempts || ctx.Err() != nil || p.If != nil && !p.If(err) || !sleep(ctx, p.wait(n, random())) {
			if n > 1 {
				err = fmt.Errorf("after %d attempts: %w", n, err)
			}
			return n, err
		}
	}
}

func (p *Policy) attempt(ctx context.Context, once func(ctx context.Context) error) error {
	if p.Timeout <= 0 {
		return once(ctx)
	}
	own, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	err := once(own)
	if err != nil && own.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("timeout of %v: %w", p.Timeout, err)
	}
	return err
}

// wait returns how long to wait after the n-th attempt; random is from 0 to 1.
func (p *Policy) wait(n int, random float64) time.Duration {
	d := min(p.Initial, p.Longest)
	for ; n > 1 && d < p.Longest; n-- {
		if d > p.Longest/2 {
			d = p.Longest
			break
		}
		d *= 2
	}
	return d - time.Duration(p.Jitter*random*float64(d))
}

// source is random numbers for the calls of a step.
type source struct {
	mu     sync.Mutex
	random *rand.Rand
}

// sources is the number of sources that are in use.
var sources atomic.Uint64

// next returns a number from 0 to before 1.
func (s *source) next() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.random == nil {
		s.random = rand.New(rand.NewPCG(seed(), sources.Add(1)))
	}
	return s.random.Float64()
}
