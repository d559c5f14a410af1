package textio_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/io/textio"
)

// write runs a pipeline that writes lines.
func write(ctx context.Context, parallelism int, lines []string, to textio.WriteFiles) (*levada.Result, error) {
	p := levada.New()
	in := levada.Create(p, "lines", lines...)
	if parallelism > 1 {
		in = levada.Reshuffle(in, "spread")
	}
	textio.Write(in, "write", to)
	return p.Run(ctx, levada.Embedded{Parallelism: parallelism})
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range files(t, dir) {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(text)
	}
	return all
}

func wantContents(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	if got := contents(t, dir); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	r, err := write(t.Context(), 1, []string{"a", "", "b"}, textio.WriteFiles{Prefix: filepath.Join(dir, "part"), Suffix: ".txt"})
	if err != nil {
		t.Fatal(err)
	}
	wantContents(t, dir, map[string]string{"part-00000-of-00001.txt": "a\n\nb\n"})
	if n := r.Counter("write", "lines"); n != 3 {
		t.Errorf("lines %d", n)
	}
}

func TestWriteNothing(t *testing.T) {
	dir := t.TempDir()
	if _, err := write(t.Context(), 4, nil, textio.WriteFiles{Prefix: filepath.Join(dir, "p"), Shards: 2}); err != nil {
		t.Fatal(err)
	}
	wantContents(t, dir, map[string]string{"p-00000-of-00002": "", "p-00001-of-00002": ""})
}

func TestWriteShards(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for i := range 60000 {
		want = append(want, fmt.Sprintf("%06d a line that is neither short nor long", i))
	}
	want = append(want, strings.Repeat("long", 1<<18))
	for _, parallelism := range []int{1, 4} {
		if _, err := write(t.Context(), parallelism, want, textio.WriteFiles{Prefix: filepath.Join(dir, "p"), Shards: 3}); err != nil {
			t.Fatal(err)
		}
		all := contents(t, dir)
		var got []string
		for name, text := range all {
			if len(text) < 1<<18 {
				t.Errorf("%s has %d bytes", name, len(text))
			}
			got = append(got, strings.Split(strings.TrimSuffix(text, "\n"), "\n")...)
		}
		slices.Sort(got)
		if len(all) != 3 || !slices.Equal(got, want) {
			t.Errorf("parallelism %d: %d files with %d lines, want 3 with %d", parallelism, len(all), len(got), len(want))
		}
	}
}

func TestWriteProblems(t *testing.T) {
	for text, to := range map[string]textio.WriteFiles{
		"the prefix is empty":      {},
		`prefix "out/" is a fold`:  {Prefix: "out/"},
		`prefix ".." is a folder`:  {Prefix: ".."},
		"shards is -1":             {Prefix: "a", Shards: -1},
		"shards is 100000":         {Prefix: "a", Shards: 100000},
		"path separator":           {Prefix: "a", Suffix: "/b"},
		"bad textio.WriteFiles: t": {},
	} {
		_, err := write(t.Context(), 1, nil, to)
		wantError(t, err, text, "step write")
		if !errors.Is(err, textio.ErrBadWrite) {
			t.Errorf("%v is no ErrBadWrite", err)
		}
	}
}

func TestTwoWritesOfOnePlace(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	p := levada.New()
	in := levada.Create(p, "lines", "a")
	textio.Write(in, "first", textio.WriteFiles{Prefix: "out/p"})
	textio.Write(in, "other-suffix", textio.WriteFiles{Prefix: "out/p", Suffix: ".txt"})
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	textio.Write(in, "second", textio.WriteFiles{Prefix: filepath.Join(dir, "x/../out/p"), Shards: 3})
	wantError(t, p.Err(), "step second", "step first writes the same files")
}

func TestEarlierSets(t *testing.T) {
	dir := t.TempDir()
	kept := map[string]string{}
	for _, name := range []string{
		"p-00000-of-00002.gz", "p-0000-of-0002", "pp-00000-of-00002", "p-00000-of-0000x", "p-000000-of-00002", "p", "-00000-of-00002",
		"p-x0000-of-00002", "p-00000-OF-00002", ".p-00000-of-00001.abc.partial",
	} {
		put(t, dir, name, "keep")
		kept[name] = "keep"
	}
	lines := []string{"a"}
	for _, shards := range []int{2, 2, 5, 1} {
		for i := range 7 { // a set that was once larger
			put(t, dir, fmt.Sprintf("p-%05d-of-00007", i), "old")
		}
		if _, err := write(t.Context(), 1, lines, textio.WriteFiles{Prefix: filepath.Join(dir, "p"), Shards: shards}); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		for name, text := range kept {
			want[name] = text
		}
		for i := range shards {
			want[fmt.Sprintf("p-%05d-of-%05d", i, shards)] = ""
		}
		for name, text := range contents(t, dir) {
			if w, ok := want[name]; !ok || w != "" && w != text || text == "old" {
				t.Errorf("%d shards: there is %s with %q", shards, name, text)
			}
			delete(want, name)
		}
		if len(want) > 0 {
			t.Errorf("%d shards: missing %v", shards, want)
		}
	}
}

