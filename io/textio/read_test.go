package textio_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/io/textio"
)

// secondOf reads "12 text" as 12 s.
func secondOf(line string) (event.Time, bool) {
	var s int64
	if _, err := fmt.Sscanf(line, "%d", &s); err != nil {
		return 0, false
	}
	return event.Time(s * 1000), true
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 300<<10)
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"empty":           {"", nil},
		"one":             {"a\n", []string{"a"}},
		"no end":          {"a\nb", []string{"a", "b"}},
		"empty lines":     {"\n\na\n\n", []string{"", "", "a", ""}},
		"crlf":            {"a\r\n\r\nb\rc\r\nd\r", []string{"a", "", "b\rc", "d\r"}},
		"only a newline":  {"\n", []string{""}},
		"across blocks":   {"a\n" + long + "\nb\n" + long, []string{"a", long, "b", long}},
		"crlf at a block": {strings.Repeat("y", 256<<10-1) + "\r\nz\r\n", []string{strings.Repeat("y", 256<<10-1), "z"}},
		"two bytes":       {"\x1f\x8b", []string{"\x1f\x8b"}},
	} {
		for _, z := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/gzip=%v", name, z), func(t *testing.T) {
				text := c.text
				if z {
					text = zipped(t, text)
				}
				path := put(t, t.TempDir(), "a", text)
				wantLines(t, mustRead(t, textio.ReadFiles{Glob: path}).lines, c.want...)
				wantLines(t, mustRead(t, textio.ReadFiles{Glob: "-", Stdin: strings.NewReader(text)}).lines, c.want...)
				slow := oneByte{strings.NewReader(text)}
				if len(text) < 1000 {
					wantLines(t, mustRead(t, textio.ReadFiles{Glob: "-", Stdin: slow}).lines, c.want...)
				}
			})
		}
	}
}

// oneByte gives a byte with each read.
type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:min(1, len(p))]) }

func TestMaxLine(t *testing.T) {
	dir := t.TempDir()
	for _, end := range []string{"\n", "\r\n", ""} {
		for _, max := range []int{1, 10, 4096, 256<<10 - 1, 256 << 10, 256<<10 + 1, 600 << 10} {
			fits, over := strings.Repeat("x", max), strings.Repeat("x", max+1)
			path := put(t, dir, "a", "a\n"+fits+end)
			wantLines(t, mustRead(t, textio.ReadFiles{Glob: path, MaxLine: max}).lines, "a", fits)
			for _, text := range []string{over, over + strings.Repeat("x", 1<<20)} {
				put(t, dir, "a", "a\n"+text+end)
				_, _, err := read(t.Context(), levada.Embedded{}, textio.ReadFiles{Glob: path, MaxLine: max})
				wantError(t, err, path, "byte 2 ", fmt.Sprintf("more than %d bytes", max), "MaxLine")
				_, _, err = read(t.Context(), levada.Embedded{}, textio.ReadFiles{Glob: "-", MaxLine: max, Stdin: strings.NewReader("a\n" + text)})
				wantError(t, err, "standard input", "byte 2 ")
			}
		}
	}
	path := put(t, dir, "b", strings.Repeat("x", 1<<20)+"\n")
	mustRead(t, textio.ReadFiles{Glob: path})
	put(t, dir, "b", strings.Repeat("x", 1<<20+1)+"\n")
	_, _, err := read(t.Context(), levada.Embedded{}, textio.ReadFiles{Glob: path})
	wantError(t, err, path, "byte 0 ", "1048576")
}

func TestReadProblems(t *testing.T) {
	times := func(string) (event.Time, bool) { return 0, false }
	for text, files := range map[string]textio.ReadFiles{
		"empty pattern":        {},
		`"a," has an empty`:    {Glob: "a,"},
		"syntax error":         {Glob: "a["},
		"MaxLine is -1":        {Glob: "a", MaxLine: -1},
		"OutOfOrder is -1s":    {Glob: "a", Time: times, InOrder: &textio.InOrder{OutOfOrder: -time.Second}},
		"whole milliseconds":   {Glob: "a", Time: times, InOrder: &textio.InOrder{OutOfOrder: 1}},
		"Time is not":          {Glob: "a", InOrder: &textio.InOrder{}},
		"bad textio.ReadFiles": {Glob: ""},
	} {
		_, _, err := read(t.Context(), levada.Embedded{}, files)
		wantError(t, err, text, "step read")
		if !errors.Is(err, textio.ErrBadRead) {
			t.Errorf("%v is no ErrBadRead", err)
		}
	}
}

