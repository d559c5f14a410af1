//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// TestMemory: ten times the lines do not need ten times the memory. It takes a minute and 500 MB of disk.
func TestMemory(t *testing.T) {
	if os.Getenv("LEVADA_LONG") != "1" {
		t.Skip("set LEVADA_LONG=1")
	}
	for _, by := range []string{"status", "user"} {
		var kib [2]int64
		for i, lines := range []int64{1_000_000, 10_000_000} {
			path := logOf(t, "a.log", lines)
			cmd := exec.CommandContext(t.Context(), os.Args[0], "--input", path, "--output", t.TempDir(), "--by", by)
			cmd.Env = append(os.Environ(), asProgram+"=1")
			text, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
			if !ok {
				t.Skip("no resource usage on this system")
			}
			kib[i] = usage.Maxrss
			t.Logf("%s, %d lines: %d KiB, %v of CPU; %s", by, lines, kib[i], cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), text)
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		if kib[1] > kib[0]*3/2 {
			t.Errorf("%s: %d KiB at ten times the lines of %d KiB", by, kib[1], kib[0])
		}
	}
}
