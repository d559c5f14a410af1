package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/source"
)

// visit is a line.
type visit struct {
	Time time.Time `json:"time"`
	User string    `json:"user"`
}

// folder is a folder of files with a JSON object in each line, to which lines are appended and files are added. It is an unbounded source. A file
// belongs to one of parts; those of a part are read in the order of their names, the last one is read again and again. So names must grow, as
// those with a date do.
type folder struct {
	dir         string
	part, parts int           // parts 0: all, not yet divided up
	disorder    time.Duration // how far lines may be out of order
}

// position is how far a part has been read: behind a line of a file.
type position struct {
	File   string
	Offset int64
}

// Split implements [source.Unbounded].
func (f folder) Split(_ context.Context, desired int) ([]source.Unbounded[visit, position], error) {
	if f.parts > 0 {
		return []source.Unbounded[visit, position]{f}, nil
	}
	all := make([]source.Unbounded[visit, position], desired)
	for i := range all {
		all[i] = folder{f.dir, i, desired, f.disorder}
	}
	return all, nil
}

// Open implements [source.Unbounded].
func (f folder) Open(_ context.Context, at position, _ bool) (source.UnboundedReader[visit, position], error) {
	return &reader{folder: f, at: at, last: event.Min}, nil
}

// next returns the first file of the part behind one, "" if there is none.
func (f folder) next(after string) (string, error) {
	all, err := os.ReadDir(f.dir) // sorted
	if err != nil {
		return "", err
	}
	for _, e := range all {
		h := fnv.New32a()
		io.WriteString(h, e.Name())
		if e.Name() > after && e.Type().IsRegular() && int(h.Sum32()%uint32(max(f.parts, 1))) == f.part {
			return e.Name(), nil
		}
	}
	return "", nil
}

// reader reads a part.
type reader struct {
	folder
	at    position
	file  *os.File
	lines *bufio.Reader
	last  event.Time // the greatest time so far
}

// Next implements [source.UnboundedReader].
func (r *reader) Next(context.Context) (rec source.Record[visit], ok bool, err error) {
	for {
		line, err := r.line()
		if err != nil {
			return rec, false, err
		}
		if line == nil {
			later, err := r.next(r.at.File)
			if err != nil || later == "" {
				return rec, false, err
			}
			if err := r.Close(); err != nil {
				return rec, false, err
			}
			r.at = position{File: later}
			continue
		}
		var v visit
		where := r.at
		r.at.Offset += int64(len(line))
		if err := json.Unmarshal(line, &v); err != nil {
			return rec, false, fmt.Errorf("%s at byte %d: %w", filepath.Join(r.dir, where.File), where.Offset, err)
		}
		at, err := event.FromStamp(v.Time)
		if err != nil {
			return rec, false, fmt.Errorf("%s at byte %d: the field time: %w", filepath.Join(r.dir, where.File), where.Offset, err)
		}
		r.last = max(r.last, at)
		return source.Record[visit]{Value: v, Time: at}, true, nil
	}
}

// line returns the next whole line of the file, nil if there is none for now.
func (r *reader) line() ([]byte, error) {
	if r.at.File == "" {
		return nil, nil
	}
	if r.file == nil {
		f, err := os.Open(filepath.Join(r.dir, r.at.File))
		if err != nil {
			return nil, err
		}
		if _, err := f.Seek(r.at.Offset, io.SeekStart); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		r.file, r.lines = f, bufio.NewReader(f)
	}
	line, err := r.lines.ReadBytes('\n')
	if errors.Is(err, io.EOF) { // half a line will be read again
		if _, err := r.file.Seek(r.at.Offset, io.SeekStart); err != nil {
			return nil, err
		}
		r.lines.Reset(r.file)
		return nil, nil
	}
	if len(bytes.TrimSpace(line)) == 0 && err == nil {
		r.at.Offset += int64(len(line))
		return r.line()
	}
	return line, err
}

// Mark implements [source.UnboundedReader].
func (r *reader) Mark() position { return r.at }

// Watermark implements [source.UnboundedReader].
func (r *reader) Watermark() event.Time {
	return max(r.last.AddMillis(-r.disorder.Milliseconds()), event.Min)
}

// Finalize implements [source.UnboundedReader]: files need not be told.
func (r *reader) Finalize(position) error { return nil }

// Close implements [source.UnboundedReader].
func (r *reader) Close() error {
	if r.file == nil {
		return nil
	}
	f := r.file
	r.file, r.lines = nil, nil
	if err := f.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return err
	}
	return nil
}
