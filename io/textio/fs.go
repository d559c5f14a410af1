package textio

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"syscall"
)

// FS is where [Write] puts its files. It is a seam for tests: the zero value of a [WriteFiles] uses the disk. Its methods
// may be called by several goroutines at once. Names are paths as package os takes them.
type FS interface {
	// MkdirAll makes a directory, with those above it, unless it is there.
	MkdirAll(dir string) error
	// Create makes a new file; one that is there is an error.
	Create(name string) (File, error)
	// Stat describes a file; an error that wraps fs.ErrNotExist says that there is none.
	Stat(name string) (fs.FileInfo, error)
	// ReadDir lists a directory.
	ReadDir(dir string) ([]fs.DirEntry, error)
	// Rename gives a file another name in the same directory, in the place of one that has it.
	Rename(from, to string) error
	// Remove removes a file.
	Remove(name string) error
	// SyncDir makes the names in a directory durable.
	SyncDir(dir string) error
}

// File is a file that is written to. It belongs to one goroutine at a time.
type File interface {
	io.WriteCloser
	// Sync makes what was written durable.
	Sync() error
}

// disk is the FS of the machine.
type disk struct{}

func (disk) MkdirAll(dir string) error                 { return os.MkdirAll(dir, 0o777) }
func (disk) Stat(name string) (fs.FileInfo, error)     { return os.Stat(name) }
func (disk) ReadDir(dir string) ([]fs.DirEntry, error) { return os.ReadDir(dir) }
func (disk) Rename(from, to string) error              { return os.Rename(from, to) }
func (disk) Remove(name string) error                  { return os.Remove(name) }

func (disk) Create(name string) (File, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err // not a nil *os.File in an interface
	}
	return f, nil
}

func (disk) SyncDir(dir string) error {
	if runtime.GOOS == "windows" { // it has no such thing
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err // some file systems cannot
	}
	return nil
}

// because says what was to be done with which file, and what one can do about it.
func because(what, name string, err error) error {
	remedy := ""
	switch {
	case errors.Is(err, syscall.ENOSPC):
		remedy = "; the disk is full: free space there, or write elsewhere"
	case errors.Is(err, fs.ErrPermission):
		remedy = "; this user must not write there: change the folder's permissions, or write elsewhere"
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist):
		remedy = "; something else has that name: remove it, or write elsewhere"
	case errors.Is(err, syscall.EMFILE):
		remedy = "; too many files are open: write fewer shards, or raise the limit (ulimit -n)"
	}
	return fmt.Errorf("cannot %s %s: %w%s", what, name, bare(err), remedy)
}

// bare returns what is the matter, without the call and the path that package os puts before it.
func bare(err error) error {
	switch e := err.(type) {
	case *fs.PathError:
		return e.Err
	case *os.LinkError:
		return e.Err
	}
	return err
}
