//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// peakRSS returns the peak resident set of an ended process in KiB. On Linux it is at least that of the process that started
// it, which is why our own children report theirs.
func peakRSS(s *os.ProcessState) int64 {
	usage, ok := s.SysUsage().(*syscall.Rusage)
	switch {
	case !ok:
		return 0
	case runtime.GOOS == "darwin": // it counts bytes
		return usage.Maxrss / 1024
	}
	return usage.Maxrss
}
