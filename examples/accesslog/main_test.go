package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/examples/accesslog/internal/loggen"
	"github.com/levadaflow/levada/internal/invariants"
)

// asProgram makes the test binary be the program.
const asProgram = "LEVADA_ACCESSLOG_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// summary is the last line on stderr, without the time.
type summary struct{ lines, bad, late, groups int }

// run runs the program and returns its exit code and stderr.
func run(ctx context.Context, args ...string) (int, string) {
	var stdout, stderr bytes.Buffer
	code := levada.Exec(ctx, "accesslog", args, &stdout, &stderr, build)
	return code, stderr.String()
}

func mustRun(t *testing.T, args ...string) (s summary) {
	t.Helper()
	code, stderr := run(t.Context(), args...)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if _, err := fmt.Sscanf(stderr, "lines=%d bad=%d late=%d groups=%d time=", &s.lines, &s.bad, &s.late, &s.groups); err != nil {
		t.Fatalf("summary %q: %v", stderr, err)
	}
	return s
}

// wantFailure checks the exit code and that stderr has all the texts.
func wantFailure(t *testing.T, code int, texts []string, args ...string) {
	t.Helper()
	got, stderr := run(t.Context(), args...)
	if got != code {
		t.Errorf("%q: exit code %d, want %d: %s", args, got, code, stderr)
	}
	for _, text := range texts {
		if !strings.Contains(stderr, text) {
			t.Errorf("%q: %q does not say %q", args, stderr, text)
		}
	}
}

// logOf makes a log and returns its path.
func logOf(t *testing.T, name string, lines int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := loggen.File(path, lines, nil); err != nil {
		t.Fatal(err)
	}
	return path
}

func countLines(t *testing.T, path string) (n int) {
	t.Helper()
	for range refLines(t, path) {
		n++
	}
	return n
}

// check runs the program on a log in which no line comes too late and compares the results.
func check(t *testing.T, path, by string, more ...string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	s := mustRun(t, append([]string{"--input", path, "--output", out, "--by", by}, more...)...)
	ref := refCount(t, path, by, 30*time.Second)
	if want := (summary{ref.lines, ref.bad, 0, len(ref.totals)}); s != want {
		t.Errorf("summary %+v, want %+v", s, want)
	}
	if got := refResult(t, filepath.Join(out, "part-00000-of-00001")); !maps.Equal(got, ref.totals) {
		t.Errorf("%d groups, want %d, or they differ", len(got), len(ref.totals))
	}
	if bad := countLines(t, filepath.Join(out, "bad-00000-of-00001")); bad != ref.bad {
		t.Errorf("%d bad lines, want %d", bad, ref.bad)
	}
	if late := countLines(t, filepath.Join(out, "late-00000-of-00001")); late != 0 {
		t.Errorf("%d late lines", late)
	}
}

func TestEndToEnd(t *testing.T) {
	for _, name := range []string{"a.log", "a.log.gz"} {
		path := logOf(t, name, 20_000)
		for _, by := range []string{"status", "user"} {
			for _, parallelism := range []string{"1", "4"} {
				t.Run(name+"/"+by+"/"+parallelism, func(t *testing.T) { check(t, path, by, "--parallelism", parallelism) })
			}
		}
	}
}

func TestMillion(t *testing.T) {
	if testing.Short() || invariants.Enabled { // with the race detector it takes a minute
		t.Skip("a million lines")
	}
	path := logOf(t, "a.log", 1_000_000)
	for _, by := range []string{"status", "user"} {
		t.Run(by, func(t *testing.T) { check(t, path, by) })
	}
}

