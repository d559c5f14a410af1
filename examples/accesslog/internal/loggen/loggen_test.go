package loggen

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/levadaflow/levada/event"
)

func generate(t *testing.T, n int64) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, n, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The bytes never change. What has been written about this log (counts, checksums) would no longer hold.
func TestBytesArePinned(t *testing.T) {
	const want = "8adeacf7ca9a058a85567d277cdd3b4b985eaf54d600ad81d27315bf6394fd0e"
	got := fmt.Sprintf("%x", sha256.Sum256(generate(t, 10_000)))
	if got != want {
		t.Errorf("sha256 of 10,000 lines is %s, want %s", got, want)
	}
	if !bytes.Equal(generate(t, 2_000), generate(t, 2_000)) {
		t.Error("two runs differ")
	}
}

var wellFormed = regexp.MustCompile(`^(2026-0[23]-\d\dT\d\d:\d\d:\d\d\.\d\d\dZ) user0\d{4} (200|204|301|304|404|500) (\d+)$`)

func TestLines(t *testing.T) {
	const n = 200_000
	lines := strings.Split(string(generate(t, n)), "\n")
	if len(lines) != n+1 || lines[n] != "" {
		t.Fatalf("%d lines", len(lines)-1)
	}
	var malformed, soonest, disorder int
	var newest event.Time = math.MinInt64
	kinds := map[string]int{}
	perStatus := map[string]int{}
	for i, line := range lines[:n] {
		m := wellFormed.FindStringSubmatch(line)
		if m == nil {
			malformed++
			kinds[kindOf(line)]++
			continue
		}
		at, err := event.ParseRFC3339(m[1])
		if err != nil {
			t.Fatalf("line %d: %v", i, err)
		}
		delay := arrival(int64(i), n) - at
		if delay < 0 || delay >= 30_000 || at < Start || at >= Start+Day {
			t.Fatalf("line %d: %d ms late: %s", i, delay, line)
		}
		if delay < 2_000 {
			soonest++
		}
		if at < newest {
			disorder++
		}
		newest = max(newest, at)
		perStatus[m[2]]++
		if size, err := strconv.Atoi(m[3]); err != nil || size < 100 || size > 20_099 {
			t.Fatalf("line %d: %s bytes", i, m[3])
		}
	}
	if malformed != n/1_000 {
		t.Errorf("%d malformed lines, want %d", malformed, n/1_000)
	}
	for _, kind := range []string{"short", "field", "time", "bytes"} {
		if kinds[kind] != n/4_000 {
			t.Errorf("%d malformed lines are %s, want %d", kinds[kind], kind, n/4_000)
		}
	}
	if share := float64(soonest) / n; share < 0.89 || share > 0.92 {
		t.Errorf("a share of %.3f is less than 2 s late", share)
	}
	if disorder == 0 {
		t.Error("nothing is out of order")
	}
	for status, times := range map[string]int{"200": 7, "204": 1, "301": 1, "304": 1, "404": 2, "500": 1} {
		want := n * times / len(statuses)
		if got := perStatus[status]; got < want*95/100 || got > want*105/100 {
			t.Errorf("status %s occurs %d times, want about %d", status, got, want)
		}
	}
}

// kindOf says in which way a line is malformed.
func kindOf(line string) string {
	fields := strings.Fields(line)
	switch {
	case len(fields) < 3:
		return "short"
	case len(fields) == 3:
		return "field"
	case fields[0] == "yesterday":
		return "time"
	case fields[3] == "many":
		return "bytes"
	}
	return line
}

// Users are skewed, and who is frequent has nothing to do with the id.
func TestUsers(t *testing.T) {
	count := map[string]int{}
	for line := range strings.Lines(string(generate(t, 100_000))) {
		if m := wellFormed.FindString(strings.TrimSpace(line)); m != "" {
			count[strings.Fields(m)[1]]++
		}
	}
	most, name := 0, ""
	for user, n := range count {
		if n > most {
			most, name = n, user
		}
	}
	if most < 2_000 || most > 20_000 || len(count) < 5_000 || name == "user00000" {
		t.Errorf("%d users, %s occurs %d times", len(count), name, most)
	}
}