// TestAtomic looks at the folder while the run goes on, and fails runs at the end.
func TestAtomic(t *testing.T) {
	for _, failing := range []bool{false, true} {
		dir := t.TempDir()
		put(t, dir, "p-00000-of-00001", "old\n")
		put(t, dir, "p-00000-of-00002", "old\n")
		p := levada.New()
		in := levada.Create(p, "lines", slices.Repeat([]string{strings.Repeat("x", 1000)}, 1000)...)
		textio.Write(in, "write", textio.WriteFiles{Prefix: filepath.Join(dir, "p")})
		seen := 0
		levada.ForEach(in, "look", func(*levada.Setup) levada.Process[string] {
			return func(*levada.Ctx, string) error {
				if seen++; seen < 1000 {
					return nil
				}
				final := 0
				for name, text := range contents(t, dir) {
					switch {
					case text == "old\n":
						final++
					case strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".partial"):
						if len(text) < 500_000 {
							t.Errorf("only %d bytes were written", len(text))
						}
					default:
						t.Errorf("there is %s", name)
					}
				}
				if final != 2 {
					t.Errorf("%d old files", final)
				}
				if failing {
					return errors.New("no")
				}
				return nil
			}
		})
		_, err := p.Run(t.Context(), levada.Embedded{Parallelism: 1})
		want := []string{"p-00000-of-00001"}
		if failing {
			wantError(t, err, "no")
			want = append(want, "p-00000-of-00002")
		} else if err != nil {
			t.Fatal(err)
		}
		if got := files(t, dir); !slices.Equal(got, want) {
			t.Errorf("failing %v: got %v, want %v", failing, got, want)
		}
	}
}

func TestUnwritable(t *testing.T) {
	dir := t.TempDir()
	file := put(t, dir, "file", "")
	_, err := write(t.Context(), 1, nil, textio.WriteFiles{Prefix: filepath.Join(file, "p")})
	wantError(t, err, "make the folder", file, "not a directory", "something else has that name")
	if err := os.Mkdir(filepath.Join(dir, "p-00001-of-00002"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = write(t.Context(), 1, nil, textio.WriteFiles{Prefix: filepath.Join(dir, "p"), Shards: 2})
	wantError(t, err, "p-00001-of-00002", "something else has that name")
	if got := files(t, dir); len(got) != 2 {
		t.Errorf("there is %v", got)
	}
}

func TestLineFunction(t *testing.T) {
	dir := t.TempDir()
	for want, line := range map[string]func(*levada.Ctx, []byte, int) []byte{
		"panic: oh":       func(*levada.Ctx, []byte, int) []byte { panic("oh") },
		"append to dst":   func(_ *levada.Ctx, dst []byte, v int) []byte { return dst[:0] },
		"append to dst a": func(*levada.Ctx, []byte, int) []byte { return nil },
	} {
		p := levada.New()
		textio.WriteAppend(levada.Create(p, "numbers", 1, 2), "write", textio.WriteFiles{Prefix: filepath.Join(dir, "p")}, line)
		_, err := p.Run(t.Context(), levada.Embedded{})
		wantError(t, err, want, "step write")
		if got := files(t, dir); len(got) > 0 {
			t.Errorf("there is %v", got)
		}
	}
}

// faulty is the disk, where one call fails.
type faulty struct {
	mu    sync.Mutex
	calls []string
	fail  int // the number of the call, from 0
	err   error
}

func (f *faulty) call(what, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, what+" "+name)
	if len(f.calls)-1 == f.fail {
		return &fs.PathError{Op: what, Path: name, Err: f.err}
	}
	return nil
}

func (f *faulty) MkdirAll(dir string) error {
	if err := f.call("mkdir", dir); err != nil {
		return err
	}
	return os.MkdirAll(dir, 0o755)
}

func (f *faulty) Create(name string) (textio.File, error) {
	if err := f.call("create", name); err != nil {
		return nil, err
	}
	file, err := os.Create(name)
	return &faultyFile{file, f}, err
}

func (f *faulty) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

func (f *faulty) ReadDir(dir string) ([]fs.DirEntry, error) {
	if err := f.call("readdir", dir); err != nil {
		return nil, err
	}
	return os.ReadDir(dir)
}

func (f *faulty) Rename(from, to string) error {
	if err := f.call("rename", from); err != nil {
		return err
	}
	return os.Rename(from, to)
}

func (f *faulty) Remove(name string) error {
	if err := f.call("remove", name); err != nil {
		return err
	}
	return os.Remove(name)
}

func (f *faulty) SyncDir(dir string) error { return f.call("syncdir", dir) }

type faultyFile struct {
	*os.File
	fs *faulty
}

func (f *faultyFile) Write(p []byte) (int, error) {
	if err := f.fs.call("write", f.Name()); err != nil {
		_, _ = f.File.Write(p[:len(p)/2])
		return len(p) / 2, err
	}
	return f.File.Write(p)
}

func (f *faultyFile) Sync() error { return f.fs.call("sync", f.Name()) }

func (f *faultyFile) Close() error {
	return errors.Join(f.File.Close(), f.fs.call("close", f.Name()))
}

// TestDiskFull makes each call fail, one run after the other, with an earlier set of the same and of another number of shards.
func TestDiskFull(t *testing.T) {
	lines := slices.Repeat([]string{strings.Repeat("x", 999)}, 200) // 200 kB: three writes and the rest
	for _, shards := range []int{1, 3} {
		for fail := 0; ; fail++ {
			dir := t.TempDir()
			old := map[string]string{"p-00000-of-00002": "old", "p-00001-of-00002": "old"}
			for i := range shards {
				old[fmt.Sprintf("p-%05d-of-%05d", i, shards)] = "old"
			}
			for name, text := range old {
				put(t, dir, name, text)
			}
			disk := &faulty{fail: fail, err: syscall.ENOSPC}
			_, err := write(t.Context(), 1, lines, textio.WriteFiles{Prefix: filepath.Join(dir, "p"), Shards: shards, FS: disk})
			if fail >= len(disk.calls) {
				if err != nil {
					t.Fatal(err)
				}
				if got := files(t, dir); len(got) != shards {
					t.Errorf("%d shards: got %v", shards, got)
				}
				break
			}
			what, name, _ := strings.Cut(disk.calls[fail], " ")
			wantError(t, err, name, "no space left", "the disk is full: free space there")
			if what == "syncdir" || what == "remove" { // the new set is there
				for i := range shards {
					if text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("p-%05d-of-%05d", i, shards))); err != nil || string(text) == "old" {
						t.Errorf("%s: shard %d is %q, %v", disk.calls[fail], i, text, err)
					}
				}
				continue
			}
			wantContents(t, dir, old)
			if t.Failed() {
				t.Fatalf("%d shards, call %d: %v", shards, fail, disk.calls)
			}
		}
	}
}

