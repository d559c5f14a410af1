package textio_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/io/textio"
)

// got is what a collection had.
type got struct {
	mu    sync.Mutex
	lines []string
	times []event.Time
}

// collect keeps the lines of a collection in the order in which they came.
func collect(in levada.PCollection[string], name string) *got {
	g := &got{}
	levada.ForEach(in, name, func(*levada.Setup) levada.Process[string] {
		return func(c *levada.Ctx, v string) error {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.lines = append(g.lines, strings.Clone(v))
			g.times = append(g.times, c.Time())
			return nil
		}
	})
	return g
}

// read runs a pipeline that reads.
func read(ctx context.Context, o levada.Embedded, files textio.ReadFiles) (*got, *levada.Result, error) {
	p := levada.New()
	g := collect(textio.Read(p, "read", files), "collect")
	r, err := p.Run(ctx, o)
	return g, r, err
}

// mustRead reads with one task.
func mustRead(t *testing.T, files textio.ReadFiles) *got {
	t.Helper()
	g, _, err := read(t.Context(), levada.Embedded{Parallelism: 1}, files)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// put writes a file into a directory and returns its path.
func put(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// zipped compresses a text.
func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// wantError checks that err has all the texts.
func wantError(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", texts)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q does not say %q", err, text)
		}
	}
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %d lines %.300q, want %d %.300q", len(got), got, len(want), want)
	}
}

// files returns the names in a directory, sorted; hidden ones too.
func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
