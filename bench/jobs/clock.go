package jobs

import "time"

// now is the clock of the latency jobs.
func now() time.Time { return time.Now() }

// sleepUntil returns when t has come.
func sleepUntil(t time.Time) { time.Sleep(time.Until(t)) }
