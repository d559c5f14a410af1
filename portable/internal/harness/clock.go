package harness

import "time"

const (
	askTime  = time.Second     // how long AwaitWorker waits
	stopTime = time.Second     // how long the last calls to a pool may take
	hangTime = 5 * time.Second // how long user code may take to return when all ends
)

// within waits until c is closed, at most for d, and reports whether it is.
func within(c <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c:
		return true
	case <-t.C:
		return false
	}
}
