package textio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/exec"
)

// ErrBadRead is wrapped by what is wrong with a [ReadFiles], found while the pipeline is built.
var ErrBadRead = errors.New("bad textio.ReadFiles")

const (
	defaultMaxLine = 1 << 20

	stdinPath = "-"
	stdinName = "standard input"

	// How far into a file its first time is looked for.
	peekBytes = 64 << 10
	peekLines = 1000
)

// ReadFiles says what to read. Glob is required.
type ReadFiles struct {
	// Glob is a pattern of [filepath.Glob], or several, separated by commas; "-" is standard input. A file that several match
	// is read once. Names that begin with a dot are left out unless the pattern says the dot. A pattern that nothing matches
	// is an error of the run, and so is a match that is no regular file. (A comma in a name is matched by "?".)
	Glob string
	// Time returns the event time of a line, within [event.Min, event.Max]; another is an error of the run. For false the
	// line passes at the reader's present watermark. If Time is nil, all lines have event.Min. All tasks use it at once, and
	// with InOrder it is called twice for lines at the beginning of a file.
	Time func(line string) (event.Time, bool)
	// InOrder is the promise that lets the watermark move while files are read. If it is nil the watermark stays at event.Min
	// until all have been read: then no line is late, and no window that needs the watermark comes out before.
	InOrder *InOrder
	// MaxLine is how many bytes a line may have, without its end; 0 is 1 MiB. A longer line is an error of the run that names
	// the file and the offset.
	MaxLine int
	// Stdin is what is read for "-"; nil is os.Stdin. It is read in a goroutine of its own, which a run that is cut short
	// leaves behind in a Read that does not return; what that Read gets is lost.
	Stdin io.Reader
}

// InOrder promises that every line's time is at most OutOfOrder before the largest time of the lines before it in the same
// file. A line that breaks the promise may be late; it is still emitted at its own time. The watermark of a file is the
// largest time so far, less OutOfOrder; before the first line, the first time in the file (looked for in its first 1,000
// lines and 64 KiB), less OutOfOrder. Files are opened in the order of their first times; the watermark of all is the least
// of those that are not finished. A file in whose beginning no line has a time, and standard input, hold the watermark at
// event.Min until their first time, and come first.
type InOrder struct {
	// OutOfOrder is in whole milliseconds and not negative; 0 says that times never go back.
	OutOfOrder time.Duration
}

// Read emits the lines of files, each without its end, "\n" or "\r\n". A last line without an end counts; empty lines are
// lines. A file that begins as gzip files do is decompressed, whatever its name, and so is standard input. Files are read
// in parallel: a big file that is not compressed by several tasks, in pieces from its front.
//
// A line shares its memory with those around it, up to 256 KiB or MaxLine: clone what you keep for long. The bytes of the
// run's progress are those on the disk: of a compressed file, compressed ones.
func Read(p *levada.Pipeline, name string, files ReadFiles) levada.PCollection[string] {
	for _, err := range files.problems() {
		p.Problem(name, fmt.Errorf("%w: %w", ErrBadRead, err))
	}
	if files.MaxLine == 0 {
		files.MaxLine = defaultMaxLine
	}
	r := &reader{ReadFiles: files}
	if files.InOrder != nil {
		r.behind = event.FloorMillis(files.InOrder.OutOfOrder)
	}
	return levada.RootOf[string](p, name, exec.Source[string]{List: r.list, Cut: cutPiece, Read: r.read}.Op(), false)
}