func TestArrival(t *testing.T) {
	for _, n := range []int64{1, 3, 1_000_000, math.MaxInt64} {
		if got := arrival(0, n); got != Start {
			t.Errorf("the first of %d lines arrives at %v", n, got)
		}
		if got := arrival(n-1, n); got < Start || got >= Start+Day {
			t.Errorf("the last of %d lines arrives at %v", n, got)
		}
	}
	if got := arrival(1, 2); got != Start+Day/2 {
		t.Errorf("the second of two lines arrives at %v", got)
	}
	if got := Start.String(); got != "2026-03-01T00:00:00.000Z" {
		t.Errorf("Start is %s", got)
	}
}

func TestProgress(t *testing.T) {
	var calls []int64
	if err := Write(io.Discard, 140_000, func(done int64) error { calls = append(calls, done); return nil }); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(calls), "[65536 131072 140000]"; got != want {
		t.Errorf("progress %s, want %s", got, want)
	}
	stop := errors.New("stop")
	if err := Write(io.Discard, 140_000, func(int64) error { return stop }); err != stop {
		t.Errorf("%v, want the error of progress", err)
	}
	for _, n := range []int64{0, -5} {
		if got := generate(t, n); len(got) != 0 {
			t.Errorf("%d lines are %q", n, got)
		}
	}
}

func TestFile(t *testing.T) {
	want := generate(t, 3_000)
	for _, name := range []string{"a.log", "a.log.gz"} {
		path := filepath.Join(t.TempDir(), "new", "dir", name)
		if err := File(path, 3_000, nil); err != nil {
			t.Fatal(err)
		}
		onlyFile(t, path)
		if got := readLog(t, path); !bytes.Equal(got, want) {
			t.Errorf("%s has %d bytes, want %d", name, len(got), len(want))
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o644 {
			t.Errorf("%s: mode %v, %v", name, info.Mode(), err)
		}
	}
}

func readLog(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(path, ".gz") {
		return data
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if data, err = io.ReadAll(z); err != nil {
		t.Fatal(err)
	}
	return data
}

// onlyFile checks that there is nothing else in the file's directory.
func onlyFile(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != filepath.Base(path) {
			t.Errorf("%s is left over", e.Name())
		}
	}
}

func TestFileNeverOverwrites(t *testing.T) {
	check := func(path string, err error) {
		t.Helper()
		if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "remove it") {
			t.Errorf("error %v", err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != "precious" {
			t.Errorf("the file is now %q, %v", got, err)
		}
		onlyFile(t, path)
	}
	write := func(path string) {
		if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
			t.Error(err)
		}
	}
	before := filepath.Join(t.TempDir(), "a.log")
	write(before)
	check(before, File(before, 10, nil))
	// Another program makes the file while this one is writing.
	meanwhile := filepath.Join(t.TempDir(), "a.log")
	check(meanwhile, File(meanwhile, 10, func(int64) error { write(meanwhile); return nil }))
	// The same on a file system without links.
	from := filepath.Join(t.TempDir(), "from")
	write(from)
	check(before, copyTo(before, from))
	fresh := filepath.Join(t.TempDir(), "b.log")
	if err := copyTo(fresh, from); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(fresh); err != nil || string(got) != "precious" {
		t.Errorf("copied %q, %v", got, err)
	}
}

type broken struct{}

var errBroken = errors.New("no space left")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestErrors(t *testing.T) {
	for _, compress := range []bool{false, true} {
		if err := fill(broken{}, compress, 100_000, nil); !errors.Is(err, errBroken) {
			t.Errorf("compress %v: error %v", compress, err)
		}
	}
	dir := t.TempDir()
	notDir := filepath.Join(dir, "file")
	if err := os.WriteFile(notDir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := File(filepath.Join(notDir, "a.log"), 1, nil); err == nil {
		t.Error("a file below a file")
	}
	onlyFile(t, notDir)
}
