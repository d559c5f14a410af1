package textio

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/internal/exec"
)

// ErrBadWrite is wrapped by what is wrong with a [WriteFiles], found while the pipeline is built.
var ErrBadWrite = errors.New("bad textio.WriteFiles")

const (
	maxShards  = 99999     // what five digits can number
	writeBytes = 64 << 10  // are collected by a task before they are written
	keepBytes  = 256 << 10 // a buffer that is larger, for a very long line, is not kept
)

// WriteFiles says where to write. Prefix is required.
type WriteFiles struct {
	// Prefix is the beginning of the files' paths: "out/part" gives out/part-00000-of-00001. A folder that it needs is made.
	// Two steps of a pipeline must not have the same prefix and suffix.
	Prefix string
	// Suffix is the end of the files' names, such as ".txt"; it may be empty.
	Suffix string
	// Shards is the number of files, at most 99,999; 0 is 1. All are written, also those that are empty, and all are open at
	// the same time.
	Shards int
	// FS is where the files are; nil is the disk.
	FS FS
}

// Write writes the elements, a line each: "\n" is added. An element that has a "\n" is read as several lines later.
//
// Which line is in which shard and where is not defined, but a line is in one piece. The lines are written to hidden files
// next to the results (".part-00000-of-00001.RANDOM.partial"), which get their names when the whole run has gone well: all
// are durable first, then they are renamed, and then the files of an earlier set of the same prefix and suffix, with another
// number of shards, are removed. So nobody sees a part of a result. A run that failed leaves an earlier set as it was; if
// the machine stops during the renaming, some of the files may be missing and others old, but none is incomplete. Hidden
// files that a crash has left behind may be removed; of those that end in ".old", one may be a file that is missing.
//
// The step counts the lines as "lines". It holds a buffer of 64 KiB for each task.
//
// A pipeline that has a Write must not be run twice at the same time.
func Write(in levada.PCollection[string], name string, files WriteFiles) {
	WriteAppend(in, name, files, func(_ *levada.Ctx, dst []byte, v string) []byte { return append(dst, v...) })
}

// WriteAppend is [Write] with a function that makes the line of an element: it appends to dst, which it must not keep, and
// returns the extended buffer; "\n" is added. All tasks use the function at once. Like any function with a Ctx it is called
// for each of the element's windows.
func WriteAppend[T any](in levada.PCollection[T], name string, files WriteFiles,
	line func(c *levada.Ctx, dst []byte, v T) []byte) {
	set := newSet(files)
	if p := in.Pipeline(); p != nil {
		for _, err := range append(files.problems(), set.clash(p)) {
			if err != nil {
				p.Problem(name, fmt.Errorf("%w: %w", ErrBadWrite, err))
			}
		}
	}
	levada.SinkOf(in, name, set, func(s *levada.Setup) levada.Process[T] {
		w := &lineBuffer{set: set, count: s.Counter("lines")}
		s.OnClose(w.flush)
		return func(c *levada.Ctx, v T) error {
			if w.buf == nil {
				w.buf = make([]byte, 0, writeBytes+writeBytes/8) // a line more than is written at once
			}
			before := len(w.buf)
			buf := line(c, w.buf, v)
			if len(buf) < before {
				return errNotAppended
			}
			w.buf = append(buf, '\n')
			w.lines++
			if len(w.buf) >= writeBytes {
				return w.flush()
			}
			return nil
		}
	})
}

// errNotAppended says that a user's function did not do what it should.
var errNotAppended = errors.New("the line function returned less than it was given: it must append to dst and return it")

// problems returns what is wrong.
func (f WriteFiles) problems() []error {
	var all []error
	switch base := filepath.Base(f.Prefix); {
	case f.Prefix == "":
		all = append(all, errors.New("the prefix is empty: give the beginning of the files' paths, such as out/part"))
	case os.IsPathSeparator(f.Prefix[len(f.Prefix)-1]), base == ".", base == "..":
		all = append(all, fmt.Errorf("the prefix %q is a folder: add the beginning of the files' names, such as %s",
			f.Prefix, filepath.Join(f.Prefix, "part")))
	}
	if strings.ContainsFunc(f.Suffix, func(c rune) bool { return c < 0x80 && os.IsPathSeparator(uint8(c)) }) {
		all = append(all, fmt.Errorf("the suffix %q has a path separator: put the folder into the prefix", f.Suffix))
	}
	if f.Shards < 0 || f.Shards > maxShards {
		all = append(all, fmt.Errorf("the number of shards is %d: it must be between 1 and %d, and 0 is 1", f.Shards, maxShards))
	}
	return all
}

// clash returns an error if a step of p writes the same files. It sees the steps as long as the pipeline has no problems.
func (s *fileSet) clash(p *levada.Pipeline) error {
	g, err := p.Build()
	if err != nil {
		return nil
	}
	for _, step := range g.Steps {
		if op, ok := step.Op.(*exec.ChainOp); ok {
			if other, ok := op.Commit.(*fileSet); ok && other.place() == s.place() {
				return fmt.Errorf("step %s writes the same files, %s: give one of them another prefix", step.Name, s.pattern())
			}
		}
	}
	return nil
}

// place is the same for sets of the same files.
func (s *fileSet) place() string {
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		dir = s.dir
	}
	return filepath.Join(dir, s.base) + "\x00" + s.suffix
}

// lineBuffer collects the lines of one task.
type lineBuffer struct {
	set   *fileSet
	count *levada.Counter
	buf   []byte
	lines int64
}

// flush hands the lines to the files.
func (w *lineBuffer) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	err := w.set.write(w.buf)
	w.count.Inc(w.lines)
	w.buf, w.lines = w.buf[:0], 0
	if cap(w.buf) > keepBytes {
		w.buf = nil
	}
	return err
}
