package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/levadaflow/levada/levadatest"
)

// add appends lines, "10:00:01 anna" each, to a file.
func add(t *testing.T, dir, file string, lines ...string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		at, user, _ := strings.Cut(l, " ")
		fmt.Fprintf(f, `{"time":"2026-03-01T%sZ","user":%q}`+"\n", at, user)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFolderIsASource runs the check for sources.
func TestFolderIsASource(t *testing.T) {
	dir := t.TempDir()
	for i := range 20 {
		add(t, dir, fmt.Sprintf("2026-%02d.log", i), fmt.Sprintf("10:%02d:00 anna", i), fmt.Sprintf("10:%02d:30 bert", i))
	}
	levadatest.CheckUnbounded(t, folder{dir: dir, disorder: time.Second})
}

// TestTail lets a folder grow: lines, a line in two halves, files.
func TestTail(t *testing.T) {
	for _, parts := range []int{1, 3} {
		dir := t.TempDir()
		h := levadatest.New(t)
		h.Run.Parallelism = 2
		var out bytes.Buffer
		o := options{Dir: dir, Minutes: time.Minute, Disorder: 5 * time.Second, Idle: 3 * time.Second, Poll: time.Second, Parts: parts}
		if err := build(h.Pipeline, o, &out); err != nil {
			t.Fatal(err)
		}
		want := func(want ...string) {
			t.Helper()
			got := strings.Split(strings.TrimSpace(out.String()), "\n")
			slices.Sort(got)
			if out.Reset(); !slices.Equal(got, append([]string(nil), want...)) && (len(want) > 0 || got[0] != "") {
				t.Errorf("%d parts: got %q, want %q", parts, got, want)
			}
		}
		tick := func(n int) {
			for range n {
				h.Clock(time.Second)
			}
		}
		h.Start()
		tick(5) // nothing at all
		add(t, dir, "a.log", "10:00:01 anna", "10:00:20 bert", "10:00:10 anna")
		tick(2)
		want()
		add(t, dir, "a.log", "10:01:04 anna")
		tick(5)
		want() // 10:00:59 at most
		add(t, dir, "a.log", "10:01:05 anna")
		tick(5)
		want("2026-03-01T10:00:00.000Z anna 2", "2026-03-01T10:00:00.000Z bert 1")
		if err := os.WriteFile(filepath.Join(dir, "b.log"), []byte(`{"time":"2026-03-01T10:01:30Z",`), 0o644); err != nil {
			t.Fatal(err)
		}
		tick(3)
		f, err := os.OpenFile(filepath.Join(dir, "b.log"), os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(f, `"user":"carl"}`)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		tick(3)
		want()
		if err := h.Drain(); err != nil {
			t.Fatal(err)
		}
		want("2026-03-01T10:01:00.000Z anna 2", "2026-03-01T10:01:00.000Z carl 1")
	}
}

// TestBadLine shows that an error names the file and the place.
func TestBadLine(t *testing.T) {
	for text, want := range map[string]string{"{}": "the field time", "no json": "invalid character"} {
		dir := t.TempDir()
		add(t, dir, "a.log", "10:00:01 anna")
		if err := os.WriteFile(filepath.Join(dir, "b.log"), []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		h := levadatest.New(t)
		if err := build(h.Pipeline, options{Dir: dir, Minutes: time.Minute, Parts: 1}, &bytes.Buffer{}); err != nil {
			t.Fatal(err)
		}
		err := h.Driver.Start()
		if err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "b.log")+" at byte 0") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
