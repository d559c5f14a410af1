package event

import (
	"errors"
	"fmt"
	"math"
)

// ErrSkew is wrapped by the error for a time that lies further back than is allowed.
var ErrSkew = errors.New("time moved further back than the allowed skew")

// AnySkew is the skew, in milliseconds, with which a time may move back as far as Min.
const AnySkew int64 = math.MaxInt64

// A MoveError says that an element may not be given a time. It wraps [ErrSkew] or [ErrOutOfRange].
type MoveError struct {
	From, To Time  // the element's time and the one that was asked for
	Lower    Time  // the smallest time that is allowed; the greatest is Max
	Skew     int64 // milliseconds
	Err      error
}

// Error names both times, the allowed range and what to do.
func (e *MoveError) Error() string {
	remedy := "AllowedSkew, or ShiftTimestamps, which moves the watermark too"
	if e.Err == ErrOutOfRange {
		remedy = "no skew allows that: check the unit, event times are milliseconds"
	}
	return fmt.Sprintf("%v: an element at %v may get a time from %v to %v, not %v (%s)",
		e.Err, e.From, e.Lower, Max, e.To, remedy)
}

// Unwrap returns ErrSkew or ErrOutOfRange.
func (e *MoveError) Unwrap() error { return e.Err }

// CheckMove is the rule for every time that user code gives an element (beam-semantics 1.6): to must be in
// [from - skewMillis, Max] and not below Min; the bounds are allowed. It never overflows. Being out of range goes before skew.
// The error is a *[MoveError]. skewMillis is not negative; [AnySkew] means no lower bound but Min.
func CheckMove(from, to Time, skewMillis int64) error {
	lower := max(from.AddMillis(-skewMillis), Min)
	if skewMillis == AnySkew {
		lower = Min
	}
	switch {
	case to < Min || to > Max:
		return &MoveError{from, to, lower, skewMillis, ErrOutOfRange}
	case to < lower:
		return &MoveError{from, to, lower, skewMillis, ErrSkew}
	}
	return nil
}
