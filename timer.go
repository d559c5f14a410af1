package levada

import (
	"fmt"
	"time"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/exec"
)

// Timer is a timer of a DoFn with state: one for each key, window and tag. Setting it again replaces the earlier setting; it is
// set no more when it fires. It may be used only in calls of its step, for the key and window at hand.
//
// A timer holds the step's output watermark at its output time until it has fired, so that what its function emits is on time.
// The function is called with that time as c.Time(), in the timer's window; see [Ctx.FireTime] and [Ctx.Tag]. It fires when its
// clock has reached its time: at once, after the call that sets it, if that is already so. Of one key and window, timers of one clock fire in the
// order of their times, and of one time in the order in which they were set. Timers that set each other for ever at one time fail
// the run with ErrTimerLoop. Timers of an expired window do not fire. (Beam's timers and timer families.)
type Timer[K comparable] struct {
	t   *timer[K]
	tag string
}

// timer is what all tags of a timer share.
type timer[K comparable] struct {
	access
	setup      *Keyed[K]
	id         uint8
	processing bool
	fn         func(c *Ctx, key K) error
}

// EventTimer declares a timer whose clock is the step's input watermark. Its output time is the time that it is set for, unless
// another is given. It cannot be set beyond its window's expiry: ErrTimerExpiry.
func EventTimer[K comparable](s *Keyed[K], name string) Timer[K] {
	return newTimer(s, "event timer", name, false)
}

// ProcessingTimer declares a timer whose clock is processing time, as a Unix time in milliseconds. Its output time is the time of the call that sets it,
// unless another is given. When the input ends, those that are set do not fire: use [Keyed.OnWindowExpiration] for what is left.
func ProcessingTimer[K comparable](s *Keyed[K], name string) Timer[K] {
	return newTimer(s, "processing timer", name, true)
}

func newTimer[K comparable](s *Keyed[K], kind, name string, processing bool) Timer[K] {
	s.name(kind, name)
	t := &timer[K]{access: newAccess(s, name), setup: s, processing: processing}
	if s.state != nil {
		t.id = s.state.AddTimer()
	}
	s.timers = append(s.timers, t)
	return Timer[K]{t: t}
}

// OnFire says what happens when the timer fires, with any tag. It is part of the setup and must be called there, once.
func (t Timer[K]) OnFire(f func(c *Ctx, key K) error) {
	if t.t.fn != nil {
		panic(fmt.Errorf("%w: a second OnFire of timer %q", ErrBadTimer, t.t.name))
	}
	t.t.fn = f
}

// Tag returns the timer with that tag, which is set and fires by itself. "" is the timer without a tag.
func (t Timer[K]) Tag(tag string) Timer[K] { return Timer[K]{t.t, tag} }

// Set sets the timer. A time in the past fires at once.
func (t Timer[K]) Set(c *Ctx, at event.Time) {
	if t.t.usable(c) {
		out := at
		if t.t.processing {
			out = c.e.Time
		}
		t.set(c, at, out, false)
	}
}

// SetAfter sets the timer for d, in whole milliseconds rounded down, after the call's time: for an event timer c.Time(), or the fire
// time of the event timer that calls, but not after the window's expiry; for a processing timer the present processing time.
func (t Timer[K]) SetAfter(c *Ctx, d time.Duration) {
	if t.t.usable(c) {
		t.setFrom(c, t.base(c).Add(d))
	}
}

// SetAligned sets the timer for the first time t, not before the call's time, for which t plus offset is a multiple of period, counted from the
// epoch: with a period of a minute and an offset of a second, for second 59 of a minute. The call's time is that of SetAfter, and as there an
// event timer is not set after the window's expiry. period and offset are in whole milliseconds rounded down; offset may be negative. A period
// of less than a millisecond fails the run with ErrBadTimer. A timer that goes on for ever sets itself with SetAfter(c, period): its fire time is a
// multiple already. (Beam's Timer.align, which before the epoch gives the multiple after that, if the call's time is on none.)
func (t Timer[K]) SetAligned(c *Ctx, period, offset time.Duration) {
	if !t.t.usable(c) {
		return
	}
	step, shift := event.Time(event.FloorMillis(period)), event.Time(event.FloorMillis(offset))
	if step < 1 {
		c.e.Fail(c.st, nil, fmt.Errorf("%w: %q is aligned to a period of %v", ErrBadTimer, t.t.name, period))
		return
	}
	t.setFrom(c, (t.base(c)+step-1).Floor(step, -shift))
}

// base returns the time that the settings which are relative count from.
func (t Timer[K]) base(c *Ctx) event.Time {
	switch {
	case t.t.processing:
		return c.e.Now
	case t.t.setup.firesEvent(c):
		return c.fire.At
	}
	return c.e.Time
}

// setFrom sets the timer for a time that was computed: an event timer not after the window's expiry.
func (t Timer[K]) setFrom(c *Ctx, at event.Time) {
	if !t.t.processing {
		at = min(at, t.t.state.Expiry(c.Window()))
	}
	t.Set(c, at)
}

// SetOutput sets the timer with an output time: not before c.Time(), less the step's AllowSkew; for an event timer not after at,
// for a processing timer not after the window's expiry: else ErrTimerOutput.
func (t Timer[K]) SetOutput(c *Ctx, at, output event.Time) {
	if t.t.usable(c) {
		t.set(c, at, output, true)
	}
}

// SetWithoutHold sets the timer so that it does not hold the watermark. Its function then has no time and cannot emit:
// ErrOutOfRange.
func (t Timer[K]) SetWithoutHold(c *Ctx, at event.Time) {
	if t.t.usable(c) {
		t.set(c, at, exec.NoOutput, false)
	}
}

// Clear takes back the timer's setting, if there is one.
func (t Timer[K]) Clear(c *Ctx) {
	if t.t.usable(c) {
		t.t.state.ClearTimer(t.t.id, t.tag)
	}
}

func (t Timer[K]) set(c *Ctx, at, output event.Time, explicit bool) {
	x := exec.Timer{ID: t.t.id, Processing: t.t.processing, Tag: t.tag, At: at, Output: output}
	t.t.state.SetTimer(c.e, x, explicit, t.t.setup.skew)
}

// firesEvent reports whether the call is that of an event timer.
func (s *Keyed[K]) firesEvent(c *Ctx) bool { return c.firing && !s.timers[c.fire.ID].processing }
