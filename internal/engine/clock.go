package engine

import (
	"sync/atomic"
	"time"
)

// Clock gives processing time. It is read once a bundle.
type Clock interface {
	// Now returns the present time. It may be called by several goroutines at once.
	Now() time.Time
}

// System is the machine's clock.
type System struct{}

// Now implements [Clock].
func (System) Now() time.Time { return time.Now() }

// Virtual is a clock that stands still until it is told to move. It starts at the Unix epoch. With it no bundle ends because
// of time.
type Virtual struct{ ns atomic.Int64 }

// Now implements [Clock].
func (v *Virtual) Now() time.Time { return time.Unix(0, v.ns.Load()).UTC() }

// Advance moves the clock forward.
func (v *Virtual) Advance(d time.Duration) { v.ns.Add(int64(d)) }

// Watch calls f five times a second, in a goroutine of its own, until the job has ended.
func (j *Job) Watch(f func()) {
	ended := make(chan struct{})
	j.watch = ended
	go func() {
		defer close(ended)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				f()
			case <-j.over:
				return
			}
		}
	}()
}