func TestReadErrors(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, ".hidden", "x")
	put(t, dir, "a", "x")
	if err := os.Symlink("nowhere", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	z := zipped(t, strings.Repeat("a line of some length\n", 10000))
	put(t, dir, "short.gz", z[:len(z)-9])
	put(t, dir, "header.gz", z[:5])
	put(t, dir, "sum.gz", z[:len(z)-8]+"12345678")
	for glob, texts := range map[string][]string{
		"none*":     {"none*", "no file matches"},
		"hidden":    {"no file matches"},
		"sub":       {"sub is a directory", "/*"},
		"s*b":       {"sub is a directory"},
		"*idden":    {"no file matches"},
		"link":      {"link", "link to nothing"},
		"short.gz":  {"short.gz", "ends too early", "byte 220000 of the text"},
		"header.gz": {"header.gz", "ends too early", "byte 0 of the text"},
		"sum.gz":    {"sum.gz", "damaged", "byte 220000 of the text"},
	} {
		for _, inOrder := range []*textio.InOrder{nil, {}} {
			_, _, err := read(t.Context(), levada.Embedded{}, textio.ReadFiles{Glob: filepath.Join(dir, glob), InOrder: inOrder, Time: secondOf})
			wantError(t, err, append(texts, "step read")...)
		}
	}
	_, _, err := read(t.Context(), levada.Embedded{}, textio.ReadFiles{Glob: os.DevNull})
	wantError(t, err, os.DevNull, "not a regular file")
	if g := mustRead(t, textio.ReadFiles{Glob: filepath.Join(dir, ".h*")}); len(g.lines) != 1 {
		t.Errorf("a hidden file that was asked for gave %q", g.lines)
	}
	if os.Getuid() == 0 {
		return // may read all
	}
	if err := os.Chmod(filepath.Join(dir, "a"), 0); err != nil {
		t.Fatal(err)
	}
	_, _, err = read(t.Context(), levada.Embedded{}, textio.ReadFiles{Glob: filepath.Join(dir, "a")})
	wantError(t, err, "permission denied", "chmod")
}

func TestUserCodeInReading(t *testing.T) {
	path := put(t, t.TempDir(), "a", "1\nx\n2\n")
	for text, f := range map[string]func(string) (event.Time, bool){
		"panic: oh":                       func(string) (event.Time, bool) { panic("oh") },
		"its time is 9223372036854776 ms": func(string) (event.Time, bool) { return event.Max + 1, true },
		"the line at byte 2: its time":    func(l string) (event.Time, bool) { return event.Min - 1, l == "x" },
	} {
		for _, inOrder := range []*textio.InOrder{nil, {OutOfOrder: time.Second}} {
			_, _, err := read(t.Context(), levada.Embedded{}, textio.ReadFiles{Glob: path, Time: f, InOrder: inOrder})
			wantError(t, err, "step read", text)
			if !strings.HasPrefix(text, "panic") {
				wantError(t, err, path)
			}
		}
	}
}

func TestManyFiles(t *testing.T) {
	dir := t.TempDir()
	var want []string
	var size int64
	for i := range 20 {
		var b strings.Builder
		for j := range 500 {
			line := fmt.Sprintf("%d file %d", i*1000+j, i)
			want = append(want, line)
			b.WriteString(line + "\n")
		}
		text := b.String()
		if i%2 == 1 {
			text = zipped(t, text)
		}
		size += int64(len(text))
		put(t, dir, fmt.Sprintf("%02d", (i*7)%20), text)
	}
	slices.Sort(want)
	glob := strings.Join([]string{filepath.Join(dir, "0*"), filepath.Join(dir, "*"), filepath.Join(dir, ".", "03")}, ",")
	for _, parallelism := range []int{1, 4} {
		for _, inOrder := range []*textio.InOrder{nil, {}} {
			g, r, err := read(t.Context(), levada.Embedded{Parallelism: parallelism}, textio.ReadFiles{Glob: glob, Time: secondOf, InOrder: inOrder})
			if err != nil {
				t.Fatal(err)
			}
			if parallelism == 1 && inOrder != nil && !slices.IsSorted(g.times) {
				t.Error("files were not read in the order of their first times")
			}
			slices.Sort(g.lines)
			wantLines(t, g.lines, want...)
			if r.Counter("read", "records") != 10000 || r.Counter("read", "bytes") != size {
				t.Errorf("records %d bytes %d, want 10000 and %d", r.Counter("read", "records"), r.Counter("read", "bytes"), size)
			}
		}
	}
}

