package main

import "time"

// now is the clock of the measurements.
func now() time.Time { return time.Now() }
