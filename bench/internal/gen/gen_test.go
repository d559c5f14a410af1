package gen

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/levadaflow/levada/event"
)

func text(t *testing.T, k Kind, n int64) []string {
	t.Helper()
	var b bytes.Buffer
	if err := k.write(&b, n); err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := k.write(&again, n); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Fatalf("%s is not the same twice (%v)", k, err)
	}
	lines := strings.Split(b.String(), "\n")
	if len(lines) != int(n)+1 || lines[n] != "" {
		t.Fatalf("%s: %d lines, want %d", k, len(lines)-1, n)
	}
	return lines[:n]
}

// No line of a log breaks the promise of 30 s; of a late one, one in ten does, and none by more than a minute.
func TestLog(t *testing.T) {
	for k, want := range map[Kind]int{Log: 0, LateLog: 1800} {
		latest, broken := event.Min, 0
		for _, line := range text(t, k, 20_000) {
			at, err := event.ParseRFC3339(line[:24])
			if err != nil {
				t.Fatal(err)
			}
			latest = max(latest, at)
			switch behind := latest - at; {
			case behind > 90_000:
				t.Fatalf("%s: %d ms behind: %s", k, behind, line)
			case behind > 30_000:
				broken++
			}
		}
		if broken < want || broken > want+200 {
			t.Errorf("%s: %d of 20000 lines are more than 30 s behind, want about %d", k, broken, want)
		}
	}
}

func TestNexmark(t *testing.T) {
	fields := map[byte]int{'P': 9, 'A': 11, 'B': 8}
	seen := map[byte]int{}
	for _, line := range text(t, Nexmark, 5000) {
		seen[line[0]]++
		if n := strings.Count(line, "|") + 1; n != fields[line[0]] {
			t.Fatalf("%d fields: %s", n, line)
		}
	}
	if seen['P'] != 100 || seen['A'] != 300 || seen['B'] != 4600 {
		t.Errorf("persons, auctions, bids: %d, %d, %d", seen['P'], seen['A'], seen['B'])
	}
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	path, err := File(dir, Log, 10)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("kept"), 0o644); err != nil {
		t.Fatal(err)
	}
	again, err := File(dir, Log, 10)
	if data, _ := os.ReadFile(again); err != nil || string(data) != "kept" {
		t.Errorf("a file that was there was written again: %q, %v", data, err)
	}
	if _, err := File(dir, "other", 10); err == nil {
		t.Error("a file of an unknown kind")
	}
	if all, _ := os.ReadDir(dir); len(all) != 1 {
		t.Errorf("%d files are left, want 1", len(all))
	}
}
