package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/levadaflow/levada/bench/jobs"
)

// TestMain makes this test's binary the child that the driver starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "child" {
		main()
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE")) // a second for each child otherwise
	os.Exit(m.Run())
}

// bench runs the command.
func bench(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), append(args, "--cache", t.TempDir()), &out, &errs)
	return code, out.String(), errs.String()
}

// All jobs run, and give what the programs by hand give.
func TestQuick(t *testing.T) {
	out := filepath.Join(t.TempDir(), "RESULTS.md")
	code, stdout, stderr := bench(t, "--quick", "--json", "--out", out)
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	var r report
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err)
	}
	seen := map[string]map[string]row{}
	for _, x := range r.Rows {
		if !x.Equal || x.Wall <= 0 || x.CPU <= 0 {
			t.Errorf("%+v", x)
		}
		if seen[x.Job] == nil {
			seen[x.Job] = map[string]row{}
		}
		seen[x.Job][x.Variant] = x
	}
	for _, j := range jobs.All() {
		hand, p1, p2 := seen[j.Name]["hand"], seen[j.Name]["levada p1"], seen[j.Name]["levada p2"]
		switch {
		case p1.Job == "" || p2.Job == "":
			t.Errorf("%s is missing", j.Name)
		case j.HasHand() && (hand.Digest == "" || hand.Digest != p1.Digest || hand.Digest != p2.Digest):
			t.Errorf("%s: the results are %q, %q and %q", j.Name, hand.Digest, p1.Digest, p2.Digest)
		case strings.HasPrefix(j.Name, "latency-") && (p1.Values["panes"] < 3 || p1.Values["median_ms"] <= 0):
			t.Errorf("%s: %v", j.Name, p1.Values)
		}
	}
	table, err := os.ReadFile(out)
	if err != nil || !strings.Contains(string(table), "\n## sliding-user\n") {
		t.Errorf("the table (%v):\n%s", err, table)
	}
}

// script makes a peer.
func script(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name, "run")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// A peer may not know a job; one whose results differ, or that fails, makes the command fail.
func TestPeers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("peers are shell scripts here")
	}
	dir := t.TempDir()
	script(t, dir, "other", "exit 3")
	args := []string{"--quick", "--jobs", "startup", "--parallelism", "1", "--peers", dir}
	code, stdout, stderr := bench(t, args...)
	if code != 0 || !strings.Contains(stdout, "| other | not supported |") {
		t.Errorf("exit code %d: %s\n%s", code, stderr, stdout)
	}
	script(t, dir, "right", `test "$1" = startup && echo 385 > "$3/part"`)
	script(t, dir, "wrong", `echo 386 > "$3/part"`)
	script(t, dir, "broken", `echo no such thing >&2; exit 1`)
	code, stdout, stderr = bench(t, args...)
	want := "bench: 2 of 6 runs are wrong:\n" +
		"startup, broken, 0 lines, round 1: exit status 1: no such thing\n" +
		"startup, wrong, 0 lines, round 1: its results differ\n"
	if code != 1 || stderr != want || !strings.Contains(stdout, "| right |") {
		t.Errorf("exit code %d: %s\n%s", code, stderr, stdout)
	}
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--jobs", "nothing"}, "there is no such job; there are [log-status"},
		{[]string{"--jobs", "["}, "syntax error in pattern"},
		{[]string{"--small", "10", "--big", "5"}, "--big must be greater"},
		{[]string{"--rounds", "0"}, "at least 1"},
		{[]string{"--unheard"}, "unknown flag"},
	} {
		if code, _, stderr := bench(t, c.args...); code != 2 || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: exit code %d, %s", c.args, code, stderr)
		}
	}
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"child", "log-user", "hand", "no such file", t.TempDir()}, &out, &errs)
	if code != 1 || !strings.Contains(errs.String(), "no such file") {
		t.Errorf("a child without its input: exit code %d, %s", code, errs.String())
	}
}

// write makes a folder with files of the given texts.
func write(t *testing.T, texts ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, string(rune('a'+i))), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A digest does not depend on the order of lines and on the file they are in; that of totals not on how they are parted.
func TestDigest(t *testing.T) {
	for _, c := range []struct {
		a, b   string
		totals bool
		equal  bool
	}{
		{write(t, "x 1 2\ny 3 4\n"), write(t, "y 3 4\n", "x 1 2\n"), false, true},
		{write(t, "x 1 2\ny 3 4\n"), write(t, "x 1 2\ny 3 4\nx 1 2\n"), false, false},
		{write(t, "x 3 6\n"), write(t, "x 1 2\nx 2 4\n"), false, false},
		{write(t, "x 3 6\n"), write(t, "x 1 2\nx 2 4\n"), true, true},
		{write(t, "x 3 6\n"), write(t, "x 1 2\ny 2 4\n"), true, false},
		{write(t, "x 3 6\n"), write(t, "x 1 2\nx 2 5\n"), true, false},
		{write(t, "x 3 6\ny 6 3\n"), write(t, "x 6 3\ny 3 6\n"), true, false},
	} {
		a, err1 := digestOf(c.a, c.totals)
		b, err2 := digestOf(c.b, c.totals)
		if err1 != nil || err2 != nil || (a == b) != c.equal {
			t.Errorf("%s and %s, %v, %v: want equal %v", a, b, err1, err2, c.equal)
		}
	}
	if _, err := digestOf(write(t), false); err == nil {
		t.Error("a folder without files has a digest")
	}
	if _, err := digestOf(write(t, "x 1\n"), true); err == nil {
		t.Error("a line without two numbers has totals")
	}
}

// Ratios are inside a round, and the marginal cost is between the sizes of a round.
func TestSummaries(t *testing.T) {
	r := report{}
	for round, slow := range []float64{1, 3, 2} {
		for _, lines := range []int64{1000, 3000} {
			base := slow * (1 + float64(lines)/1000)
			r.Rows = append(r.Rows,
				row{Job: "j", Variant: "levada p1", Lines: lines, Round: round, CPU: base * 1.5, Wall: base * 3, Digest: "d"},
				row{Job: "j", Variant: "hand", Lines: lines, Round: round, CPU: base, Wall: base, Digest: "d"})
		}
	}
	r.compare()
	r.summarize()
	if err := r.failure(); err != nil || len(r.Summaries) != 4 {
		t.Fatal(err, r.Summaries)
	}
	hand, levada := r.Summaries[2], r.Summaries[3]
	if hand.Variant != "hand" || hand.Lines != 3000 || hand.CPU != (spread{8, 4, 12}) || hand.CPURatio != nil ||
		*hand.Marginal != (spread{2e6, 1e6, 3e6}) {
		t.Errorf("by hand: %+v", hand)
	}
	if *levada.CPURatio != (spread{1.5, 1.5, 1.5}) || *levada.WallRatio != (spread{3, 3, 3}) ||
		*levada.MargRatio != (spread{1.5, 1.5, 1.5}) || r.Summaries[1].Marginal != nil {
		t.Errorf("levada: %+v", levada)
	}
}