// problems returns what is wrong.
func (f ReadFiles) problems() []error {
	var all []error
	for pattern := range strings.SplitSeq(f.Glob, ",") {
		if pattern == "" {
			all = append(all, fmt.Errorf("the glob %q has an empty pattern: give a path, a pattern, or - for standard input", f.Glob))
		} else if _, err := filepath.Match(pattern, ""); err != nil {
			all = append(all, fmt.Errorf("the pattern %q: %w; a backslash takes the meaning from [, * and ?", pattern, err))
		}
	}
	if f.MaxLine < 0 {
		all = append(all, fmt.Errorf("MaxLine is %d: it must not be negative, and 0 is 1 MiB", f.MaxLine))
	}
	if f.InOrder != nil {
		if d := f.InOrder.OutOfOrder; d < 0 || d%time.Millisecond != 0 {
			all = append(all, fmt.Errorf("OutOfOrder is %v: it must not be negative, and whole milliseconds", d))
		}
		if f.Time == nil {
			all = append(all, errors.New("InOrder is set and Time is not: lines have no times to be in order by"))
		}
	}
	return all
}

// reader is a source of lines. It is shared by all tasks and does not change.
type reader struct {
	ReadFiles
	behind int64 // OutOfOrder in milliseconds
}

// list finds the files.
func (r *reader) list(ctx context.Context) ([]exec.Split, error) {
	paths, err := expand(r.Glob)
	if err != nil {
		return nil, err
	}
	splits := make([]exec.Split, 0, len(paths))
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s, err := r.split(path)
		if err != nil {
			return nil, err
		}
		splits = append(splits, s)
	}
	slices.SortStableFunc(splits, func(a, b exec.Split) int { return cmp.Compare(a.Mark, b.Mark) })
	return splits, nil
}

// expand returns the paths that a list of patterns stands for, sorted, each once.
func expand(globs string) ([]string, error) {
	var all []string
	for pattern := range strings.SplitSeq(globs, ",") {
		if pattern == stdinPath {
			all = append(all, pattern)
			continue
		}
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w", pattern, err)
		}
		if !strings.HasPrefix(filepath.Base(pattern), ".") {
			paths = slices.DeleteFunc(paths, func(p string) bool { return strings.HasPrefix(filepath.Base(p), ".") })
		}
		if len(paths) == 0 {
			return nil, fmt.Errorf("no file matches %q: %w; check the path, and that its folder can be read", pattern, fs.ErrNotExist)
		}
		for _, p := range paths {
			all = append(all, filepath.Clean(p))
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// split looks at one file.
func (r *reader) split(path string) (exec.Split, error) {
	if path == stdinPath {
		return exec.Split{Name: stdinName, Mark: event.Min, Value: path}, nil
	}
	f, info, err := open(path)
	if err != nil {
		return exec.Split{}, err
	}
	defer f.Close()
	s := exec.Split{Name: path, Mark: event.Min, Size: info.Size()}
	magic, err := begins(io.NewSectionReader(f, 0, info.Size()), gzipMagic)
	if err != nil {
		return s, fmt.Errorf("cannot read %s: %w", path, bare(err))
	}
	if string(magic) != gzipMagic {
		s.Value = piece{0, info.Size(), info.Size()}
	}
	if r.InOrder == nil {
		return s, nil
	}
	first, ok, err := r.firstTime(path, f, info.Size())
	if ok {
		s.Mark = first.Plus(-r.behind)
	}
	return s, err
}

// open opens a regular file.
func open(path string) (*os.File, fs.FileInfo, error) {
	info, err := os.Stat(path) // before it is opened: that waits for a pipe's other end
	switch {
	case err != nil:
	case info.IsDir():
		pattern := filepath.Join(path, "*")
		return nil, nil, fmt.Errorf("%s is a directory: give a pattern for the files in it, such as %s", path, pattern)
	case !info.Mode().IsRegular():
		return nil, nil, fmt.Errorf("%s is not a regular file: read it as standard input, with the path - and < %s", path, path)
	default:
		var f *os.File
		if f, err = os.Open(path); err == nil {
			return f, info, nil
		}
	}
	switch err = bare(err); {
	case errors.Is(err, fs.ErrPermission):
		err = fmt.Errorf("%w; let this user read it (chmod), or leave it out of the pattern", err)
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("%w; it was there when the pattern was looked up, or it is a link to nothing", err)
	}
	return nil, nil, fmt.Errorf("cannot read %s: %w", path, err)
}

// firstTime looks for the first line with a time in the beginning of a file.
func (r *reader) firstTime(path string, f io.Reader, size int64) (t event.Time, ok bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: panic: %v\n%s", path, p, debug.Stack())
		}
	}()
	b, err := newBlocks(path, f, bufferSize(size, peekBytes), r.MaxLine)
	if err != nil {
		return 0, false, err
	}
	text, err := b.begin()
	if err != nil {
		return 0, false, err
	}
	for range peekLines {
		if text == "" {
			break
		}
		var line string
		line, text = cutLine(text)
		if t, ok := r.Time(line); ok {
			return t, true, nil
		}
	}
	return 0, false, nil
}

