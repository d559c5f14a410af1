package levada

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/source"
)

// ReadOptions say how a source is read. The zero value is ready.
type ReadOptions struct {
	// Parts is about how many parts the source is divided into; 0 is 8.
	Parts int
	// PollEvery is how long a part that has nothing for now is left alone; 0 is 100 ms.
	PollEvery time.Duration
	// IdleAfter is after how long a part that has nothing stops holding the watermark; 0 is never. See [IdleAfter].
	IdleAfter time.Duration
	// MaxDrift is how far, in event time, a part may be ahead of the slowest; 0 is any distance. See [MaxDrift].
	MaxDrift time.Duration
}

// part is the restriction of a source: one of its parts, from where it has been read.
type part[M comparable] struct {
	Part  int
	Begun bool
	Mark  M // if it has begun
}

// String is how people see it.
func (p part[M]) String() string {
	if !p.Begun {
		return fmt.Sprintf("part %d", p.Part)
	}
	return fmt.Sprintf("part %d after %v", p.Part, p.Mark)
}

// reached is what is claimed of a part: an element, up to its mark, or the end.
type reached[M comparable] struct {
	mark M
	end  bool
}

// partTracker tracks a part. Only the reader knows what is left, so all of that is given away or nothing.
type partTracker[M comparable] struct {
	r     part[M]
	given bool
	ended bool
}

func (t *partTracker[M]) TryClaim(p reached[M]) (bool, error) {
	if t.given {
		return false, nil
	}
	if t.ended = p.end; !p.end {
		t.r.Begun, t.r.Mark = true, p.mark
	}
	return true, nil
}

func (t *partTracker[M]) Restriction() part[M] { return t.r }

func (t *partTracker[M]) TrySplit(fraction float64) (part[M], bool) {
	rest, ok := t.Rest()
	if fraction > 0 || !ok {
		return part[M]{}, false
	}
	t.given = true
	return rest, true
}

func (t *partTracker[M]) Rest() (part[M], bool) { return t.r, !t.ended && !t.given }

func (t *partTracker[M]) Progress() (done, left float64) {
	if t.ended || t.given {
		return 1, 0
	}
	return 0, 1
}

func (t *partTracker[M]) Check() error {
	if t.ended || t.given {
		return nil
	}
	return fmt.Errorf("%w: %v has not ended", source.ErrUnclaimed, t.r)
}

// ReadUnbounded reads a source that may have no end. Each element has the time that its reader gives it; the watermark is the least of the
// parts'. (Beam's Read from an UnboundedSource.)
func ReadUnbounded[T any, M comparable](p *Pipeline, name string, src source.Unbounded[T, M], o ReadOptions) PCollection[T] {
	p.needs(name, src != nil)
	return read(p, name, src, o, true)
}

// ReadBounded reads a source with an end. Each element has the time that its reader gives it; the watermark is event.Min until all has been
// read. (Beam's Read from a BoundedSource.)
func ReadBounded[T any](p *Pipeline, name string, src source.Bounded[T], o ReadOptions) PCollection[T] {
	p.needs(name, src != nil)
	return read(p, name, source.AsUnbounded(src), o, false)
}

func read[T any, M comparable](p *Pipeline, name string, src source.Unbounded[T, M], o ReadOptions, unbounded bool) PCollection[T] {
	if o.Parts < 0 || o.PollEvery < 0 || o.IdleAfter < 0 {
		p.problem(p.path(name), fmt.Errorf("%w: %+v", ErrBadRestrictions, o))
	}
	if o.Parts == 0 {
		o.Parts = 8
	}
	if o.PollEvery == 0 {
		o.PollEvery = 100 * time.Millisecond
	}
	all := &parts[T, M]{src: src, desired: max(o.Parts, 1)}
	ranges := source.Restrictions[[]byte, part[M], reached[M]]{
		Initial: func(context.Context, []byte) (part[M], error) { return part[M]{Part: -1}, nil },
		Split: func(ctx context.Context, _ []byte, _ part[M]) ([]part[M], error) {
			n, err := all.split(ctx)
			list := make([]part[M], n)
			for i := range list {
				list[i].Part = i
			}
			return list, err
		},
		Track:     func(_ []byte, r part[M]) source.Tracker[part[M], reached[M]] { return &partTracker[M]{r: r} },
		Unbounded: unbounded,
	}
	var opts []SplitOption
	if o.MaxDrift != 0 {
		opts = append(opts, MaxDrift(o.MaxDrift))
	}
	return Scope(p, name, func() PCollection[T] {
		return ParDoSplit(Impulse(p, "impulse"), "read", ranges, func(s *Splitting, out *Out[T]) ProcessSplit[[]byte, part[M], reached[M]] {
			return all.reader(s, out, o)
		}, opts...)
	})
}

// parts are the parts of a source, found once in a run.
type parts[T any, M comparable] struct {
	src     source.Unbounded[T, M]
	desired int
	mu      sync.Mutex
	all     []source.Unbounded[T, M]
	last    map[int]*opened[T, M] // the reader that has gone on with a part last, of any task
}

