package exec

import (
	"context"
	"fmt"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/source"
)

// claimer is what a claim needs of its step, whatever its elements are.
type claimer[R any] interface {
	points(n int) int
	block(f func(ctx context.Context) error) error
	fail(e *Elem, err error)
	// share says what is to become of what is behind the last claim.
	share(e *Elem, over bool) sharing
	// split hands a part to others.
	split(e *Elem, rest R)
	// truncate returns what of the rest is still to be done by a run that is drained.
	truncate(rest R) (R, bool)
}

// sharing is what becomes of the part of a restriction that has not been claimed.
type sharing uint8

const (
	keepAll  sharing = iota // it goes on
	giveHalf                // half of it goes to others
	giveAll                 // all of it makes room for others
	cutOff                  // the run is drained: it is truncated
)

// Claim is how a process function meets the engine for one restriction. It is used by the goroutine of the call.
type Claim[R, P any] struct {
	t       claimer[R]
	e       *Elem
	tracker source.Tracker[R, P]
	n, next int // claims and outputs since the engine was met last, and when it is to be met again
	claims  int
	began   event.Time // of the call
	claimed bool       // something was
	gave    bool       // rest was given back: nothing more can be claimed
	dropped bool       // the run is drained: what is left will not be read
	rest    R
	over    bool
}

// Restriction returns what the call is for now.
func (c *Claim[R, P]) Restriction() R { return c.tracker.Restriction() }

// TryClaim claims a position. False: it belongs to others, or the run ends.
func (c *Claim[R, P]) TryClaim(p P) bool {
	if c.over {
		panic(fmt.Errorf("%w: restriction %v", ErrUseAfter, c.tracker.Restriction()))
	}
	if !c.point() || c.gave || c.dropped {
		return false
	}
	ok, err := c.tracker.TryClaim(p)
	if err != nil {
		c.t.fail(c.e, err)
		return false
	}
	if ok {
		c.claimed = true
		c.claims++
	}
	return ok
}

// Block runs f, which may wait, after what was emitted has been sent on. Its context ends with the run, and when it is drained.
func (c *Claim[R, P]) Block(f func(ctx context.Context) error) error {
	if c.over {
		panic(fmt.Errorf("%w: restriction %v", ErrUseAfter, c.tracker.Restriction()))
	}
	c.n, c.next = 0, 0
	return c.t.block(f)
}

// point meets the engine every now and then, and reports whether the call may go on.
func (c *Claim[R, P]) point() bool {
	if c.n++; c.n < c.next {
		return c.e.Err == nil && !c.e.Run.Stopped()
	}
	c.next = c.t.points(c.n)
	c.n = 0
	if c.next == 0 {
		return false
	}
	if c.e.Run.Share != nil {
		c.next = 1
	}
	if !c.gave && !c.dropped {
		c.part()
	}
	return c.e.Err == nil
}

// part gives away what the engine wants for others.
func (c *Claim[R, P]) part() {
	over := c.claims >= sliceClaims || c.e.Now.MillisSince(c.began) >= sliceTime
	switch what := c.t.share(c.e, over); {
	case what == cutOff:
		c.cut()
	case !c.claimed: // never before the first claim: it would begin again and again
	case what == giveHalf:
		if rest, ok := c.tracker.TrySplit(0.5); ok {
			c.t.split(c.e, rest)
		}
	case what == giveAll:
		c.rest, c.gave = c.tracker.TrySplit(0)
	}
}

// cut gives back what a run that is drained still has to do.
func (c *Claim[R, P]) cut() {
	rest, ok := c.tracker.TrySplit(0)
	if ok {
		rest, ok = c.t.truncate(rest)
	}
	c.rest, c.gave, c.dropped = rest, ok, !ok
}

func (t *splittable[I, R, P]) points(n int) int { return t.safe.Points(n) }

func (t *splittable[I, R, P]) block(f func(ctx context.Context) error) error {
	return t.safe.Block(func(context.Context) error { return f(t.run.Input) })
}

func (t *splittable[I, R, P]) share(e *Elem, over bool) sharing {
	switch {
	case e.Run.Draining() && !t.work.cut:
		return cutOff
	case e.Run.Share != nil:
		return sharing(e.Run.Share())
	case !t.g.Source.Unbounded && t.coord.Hungry(): // who reads what is not there yet reads it in order
		return giveHalf
	case over && t.coord.Queued(), t.Estimator != nil && t.coord.Ahead(t.Estimator.Current(e.Now)):
		return giveAll
	}
	return keepAll
}

func (t *splittable[I, R, P]) split(e *Elem, rest R) {
	p := *t.work
	p.r = rest
	if t.Estimator != nil {
		p.state = t.Estimator.Current(e.Now)
	}
	t.coord.Add([]Split{{Name: nameOf(p.v, rest), Mark: p.state, Value: &p}})
}

func (t *splittable[I, R, P]) truncate(rest R) (R, bool) {
	t.work.cut = true
	return t.g.Source.TruncateOf(t.work.v, rest)
}