// read emits the lines of one file.
func (r *reader) read(out *exec.Reading[string], s exec.Split) error {
	e := emitter{reader: r, out: out, latest: event.Min}
	if s.Value == stdinPath {
		return e.waiting(s.Name)
	}
	f, info, err := open(s.Name)
	if err != nil {
		return err
	}
	defer f.Close()
	var b *blocks
	if p, ok := s.Value.(piece); ok {
		b, err = r.pieceBlocks(s.Name, f, info.Size(), p)
	} else {
		b, err = newBlocks(s.Name, f, bufferSize(info.Size(), blockBytes), r.MaxLine)
	}
	if err != nil {
		return err
	}
	for {
		text, err := b.next(false)
		if err != nil || text == "" {
			return err
		}
		if ok, err := e.emit(b, text); !ok {
			return err
		}
	}
}

// emitter emits the lines of one file.
type emitter struct {
	*reader
	out    *exec.Reading[string]
	latest event.Time // the largest time so far
}

// waiting emits the lines of standard input.
func (e *emitter) waiting(name string) error {
	stdin := e.Stdin
	if stdin == nil {
		stdin = os.Stdin
	}
	in := newPatient(stdin)
	defer in.release()
	var b *blocks
	for {
		var text string
		err := e.out.Block(func(ctx context.Context) (err error) {
			in.ctx = ctx
			if b == nil {
				if b, err = newBlocks(name, in, blockBytes, e.MaxLine); err != nil {
					return err
				}
			}
			text, err = b.next(true)
			return err
		})
		if err != nil || text == "" {
			return err
		}
		if ok, err := e.emit(b, text); !ok {
			return err
		}
	}
}

// emit emits the lines of text, which b has just given out. It reports whether to go on.
func (e *emitter) emit(b *blocks, text string) (bool, error) {
	end := b.offset
	packed := b.takePacked()
	for text != "" {
		start := end - int64(len(text))
		before := len(text)
		var line string
		line, text = cutLine(text)
		if len(line) > e.MaxLine {
			return false, b.tooLong(start)
		}
		size := before - len(text)
		if b.compressed {
			size, packed = packed, 0
		}
		t, err := e.stamp(line)
		if err != nil {
			return false, fmt.Errorf("%s: the line at byte %d: %w", b.name, start, err)
		}
		if !e.out.Emit(line, t, size) {
			return false, nil
		}
	}
	return true, nil
}

// stamp returns the time at which to emit a line and moves the watermark. The new watermark shows at the bundle's end, when
// the line has been emitted.
func (e *emitter) stamp(line string) (event.Time, error) {
	if e.Time == nil {
		return event.Min, nil
	}
	t, ok := e.Time(line)
	if !ok {
		return e.out.Watermark(), nil
	}
	if err := t.Check(); err != nil {
		return 0, fmt.Errorf("its time is %d ms: %w", t.Millis(), err)
	}
	if e.InOrder != nil && t > e.latest {
		e.latest = t
		e.out.Advance(t.Plus(-e.behind))
	}
	return t, nil
}

// cutLine cuts the first line off a text that is not empty.
func cutLine(text string) (line, rest string) {
	i := strings.IndexByte(text, '\n')
	if i < 0 {
		return text, ""
	}
	line, rest = text[:i], text[i+1:]
	if i > 0 && line[i-1] == '\r' {
		line = line[:i-1]
	}
	return line, rest
}