// TestRenameFailsWithoutEarlierSet: no final file stays.
func TestRenameFailsWithoutEarlierSet(t *testing.T) {
	for fail := 0; ; fail++ {
		dir := t.TempDir()
		disk := &faulty{fail: fail, err: syscall.ENOSPC}
		_, err := write(t.Context(), 1, nil, textio.WriteFiles{Prefix: filepath.Join(dir, "p"), Shards: 3, FS: disk})
		if err == nil {
			break
		}
		if what, _, _ := strings.Cut(disk.calls[fail], " "); what == "rename" {
			wantContents(t, dir, map[string]string{})
		}
	}
}

// TestWriteThenRead: what was written is read, in the same order with one task and one shard.
func TestWriteThenRead(t *testing.T) {
	dir := t.TempDir()
	letters := []rune("ab \t,\"\\\x00\r€𝄞")
	rapid.Check(t, func(rt *rapid.T) {
		line := rapid.Custom(func(t *rapid.T) string {
			s := rapid.StringOf(rapid.SampledFrom(letters)).Draw(t, "text")
			if rapid.IntRange(0, 50).Draw(t, "long") == 0 {
				s = strings.Repeat(s, 10000)
			}
			return strings.TrimRight(s, "\r")
		})
		want := rapid.SliceOfN(line, 0, 50).Draw(rt, "lines")
		shards := rapid.IntRange(1, 3).Draw(rt, "shards")
		parallelism := rapid.SampledFrom([]int{1, 4}).Draw(rt, "parallelism")
		files := textio.WriteFiles{Prefix: filepath.Join(dir, "p"), Shards: shards, FS: &faulty{fail: -1}}
		if _, err := write(context.Background(), parallelism, want, files); err != nil {
			rt.Fatal(err)
		}
		g, _, err := read(context.Background(), levada.Embedded{Parallelism: parallelism}, textio.ReadFiles{Glob: filepath.Join(dir, "p-*")})
		if err != nil {
			rt.Fatal(err)
		}
		if shards > 1 || parallelism > 1 {
			slices.Sort(want)
			slices.Sort(g.lines)
		}
		if !slices.Equal(g.lines, want) {
			rt.Fatalf("got %q, want %q", g.lines, want)
		}
	})
}
