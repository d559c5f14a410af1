package async

import (
	"context"
	"time"
)

// seed returns a number that differs between processes.
func seed() uint64 { return uint64(time.Now().UnixNano()) }

// sleep waits for d in real time, and reports whether it did: false says that the context has ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
