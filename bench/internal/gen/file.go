package gen

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Kind is what a file has in its lines.
type Kind string

// The kinds of inputs. None is no file at all.
const (
	None    Kind = ""
	Log     Kind = "log"      // an access log, up to 30 s out of order
	LateLog Kind = "log-late" // an access log in which one line in ten is 31 to 90 s behind
	Nexmark Kind = "nexmark"  // Nexmark events, in order
)

// write writes n lines of the kind.
func (k Kind) write(w io.Writer, n int64) error {
	switch k {
	case Log:
		return writeLog(w, n, false)
	case LateLog:
		return writeLog(w, n, true)
	case Nexmark:
		return writeNexmark(w, n)
	}
	return fmt.Errorf("no input is of the kind %q", k)
}

// File returns the path of a file in dir with n lines of the kind. It writes the file if it is not there.
func File(dir string, k Kind, n int64) (path string, err error) {
	path = filepath.Join(dir, fmt.Sprintf("%s-%d.txt", k, n))
	if _, err := os.Stat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, ".partial-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name()) // fails when all went well: it has another name then
	w := bufio.NewWriterSize(f, 1<<20)
	if err := errors.Join(k.write(w, n), w.Flush(), f.Close()); err != nil {
		return "", err
	}
	return path, os.Rename(f.Name(), path)
}