// TestManyFiles splits a log; the pieces are in order, and so are their first times.
func TestManyFiles(t *testing.T) {
	whole := logOf(t, "a.log", 20_000)
	all := slices.Collect(refLines(t, whole))
	dir := t.TempDir()
	for i := range 5 {
		text := strings.Join(all[i*4000:(i+1)*4000], "\n")
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.log", 9-i)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ref := refCount(t, whole, "user", 0)
	for _, parallelism := range []string{"1", "4"} {
		out := t.TempDir()
		s := mustRun(t, "--input", filepath.Join(dir, "*.log"), "--output", out, "--by", "user", "--parallelism", parallelism, "--shards", "2")
		if want := (summary{ref.lines, ref.bad, 0, len(ref.totals)}); s != want {
			t.Errorf("summary %+v, want %+v", s, want)
		}
		got := refResult(t, filepath.Join(out, "part-00000-of-00002"))
		maps.Copy(got, refResult(t, filepath.Join(out, "part-00001-of-00002")))
		if !maps.Equal(got, ref.totals) {
			t.Errorf("%d groups, want %d, or they differ", len(got), len(ref.totals))
		}
	}
}

// TestLate: which lines are late is known if the watermark moves after every line; else it moves later, and fewer are.
func TestLate(t *testing.T) {
	path := logOf(t, "a.log", 20_000)
	ref := refCount(t, path, "status", 5*time.Second)
	if ref.late == 0 {
		t.Fatal("no line is late")
	}
	for _, args := range [][]string{{"--max-bundle", "1", "--parallelism", "1"}, {"--parallelism", "1"}, {"--parallelism", "4"}} {
		out := t.TempDir()
		s := mustRun(t, append([]string{"--input", path, "--output", out, "--out-of-order", "5s"}, args...)...)
		counted := 0
		for _, sum := range refResult(t, filepath.Join(out, "part-00000-of-00001")) {
			counted += int(sum.count)
		}
		late := countLines(t, filepath.Join(out, "late-00000-of-00001"))
		if s.late != late || s.bad != ref.bad || counted+late+ref.bad != ref.lines {
			t.Errorf("%v: %d counted, %d late, summary %+v of %d lines", args, counted, late, s, ref.lines)
		}
		if exact := args[0] == "--max-bundle"; late > ref.late || exact && late != ref.late {
			t.Errorf("%v: %d late, want %d", args, late, ref.late)
		}
		for line := range refLines(t, filepath.Join(out, "late-00000-of-00001")) {
			if _, ok := refParse(line); !ok {
				t.Fatalf("late line %q", line)
			}
		}
	}
}

// TestLateness: what is late within the allowance makes its group come again, and the greatest totals are the last.
func TestLateness(t *testing.T) {
	path := logOf(t, "a.log", 20_000)
	ref := refCount(t, path, "status", 0)
	out := t.TempDir()
	s := mustRun(t, "--input", path, "--output", out, "--out-of-order", "0s", "--lateness", "30s", "--max-bundle", "1", "--parallelism", "1")
	if s.late != 0 || s.groups <= len(ref.totals) {
		t.Errorf("summary %+v, want more than %d groups", s, len(ref.totals))
	}
	got := map[string]refTotal{}
	for line := range refLines(t, filepath.Join(out, "part-00000-of-00001")) {
		f := strings.Fields(line)
		var sum refTotal
		if _, err := fmt.Sscan(f[2], &sum.count); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscan(f[3], &sum.bytes); err != nil {
			t.Fatal(err)
		}
		got[f[0]+" "+f[1]] = sum // the last counts
	}
	if !maps.Equal(got, ref.totals) {
		t.Error("the last lines of the groups are not their totals")
	}
}

func TestGenerate(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "logs", "a.log.gz"), filepath.Join(dir, "out")
	if s := mustRun(t, "--generate", "2000", "--input", in, "--output", out); s.lines != 2000 || s.bad != 2 {
		t.Errorf("summary %+v", s)
	}
	before, err := os.ReadFile(in)
	if err != nil {
		t.Fatal(err)
	}
	wantFailure(t, 1, []string{in, "never overwritten"}, "--generate", "3000", "--input", in, "--output", out)
	if after, err := os.ReadFile(in); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the log has changed: %v", err)
	}
	for _, input := range []string{"-", "a*", "a?", "a[b]", "a,b"} {
		wantFailure(t, 2, []string{"--generate writes one file", input}, "--generate", "3", "--input", input, "--output", out)
	}
}

func TestWrongCommandLines(t *testing.T) {
	for want, args := range map[string]string{
		"--output":                    "--input a",
		"--input":                     "--output a",
		"unknown flag --nonsense":     "--input a --output b --nonsense",
		"--by must be one of":         "--input a --output b --by day",
		"--shards must be at":         "--input a --output b --shards=0",
		"--generate must not":         "--input a --output b --generate=-1",
		"must not be negative":        "--input a --output b --lateness=-1s",
		"--out-of-order":              "--input a --output b --out-of-order=soon",
		"--parallelism and":           "--input a --output b --parallelism=-1",
		"--out-of-order and":          "--input a --output b --out-of-order=-1s",
		"unexpected argument another": "--input a --output b another",
	} {
		wantFailure(t, 2, []string{want}, strings.Fields(args)...)
	}
}

func TestFailures(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(dir, "missing.log")
	wantFailure(t, 1, []string{missing, "no file matches"}, "--input", missing, "--output", filepath.Join(dir, "out"))
	wantFailure(t, 1, []string{file, "something else has that name"}, "--input", file, "--output", file)
	wantFailure(t, 1, []string{dir, "is a directory"}, "--input", dir, "--output", filepath.Join(dir, "out"))
	if text, err := os.ReadFile(file); err != nil || string(text) != "x\n" {
		t.Errorf("the file in the way is %q now: %v", text, err)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out := t.TempDir()
	code, stderr := run(ctx, "--input", logOf(t, "a.log", 1000), "--output", out)
	entries, err := os.ReadDir(out)
	if code != 1 || err != nil || len(entries) > 0 {
		t.Errorf("exit code %d (%s), %v, %v", code, stderr, entries, err)
	}
}
