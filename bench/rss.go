package main

import (
	"os"
	"strconv"
	"strings"
)

// ownPeak returns the peak resident set of this process in KiB, 0 if it cannot be known.
func ownPeak() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	line, _, _ := strings.Cut(rest, "kB")
	kib, _ := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	return kib
}
