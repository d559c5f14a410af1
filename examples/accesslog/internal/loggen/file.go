package loggen

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// File writes n lines to a new file, as [Write] does, compressed with gzip if the path ends with ".gz": the lines are
// the same forever, what gzip makes of them may change with the version of Go. A directory that the path needs is made.
//
// The file appears under its name when it is complete, and never replaces another: if there is one, at the start or at the
// end, the error wraps [fs.ErrExist]. Until then the lines are in a hidden file next to it, which is gone when File returns.
func File(path string, n int64, progress func(done int64) error) (err error) {
	if _, err := os.Lstat(path); err == nil {
		return exists(path)
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	partial, err := os.CreateTemp(dir, "."+filepath.Base(path)+".partial-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(partial.Name())) }()
	if err := fill(partial, strings.HasSuffix(path, ".gz"), n, progress); err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, partial.Close()))
	}
	if err := errors.Join(partial.Chmod(0o644), partial.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	switch err := os.Link(partial.Name(), path); {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		return exists(path)
	}
	// The file system has no links.
	return copyTo(path, partial.Name())
}

// exists is the error for a file that is there already.
func exists(path string) error {
	return fmt.Errorf("%s: %w: remove it, or give another name; a log is never overwritten", path, fs.ErrExist)
}

// fill writes the lines to w.
func fill(w io.Writer, compress bool, n int64, progress func(done int64) error) error {
	if !compress {
		return Write(w, n, progress)
	}
	out := bufio.NewWriterSize(w, 1<<16)
	z, err := gzip.NewWriterLevel(out, gzip.BestSpeed)
	if err != nil {
		return err
	}
	if err := Write(z, n, progress); err != nil {
		return err
	}
	return errors.Join(z.Close(), out.Flush())
}

// copyTo copies a file to a new one; it removes what it has written if that fails.
func copyTo(path, from string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return exists(path)
	}
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return errors.Join(err, out.Close(), os.Remove(path))
	}
	if err := out.Close(); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