// TestInOrder counts late elements: those that a window's end has passed. At MaxBundle 1 the watermark is that of the lines
// before.
func TestInOrder(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "b", "30\n?\n41\n29\n60\n39\n51\n")
	put(t, dir, "a", "100\n80\n")
	put(t, dir, "c", "")
	p := levada.New()
	lines := textio.Read(p, "read", textio.ReadFiles{
		Glob: filepath.Join(dir, "*"), Time: secondOf, InOrder: &textio.InOrder{OutOfOrder: 10 * time.Second},
	})
	g := collect(lines, "collect")
	if _, err := p.Run(t.Context(), levada.Embedded{Parallelism: 1, MaxBundle: 1}); err != nil {
		t.Fatal(err)
	}
	wantLines(t, g.lines, "30", "?", "41", "29", "60", "39", "51", "100", "80")
	want := []event.Time{30000, 20000, 41000, 29000, 60000, 39000, 51000, 100000, 80000}
	if !slices.Equal(g.times, want) {
		t.Errorf("times %v, want %v", g.times, want)
	}
}

func TestTimesWithoutPromise(t *testing.T) {
	path := put(t, t.TempDir(), "a", "30\n?\n10\n")
	g := mustRead(t, textio.ReadFiles{Glob: path, Time: secondOf})
	if want := []event.Time{30000, event.Min, 10000}; !slices.Equal(g.times, want) {
		t.Errorf("times %v, want %v", g.times, want)
	}
	g = mustRead(t, textio.ReadFiles{Glob: path})
	if want := []event.Time{event.Min, event.Min, event.Min}; !slices.Equal(g.times, want) {
		t.Errorf("times %v, want %v", g.times, want)
	}
}

func TestInOrderSaturates(t *testing.T) {
	path := put(t, t.TempDir(), "a", "x\n")
	g := mustRead(t, textio.ReadFiles{
		Glob: path, Time: func(string) (event.Time, bool) { return event.Min, true },
		InOrder: &textio.InOrder{OutOfOrder: time.Hour * 24 * 365},
	})
	if g.times[0] != event.Min {
		t.Errorf("time %v", g.times[0])
	}
}

// TestStdinLive: a line that is there comes through although the next is not.
func TestStdinLive(t *testing.T) {
	in, out := io.Pipe()
	p := levada.New()
	seen := make(chan string)
	levada.ForEach(textio.Read(p, "read", textio.ReadFiles{Glob: "-", Stdin: in}), "see", func(*levada.Setup) levada.Process[string] {
		return func(_ *levada.Ctx, v string) error { seen <- v; return nil }
	})
	end := make(chan error)
	go func() {
		_, err := p.Run(t.Context(), levada.Embedded{})
		end <- err
	}()
	for _, line := range []string{"a", "bc", ""} {
		if _, err := io.WriteString(out, line+"\n"); err != nil {
			t.Fatal(err)
		}
		if got := <-seen; got != line {
			t.Errorf("got %q, want %q", got, line)
		}
	}
	out.CloseWithError(errors.New("cable cut"))
	wantError(t, <-end, "standard input", "byte 6", "cable cut", "step read")
}

// TestCancelWhileStdinBlocks: at the beginning, before and inside of a line.
func TestCancelWhileStdinBlocks(t *testing.T) {
	for _, before := range []string{"", "\x1f", "a\n", "a\nb"} {
		in, out := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, _, err := read(ctx, levada.Embedded{}, textio.ReadFiles{Glob: "-", Stdin: in})
			done <- err
		}()
		if _, err := io.WriteString(out, before); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
		began := time.Now()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want context.Canceled", err)
		}
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("after %q it took %v", before, took)
		}
		out.Close()
	}
}

func TestStdinPanics(t *testing.T) {
	_, _, err := read(t.Context(), levada.Embedded{}, textio.ReadFiles{Glob: "-", Stdin: panicking{}})
	wantError(t, err, "panic: broken", "standard input")
}

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("broken") }

func TestStdinThatGivesNothing(t *testing.T) {
	_, _, err := read(t.Context(), levada.Embedded{}, textio.ReadFiles{Glob: "-", Stdin: nothing{}})
	wantError(t, err, io.ErrNoProgress.Error())
}

type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, nil }