func (x *parts[T, M]) split(ctx context.Context) (int, error) {
	all, err := x.src.Split(ctx, x.desired)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.all = all
	return len(all), err
}

func (x *parts[T, M]) get(ctx context.Context, i int) (source.Unbounded[T, M], error) {
	x.mu.Lock()
	known := len(x.all) > 0
	x.mu.Unlock()
	if !known { // the run was continued
		if _, err := x.split(ctx); err != nil {
			return nil, err
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if i >= len(x.all) {
		return nil, fmt.Errorf("the source has %d parts, but part %d was being read: Split must give the same parts each time", len(x.all), i)
	}
	return x.all[i], nil
}

// took notes that r goes on with its part.
func (x *parts[T, M]) took(r *opened[T, M]) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.last == nil {
		x.last = map[int]*opened[T, M]{}
	}
	x.last[r.at.Part] = r
}

// isLast reports whether no other task has gone on with r's part.
func (x *parts[T, M]) isLast(r *opened[T, M]) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.last[r.at.Part] == r
}

// opened is an open reader of a part, in one task.
type opened[T any, M comparable] struct {
	r       source.UnboundedReader[T, M]
	at      part[M] // of the restriction that it can go on with
	pending bool    // next was read and not claimed
	next    source.Record[T]
	reached M    // of next
	dirty   bool // something was claimed that has not been finalized
}

// reader is the setup of the step.
func (x *parts[T, M]) reader(s *Splitting, out *Out[T], o ReadOptions) ProcessSplit[[]byte, part[M], reached[M]] {
	var opts []EstimatorOption
	if o.IdleAfter > 0 {
		opts = append(opts, IdleAfter(o.IdleAfter))
	}
	wm := ManualWatermark(s, opts...)
	open := map[int]*opened[T, M]{}
	var run context.Context
	s.OnStart(func(ctx context.Context) error { run = ctx; return nil })
	s.OnClose(func() error {
		var failed error
		for _, r := range open {
			var err error
			if run.Err() == nil && x.isLast(r) { // the run has ended well; a part that has moved on is told by who has it
				err = r.finalize()
			}
			failed = errors.Join(failed, err, r.r.Close())
		}
		return failed
	})
	return func(c *Ctx, _ []byte, claim *Claim[part[M], reached[M]]) (Resume, error) {
		at := claim.Restriction()
		r, err := x.open(c.Context(), open, at)
		if err != nil {
			return Done, err
		}
		return r.run(c, claim, out, wm, o.PollEvery)
	}
}

// open returns a reader that can go on where the restriction is: the one that is open, or a new one.
func (x *parts[T, M]) open(ctx context.Context, open map[int]*opened[T, M], at part[M]) (*opened[T, M], error) {
	if r := open[at.Part]; r != nil {
		if r.at == at {
			x.took(r)
			return r, r.finalize() // what it claimed has been sent on
		}
		delete(open, at.Part) // another task has gone on
		if err := r.r.Close(); err != nil {
			return nil, err
		}
	}
	src, err := x.get(ctx, at.Part)
	if err != nil {
		return nil, err
	}
	rd, err := src.Open(ctx, at.Mark, at.Begun)
	if err != nil {
		return nil, err
	}
	r := &opened[T, M]{r: rd, at: at, dirty: at.Begun} // by another task
	open[at.Part] = r
	x.took(r)
	return r, r.finalize()
}

// run reads until there is nothing for now, the part ends, or the rest is given away.
func (r *opened[T, M]) run(c *Ctx, claim *Claim[part[M], reached[M]], out *Out[T], wm *ManualMark, every time.Duration) (Resume, error) {
	for {
		if !r.pending {
			next, ok, err := r.r.Next(c.Context())
			if err != nil {
				return Done, err
			}
			if !ok {
				return r.pause(claim, wm, every)
			}
			r.next, r.reached, r.pending = next, r.r.Mark(), true
		}
		if !claim.TryClaim(reached[M]{mark: r.reached}) {
			return Done, nil // who goes on, perhaps this task, finds it pending or reads it again
		}
		next := r.next
		r.next, r.pending, r.dirty = source.Record[T]{}, false, true
		r.at.Begun, r.at.Mark = true, r.reached
		out.EmitAt(c, next.Value, next.Time)
		wm.Advance(min(r.r.Watermark(), event.Max))
	}
}

// pause is what becomes of a part that has nothing for now.
func (r *opened[T, M]) pause(claim *Claim[part[M], reached[M]], wm *ManualMark, every time.Duration) (Resume, error) {
	mark := r.r.Watermark()
	wm.Advance(min(mark, event.Max))
	if mark < event.Max {
		return ResumeAfter(every), nil
	}
	claim.TryClaim(reached[M]{end: true})
	return Done, nil // the reader is closed, and told, when all has been sent on
}

// finalize tells the reader how far all has been sent on.
func (r *opened[T, M]) finalize() error {
	if !r.dirty {
		return nil
	}
	r.dirty = false
	return r.r.Finalize(r.at.Mark)
}
