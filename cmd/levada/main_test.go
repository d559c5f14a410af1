package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func exec(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(args, &out, &err)
	return code, out.String(), err.String()
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x.txt")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

const good = "# One.\npipeline\nc = create a 1\n----\nok\n\nfinish\n----\nc a 1 @min global\ndone\n"

func TestScenario(t *testing.T) {
	code, out, _ := exec("scenario", write(t, good))
	if code != 0 || out != "1 passed, 0 failed, 0 not yet\n" {
		t.Errorf("a good file: %d, %q", code, out)
	}
	wrong := write(t, strings.Replace(good, "c a 1", "c a 2", 1))
	code, out, _ = exec("scenario", wrong)
	if code != 1 || !strings.Contains(out, "- c a 2 @min global\n  + c a 1 @min global\n") ||
		!strings.HasSuffix(out, "0 passed, 1 failed, 0 not yet\n") {
		t.Errorf("a file that differs: %d, %q", code, out)
	}
	if code, out, _ = exec("scenario", "--rewrite", wrong); code != 0 {
		t.Errorf("rewriting: %d, %q", code, out)
	}
	if data, _ := os.ReadFile(wrong); string(data) != good {
		t.Errorf("rewritten to %q", data)
	}
	code, out, _ = exec("scenario", write(t, "pipeline\np = create a 1\n----\nok\n\nrestart\n----\nok\n"))
	if code != 0 || out != "not yet: directive restart (1)\n0 passed, 0 failed, 1 not yet\n" {
		t.Errorf("a file that is not yet supported: %d, %q", code, out)
	}
}

func TestBadInput(t *testing.T) {
	if code, _, err := exec("scenario", "no-such-file.txt"); code != 1 || !strings.Contains(err, "no-such-file.txt") {
		t.Errorf("a missing file: %d, %q", code, err)
	}
	if code, _, err := exec("scenario", write(t, "frob\n----\n")); code != 1 || !strings.Contains(err, "x:1") {
		t.Errorf("a broken file: %d, %q", code, err)
	}
	if code, _, err := exec("frobnicate"); code != 2 || !strings.Contains(err, "--help") {
		t.Errorf("a wrong command: %d, %q", code, err)
	}
	if code, out, _ := exec("--help"); code != 0 || !strings.Contains(out, "scenario") {
		t.Errorf("help: %d, %q", code, out)
	}
}
