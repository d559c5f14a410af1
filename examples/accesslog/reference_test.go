package main

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// This file is the same program without levada: what the results are compared with.

// refRequest is a line.
type refRequest struct {
	at           time.Time
	user, status string
	bytes        int64
}

var refLine = regexp.MustCompile(`^([^ ]+) ([^ ]+) ([^ ]+) ([0-9]+)$`)

func refParse(line string) (r refRequest, ok bool) {
	m := refLine.FindStringSubmatch(line)
	if m == nil {
		return r, false
	}
	at, err := time.Parse(time.RFC3339Nano, m[1])
	bytes, err2 := strconv.ParseInt(m[4], 10, 64)
	return refRequest{at, m[2], m[3], bytes}, err == nil && err2 == nil
}

// refTotal is a line of the result, but for the group.
type refTotal struct{ count, bytes int64 }

// reference is what the program should find.
type reference struct {
	lines, bad int
	totals     map[string]refTotal // by "minute key"
	late       int                 // with one task and bundles of one element
}

func refCount(t *testing.T, path, by string, outOfOrder time.Duration) reference {
	t.Helper()
	ref := reference{totals: map[string]refTotal{}}
	var latest time.Time
	for line := range refLines(t, path) {
		ref.lines++
		r, ok := refParse(line)
		if !ok {
			ref.bad++
			stamp, _, _ := strings.Cut(line, " ") // a bad line may have a good time
			if at, err := time.Parse(time.RFC3339Nano, stamp); err == nil && at.After(latest) {
				latest = at
			}
			continue
		}
		minute := r.at.UTC().Truncate(time.Minute)
		if !latest.IsZero() && !minute.Add(time.Minute).After(latest.Add(-outOfOrder)) {
			ref.late++
		}
		if r.at.After(latest) {
			latest = r.at
		}
		key := r.status
		if by == "user" {
			key = r.user
		}
		group := minute.Format(time.RFC3339) + " " + key
		sum := ref.totals[group]
		ref.totals[group] = refTotal{sum.count + 1, sum.bytes + r.bytes}
	}
	return ref
}

// refLines walks the lines of a file.
func refLines(t *testing.T, path string) func(func(string) bool) {
	t.Helper()
	return func(yield func(string) bool) {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var in io.Reader = f
		if strings.HasSuffix(path, ".gz") {
			if in, err = gzip.NewReader(f); err != nil {
				t.Fatal(err)
			}
		}
		s := bufio.NewScanner(in)
		for s.Scan() && yield(s.Text()) {
		}
		if s.Err() != nil {
			t.Fatal(s.Err())
		}
	}
}

// refResult reads a result; each group must be there once.
func refResult(t *testing.T, path string) map[string]refTotal {
	t.Helper()
	all := map[string]refTotal{}
	for line := range refLines(t, path) {
		var minute, key string
		var sum refTotal
		if n, err := fmt.Sscanf(line, "%s %s %d %d", &minute, &key, &sum.count, &sum.bytes); n != 4 {
			t.Fatalf("%s: %q: %v", path, line, err)
		}
		group := minute + " " + key
		if _, twice := all[group]; twice {
			t.Errorf("%s: %s is there twice", path, group)
		}
		all[group] = sum
	}
	return all
}
