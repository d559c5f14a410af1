package textio

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
)

// fileSet is the result of one step, an [exec.Committer]. All tasks write to it.
type fileSet struct {
	dir, base, suffix string
	fs                FS
	count             int
	shards            []*shard
	next              atomic.Uint64 // the shard of the next write, before the modulo
}

// shard is one file.
type shard struct {
	final   string // its path at the end
	partial string // its path until then
	old     string // where the file that had the name before is, "" if nowhere

	mu     sync.Mutex
	file   File // nil if it is not open
	exists bool // under the name partial
	placed bool // under the name final
}

func newSet(f WriteFiles) *fileSet {
	s := &fileSet{
		dir: filepath.Dir(f.Prefix), base: filepath.Base(f.Prefix), suffix: f.Suffix, fs: f.FS, count: max(f.Shards, 1),
	}
	if s.fs == nil {
		s.fs = disk{}
	}
	return s
}

// name returns a file's name without the suffix.
func (s *fileSet) name(i int) string { return fmt.Sprintf("%s-%05d-of-%05d", s.base, i, s.count) }

func (s *fileSet) pattern() string { return filepath.Join(s.dir, s.base+"-*-of-*"+s.suffix) }

// errEnded is the error of a write after the end; only a task that was left behind can meet it.
var errEnded = errors.New("the run has ended")

// Begin implements [exec.Committer]: it makes the files.
func (s *fileSet) Begin(ctx context.Context, _ int) error {
	s.shards = nil
	if err := s.fs.MkdirAll(s.dir); err != nil {
		return because("make the folder", s.dir, err)
	}
	id := rand.Text()[:10]
	for i := range s.count {
		name := s.name(i)
		sh := &shard{final: filepath.Join(s.dir, name+s.suffix), partial: filepath.Join(s.dir, "."+name+"."+id+".partial")}
		s.shards = append(s.shards, sh)
		err := s.begin(sh)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			s.Abort()
			return err
		}
	}
	return nil
}

func (s *fileSet) begin(sh *shard) error {
	if info, err := s.fs.Stat(sh.final); err == nil && !info.Mode().IsRegular() {
		return because("write", sh.final, fs.ErrExist)
	}
	f, err := s.fs.Create(sh.partial)
	if err != nil {
		return because("create", sh.partial, err)
	}
	sh.file, sh.exists = f, true
	return nil
}

// write writes whole lines to the shard whose turn it is.
func (s *fileSet) write(lines []byte) error {
	sh := s.shards[(s.next.Add(1)-1)%uint64(len(s.shards))]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.file == nil {
		return because("write", sh.partial, errEnded)
	}
	if _, err := sh.file.Write(lines); err != nil {
		return because("write", sh.partial, err)
	}
	return nil
}

// Prepare implements [exec.Committer]: what was written becomes durable.
func (s *fileSet) Prepare() error {
	for _, sh := range s.shards {
		if err := sh.finish(); err != nil {
			return err
		}
	}
	return nil
}

func (sh *shard) finish() error {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	f := sh.file
	sh.file = nil
	err := f.Sync()
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return because("finish", sh.partial, err)
	}
	return nil
}

// Commit implements [exec.Committer]: the files get their names, those of the set before go. If a file cannot be renamed,
// what was there before is there again.
func (s *fileSet) Commit() error {
	others, err := s.others()
	if err != nil {
		return because("look for earlier results in", s.dir, err)
	}
	for i, sh := range s.shards {
		if err := s.publish(sh, i < len(s.shards)-1); err != nil {
			return errors.Join(because("rename "+sh.partial+" to", sh.final, err), s.undo())
		}
	}
	if err := s.fs.SyncDir(s.dir); err != nil {
		return because("make the results durable, which are complete and have their names, in the folder", s.dir, err)
	}
	for _, sh := range s.shards {
		if sh.old != "" {
			others = append(others, sh.old)
		}
	}
	for _, path := range others {
		if err := s.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return because("remove the earlier result (the new ones are complete)", path, err)
		}
	}
	return nil
}

// publish gives one file its name. If keep is set, a file that has it is put aside; the last one of a set need not be: when
// its renaming fails it is still there, and when it does not, all is done. So a set of one file is replaced in one step.
func (s *fileSet) publish(sh *shard, keep bool) error {
	if keep {
		aside := strings.TrimSuffix(sh.partial, "partial") + "old"
		switch err := s.fs.Rename(sh.final, aside); {
		case err == nil:
			sh.old = aside
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	if err := s.fs.Rename(sh.partial, sh.final); err != nil {
		return err
	}
	sh.exists, sh.placed = false, true
	return nil
}

// undo takes back the names that were given.
func (s *fileSet) undo() error {
	var all []error
	for _, sh := range s.shards {
		if sh.old != "" {
			if err := s.fs.Rename(sh.old, sh.final); err != nil {
				all = append(all, because("rename "+sh.old+" back to", sh.final, err))
				continue
			}
			sh.old = ""
		} else if sh.placed {
			if err := s.fs.Remove(sh.final); err != nil {
				all = append(all, because("remove", sh.final, err))
			}
		}
		sh.placed = false
	}
	return errors.Join(all...)
}

// others returns the files of earlier sets with another number of shards.
func (s *fileSet) others() ([]string, error) {
	entries, err := s.fs.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, e := range entries {
		if count, ok := s.countIn(e.Name()); ok && count != fmt.Sprintf("%05d", s.count) && e.Type().IsRegular() {
			all = append(all, filepath.Join(s.dir, e.Name()))
		}
	}
	return all, nil
}

// countIn returns the five digits of the number of shards in a name of the form base-ddddd-of-ddddd+suffix.
func (s *fileSet) countIn(name string) (string, bool) {
	const form = "-ddddd-of-ddddd"
	rest, ok := strings.CutPrefix(name, s.base)
	if !ok {
		return "", false
	}
	rest, ok = strings.CutSuffix(rest, s.suffix)
	if !ok || len(rest) != len(form) {
		return "", false
	}
	for i := range form {
		if digit := rest[i] >= '0' && rest[i] <= '9'; form[i] == 'd' && !digit || form[i] != 'd' && rest[i] != form[i] {
			return "", false
		}
	}
	return rest[len(form)-5:], true
}

// Abort implements [exec.Committer]: what has no final name goes.
func (s *fileSet) Abort() {
	for _, sh := range s.shards {
		sh.mu.Lock()
		if sh.file != nil {
			_ = sh.file.Close()
			sh.file = nil
		}
		if sh.exists {
			_ = s.fs.Remove(sh.partial) // nothing depends on it
			sh.exists = false
		}
		sh.mu.Unlock()
	}
}
