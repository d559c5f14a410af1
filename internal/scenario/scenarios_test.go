package scenario

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/levadaflow/levada"
)

// mustPass are the files that pass today. A file that stops to pass, and one that passes and is not in here, fails the test.
var mustPass = []string{
	"accumulation-modes", "combiner-fixed", "combiner-sessions", "drain", "expire-callback", "flatten-finished", "keys",
	"lateness-boundary", "lateness-grows", "lateness-late-step", "poll-resume", "poll-watermark", "refused-arguments",
	"refused-graphs", "refused-options", "refused-triggers", "reshuffle-transparent", "sessions-expired",
	"shift-watermark-idle", "shift-watermark", "side-fixed", "side-global-empty", "sorted-input", "timer-batches",
	"timer-holds", "timestamps-assign", "timestamps-far-years", "timestamps-keep-window", "timestamps-none-are-min",
	"timestamps-out-of-range", "timestamps-skew", "trigger-counts", "trigger-default", "trigger-each-any-all",
	"trigger-early-delay", "trigger-may-lose", "trigger-never-repeat", "trigger-ontime-closing", "trigger-or-finally",
	"two-groupings", "windows-calendar", "windows-end-of-time", "windows-fixed", "windows-sessions",
	"windows-sliding-one-pane", "windows-sliding", "windows-weeks-years",
}

// TestScenarios runs the files of testdata/scenarios, or of the folder in LEVADA_SCENARIOS, in all modes.
func TestScenarios(t *testing.T) {
	dir, own := os.Getenv("LEVADA_SCENARIOS"), false
	if dir == "" {
		dir, own = filepath.Join("..", "..", "testdata", "scenarios"), true
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios in %s: %v", dir, err)
	}
	var all []Verdict
	var passed []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		v, err := Judge(name, data, Modes(), Disputed)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		all = append(all, v)
		if len(v.NotYet) == 0 && !v.Failed {
			passed = append(passed, name)
		}
	}
	var report bytes.Buffer
	if Report(&report, all) > 0 {
		t.Error("scenarios failed")
	}
	t.Log("\n" + report.String())
	if own && !slices.Equal(passed, mustPass) {
		t.Errorf("these files pass, which is not what the list says:\n%v\nwant\n%v", passed, mustPass)
	}
}

// TestDisputed shows that a disputed block counts as neither, and fails when it passes.
func TestDisputed(t *testing.T) {
	text := "# One.\npipeline\nc = create a 1\n----\nok\n\nfinish\n----\nc a 2 @min global\ndone\n"
	reason := []Dispute{{"x", 1, "a test"}}
	modes := []levada.Embedded{{Parallelism: 1}}
	v, err := Judge("x", []byte(text), modes, reason)
	if err != nil || v.Failed || len(v.Disputed) != 1 {
		t.Errorf("a disputed block that differs: %+v, %v", v, err)
	}
	if v, err = Judge("x", []byte(text), modes, nil); err != nil || !v.Failed {
		t.Errorf("a block that differs: %+v, %v", v, err)
	}
	v, err = Judge("x", []byte(strings.Replace(text, "a 2", "a 1", 1)), modes, reason)
	if err != nil || !v.Failed {
		t.Errorf("a disputed block that passes: %+v, %v", v, err)
	}
}
