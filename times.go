package levada

import (
	"fmt"
	"math"
	"time"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/exec"
)

// TimeOption is an option of steps that give elements times.
type TimeOption struct{ skew time.Duration }

// AllowedSkew lets a step move an element's time back by up to d, in whole milliseconds; the bound is allowed. Such an element
// may be behind the watermark, and then late for what follows: it is counted as emitted_late. (Beam's
// DoFn.getAllowedTimestampSkew, deprecated there for that reason.)
func AllowedSkew(d time.Duration) TimeOption { return TimeOption{d} }

// AnySkew lets a step move an element's time back as far as event.Min.
var AnySkew = TimeOption{math.MaxInt64}

// skewOf returns the skew in milliseconds; the last option counts.
func (p *Pipeline) skewOf(name string, opts []TimeOption) int64 {
	ms := int64(0)
	for _, o := range opts {
		var err error
		if ms, err = o.millis(); err != nil {
			p.problem(p.path(name), err)
		}
	}
	return ms
}

// millis returns the skew in milliseconds.
func (o TimeOption) millis() (int64, error) {
	switch {
	case o == AnySkew:
		return event.AnySkew, nil
	case o.skew < 0 || o.skew%time.Millisecond != 0:
		return 0, fmt.Errorf("%w: %v: it must not be negative, and whole milliseconds", ErrBadSkew, o.skew)
	}
	return o.skew.Milliseconds(), nil
}

// retime gives v to out at time t if the rule allows it, else fails the step.
func retime[T any](e *exec.Elem, st *exec.Inst, out exec.Sink[T], v T, t event.Time, skew int64, late *exec.Late) {
	if t < e.Time || t > event.Max || t < event.Min {
		if err := event.CheckMove(e.Time, t, skew); err != nil {
			e.Fail(st, v, err)
			return
		}
	}
	if st.Behind(t) {
		late.Note(e, t, st.Floor())
	}
	exec.Emit(e, out, v, t)
}

// WithTimestamps gives every element the time that fn returns for it: a time.Time, floored to the millisecond, or an
// event.Time. Value, windows and pane stay: it never assigns windows anew. The time may go forward as far as event.Max, and
// back only with AllowedSkew or AnySkew; the zero time.Time and times outside of [event.Min, event.Max] fail the run at the
// call, with ErrZeroTime, ErrOutOfRange or ErrSkew. fn is shared by all tasks. (Beam's WithTimestamps.)
func WithTimestamps[T any, S event.Stamp](in PCollection[T], name string, fn func(T) S, opts ...TimeOption) PCollection[T] {
	in.owner(name).needs(name, fn != nil)
	return WithTimestampsFrom(in, name, func(v T, _ event.Time) S { return fn(v) }, opts...)
}

// WithTimestampsFrom is WithTimestamps with a function that also gets the element's present time.
func WithTimestampsFrom[T any, S event.Stamp](in PCollection[T], name string, fn func(v T, present event.Time) S,
	opts ...TimeOption) PCollection[T] {
	p := in.owner(name)
	p.needs(name, fn != nil)
	skew := p.skewOf(name, opts)
	return chain(in, name, func(b *exec.Binder, st *exec.Inst, out exec.Sink[T]) exec.Sink[T] {
		late := b.Late(st, exec.EmittedLate)
		return func(e *exec.Elem, v T) {
			e.Enter(st)
			if t, err := event.FromStamp(fn(v, e.Time)); err != nil {
				e.Fail(st, v, err)
			} else {
				retime(e, st, out, v, t, skew, late)
			}
		}
	})
}

// ShiftTimestamps gives every element the time that fn returns, and shifts the watermark by the same amount as the times are
// allowed to move: what leaves the step at or after its old time plus by is on time, however far back by is. by is in whole
// milliseconds and may be negative. An earlier time fails the run with ErrSkew. The watermark moves without elements too; at
// event.Min and event.Max it stays what it is, so that the end of the input is the end. fn also gets the element's present
// time; it is shared by all tasks. (Beam has no such step: there, elements that are moved back behind the watermark are late.)
func ShiftTimestamps[T any, S event.Stamp](in PCollection[T], name string, by time.Duration, fn func(v T, present event.Time) S) PCollection[T] {
	p := in.owner(name)
	p.needs(name, fn != nil)
	if by%time.Millisecond != 0 {
		p.problem(p.path(name), fmt.Errorf("%w: %v: a shift must be whole milliseconds", ErrBadSkew, by))
	}
	ms := by.Milliseconds()
	return chain(in, name, func(b *exec.Binder, st *exec.Inst, out exec.Sink[T]) exec.Sink[T] {
		st.Shift = ms
		late := b.Late(st, exec.EmittedLate)
		return func(e *exec.Elem, v T) {
			e.Enter(st)
			t, err := event.FromStamp(fn(v, e.Time))
			if err == nil {
				err = event.CheckMove(e.Time.Plus(ms), t, 0)
			}
			if err != nil {
				e.Fail(st, v, err)
				return
			}
			if st.Behind(t) {
				late.Note(e, t, st.Floor())
			}
			exec.Emit(e, out, v, t)
		}
	})
}

// MapTimed is Map with a function that also returns the result's time, under the rule of [WithTimestamps].
func MapTimed[I any, S event.Stamp, O any](in PCollection[I], name string, fn func(I) (S, O), opts ...TimeOption) PCollection[O] {
	p := in.owner(name)
	p.needs(name, fn != nil)
	skew := p.skewOf(name, opts)
	return chain(in, name, func(b *exec.Binder, st *exec.Inst, out exec.Sink[O]) exec.Sink[I] {
		late := b.Late(st, exec.EmittedLate)
		return func(e *exec.Elem, v I) {
			e.Enter(st)
			s, o := fn(v)
			if t, err := event.FromStamp(s); err != nil {
				e.Fail(st, v, err)
			} else {
				retime(e, st, out, o, t, skew, late)
			}
		}
	})
}
