package source

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// OffsetRange is the offsets From <= x < To. To = math.MaxInt64 is a range without a known end. An empty range has To <= From.
type OffsetRange struct{ From, To int64 }

// String returns "[From, To)".
func (r OffsetRange) String() string {
	if r.To == math.MaxInt64 {
		return fmt.Sprintf("[%d, ...)", r.From)
	}
	return fmt.Sprintf("[%d, %d)", r.From, r.To)
}

// Misuses of a tracker of offsets; test with errors.Is.
var (
	ErrClaimOrder = errors.New("offsets must be claimed in increasing order, from the range's beginning")
	ErrUnclaimed  = errors.New("a part of the range was not claimed")
)

// Offsets tracks the offsets of a range. (Beam's OffsetRangeTracker; with an end that grows, its GrowableOffsetRangeTracker.)
type Offsets struct {
	r         OffsetRange
	attempted bool
	last      int64 // attempted to be claimed
	end       func() int64
}

// NewOffsets returns a tracker of r.
func NewOffsets(r OffsetRange) *Offsets { return &Offsets{r: r} }

// NewGrowing returns a tracker of r, whose end, if it is not known, is estimated by end: one more than the last offset that is there now. end
// may return any number.
func NewGrowing(r OffsetRange, end func() int64) *Offsets { return &Offsets{r: r, end: end} }

// OffsetRanges are restrictions that are ranges of offsets: initial returns that of an element.
func OffsetRanges[I any](initial func(ctx context.Context, v I) (OffsetRange, error)) Restrictions[I, OffsetRange, int64] {
	return Restrictions[I, OffsetRange, int64]{
		Initial: initial,
		Track:   func(_ I, r OffsetRange) Tracker[OffsetRange, int64] { return NewOffsets(r) },
	}
}

// TryClaim implements [Tracker]. Offsets may be left out. The error wraps ErrClaimOrder.
func (t *Offsets) TryClaim(p int64) (bool, error) {
	switch {
	case t.attempted && p <= t.last:
		return false, fmt.Errorf("%w: %d after %d in %v", ErrClaimOrder, p, t.last, t.r)
	case p < t.r.From:
		return false, fmt.Errorf("%w: %d in %v", ErrClaimOrder, p, t.r)
	}
	t.attempted, t.last = true, p
	return p < t.r.To, nil
}

// Restriction implements [Tracker].
func (t *Offsets) Restriction() OffsetRange { return t.r }

// to is the end, or what is thought to be.
func (t *Offsets) to() int64 {
	if t.r.To == math.MaxInt64 && t.end != nil {
		return t.end()
	}
	return t.r.To
}

// TrySplit implements [Tracker].
func (t *Offsets) TrySplit(fraction float64) (OffsetRange, bool) {
	at, ok := t.splitAt(fraction)
	if !ok {
		return OffsetRange{}, false
	}
	rest := OffsetRange{at, t.r.To}
	t.r.To = at
	return rest, true
}

// Rest implements [Tracker].
func (t *Offsets) Rest() (OffsetRange, bool) {
	at, ok := t.splitAt(0)
	if !ok {
		return OffsetRange{}, false
	}
	return OffsetRange{at, t.r.To}, true
}

// splitAt returns where a split would be: at least one offset behind the last attempted one, or at the beginning. All arithmetic is
// exact.
func (t *Offsets) splitAt(fraction float64) (int64, bool) {
	from := t.r.From
	if t.attempted {
		if t.last >= t.r.To-1 || t.last == math.MaxInt64 {
			return 0, false
		}
		from = t.last + 1
	}
	if from >= t.r.To {
		return 0, false
	}
	to := max(t.to(), from)
	at := from
	if keep := share(uint64(to)-uint64(from)+1, fraction); keep > 1 { // counted from the offset before from
		at = from + int64(min(keep-1, uint64(t.r.To)-uint64(from)))
	}
	return at, at < t.r.To
}

// share returns the whole part of n times a fraction of 0 to 1, exactly.
func share(n uint64, fraction float64) uint64 {
	if !(fraction > 0) {
		return 0
	}
	if fraction >= 1 {
		return n
	}
	m, exp := math.Frexp(fraction) // fraction = m * 2^exp, 0.5 <= m < 1, exp <= 0
	hi, lo := bits.Mul64(n, uint64(m*(1<<53)))
	shift := uint(53 - exp)
	switch {
	case shift >= 128:
		return 0
	case shift >= 64:
		return hi >> (shift - 64)
	}
	return hi<<(64-shift) | lo>>shift
}

// Progress implements [Tracker], in offsets.
func (t *Offsets) Progress() (done, left float64) {
	to := max(t.to(), t.r.From)
	if !t.attempted {
		return 0, float64(uint64(to) - uint64(t.r.From))
	}
	at := max(min(t.last, to), t.r.From)
	if t.last >= to {
		return float64(uint64(to) - uint64(t.r.From)), 0
	}
	return float64(uint64(at)-uint64(t.r.From)) + 1, float64(uint64(to) - uint64(at) - 1)
}

// Check implements [Tracker]. The error wraps ErrUnclaimed.
func (t *Offsets) Check() error {
	switch {
	case t.r.From >= t.r.To:
		return nil
	case !t.attempted:
		return fmt.Errorf("%w: nothing of %v", ErrUnclaimed, t.r)
	case t.last < t.r.To-1:
		return fmt.Errorf("%w: %v, the last was %d", ErrUnclaimed, OffsetRange{t.last + 1, t.r.To}, t.last)
	}
	return nil
}
