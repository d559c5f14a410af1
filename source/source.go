package source

import "context"

// Tracker knows what of one restriction R has been claimed, as positions P. (Beam's RestrictionTracker.) The engine calls it from
// the goroutine that processes the restriction.
type Tracker[R, P any] interface {
	// TryClaim claims a position, in the order in which they are processed. False means that it is not, or no longer, part of the
	// restriction: nothing is to be emitted for it. An error is a misuse, such as going back.
	TryClaim(p P) (bool, error)
	// Restriction returns what the tracker is for now: after a split, what it has left.
	Restriction() R
	// TrySplit gives away a part of what is behind the last claim, and keeps about that fraction of it: 0 keeps nothing. ok is false
	// if there is nothing to give away.
	TrySplit(fraction float64) (residual R, ok bool)
	// Rest returns what TrySplit(0) would give away, without doing so: what is left to be done after the last claim.
	Rest() (residual R, ok bool)
	// Progress returns how much work is done and how much is left, in a unit of its own.
	Progress() (done, left float64)
	// Check returns an error if a part of the restriction was not attempted to be claimed.
	Check() error
}

// Restrictions says how the elements I of a splittable step are divided up into restrictions R, and how these are tracked.
// Functions may be called by several goroutines at once, with different elements; their errors fail the run.
type Restrictions[I, R, P any] struct {
	// Initial returns all that there is to do for an element. It is required.
	Initial func(ctx context.Context, v I) (R, error)
	// Split divides a fresh restriction into those that are handed out; none are none. nil hands it out as it is. (Restrictions that are
	// being processed are split by their trackers.)
	Split func(ctx context.Context, v I, r R) ([]R, error)
	// Track returns a new tracker for a restriction, which may be what a split has given away. It is required.
	Track func(v I, r R) Tracker[R, P]
	// Size returns the size of a restriction, not negative, in the unit of Tracker.Progress; nil is what its tracker has left. It is for reports.
	Size func(v I, r R) float64
	// Truncate returns what is still to be done of a restriction when the run is drained; ok is false for nothing. nil keeps all
	// if the restrictions are bounded and nothing if not.
	Truncate func(v I, r R) (keep R, ok bool)
	// Unbounded says that there may be no end: the step's output is unbounded.
	Unbounded bool
}

// SizeOf returns the size of a restriction.
func (x *Restrictions[I, R, P]) SizeOf(v I, r R) float64 {
	if x.Size != nil {
		return x.Size(v, r)
	}
	_, left := x.Track(v, r).Progress()
	return left
}

// TruncateOf returns what is left of a restriction when the run is drained.
func (x *Restrictions[I, R, P]) TruncateOf(v I, r R) (R, bool) {
	if x.Truncate != nil {
		return x.Truncate(v, r)
	}
	return r, !x.Unbounded
}
