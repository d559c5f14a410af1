package textio

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/levadaflow/levada/internal/exec"
)

// How much of a big file one task reads at a time: the more, the more windows are open at once, of what is behind and what is
// ahead.
const (
	maxPiece = 4 << 20
	minPiece = 1 << 20
	pieces   = 32 // of a file, at least, if they are not too small
)

// piece is a part of a file that is not compressed: the lines that begin in [from, to).
type piece struct{ from, to, size int64 } // size is the file's

// cutPiece takes a piece off the front of a big file.
func cutPiece(s exec.Split) (part, rest exec.Split, ok bool) {
	p, ok := s.Value.(piece)
	size := min(max(p.size/pieces, minPiece), maxPiece)
	if !ok || p.to-p.from <= size {
		return s, s, false
	}
	part, rest = s, s
	part.Value = piece{p.from, p.from + size, p.size}
	rest.Value = piece{p.from + size, p.to, p.size}
	return part, rest, true
}

// pieceBlocks begins to read a piece. The last one of a file goes to the file's end, also if that has grown.
func (r *reader) pieceBlocks(name string, f *os.File, size int64, p piece) (*blocks, error) {
	from, err := r.lineStart(name, f, p.from)
	if err != nil {
		return nil, err
	}
	to := size
	if p.to < size {
		if to, err = r.lineStart(name, f, p.to); err != nil {
			return nil, err
		}
	}
	length := max(to-from, 0)
	b := &blocks{name: name, max: r.MaxLine, offset: from, buf: make([]byte, bufferSize(length, blockBytes))}
	b.raw = &counting{r: io.NewSectionReader(f, from, length)}
	b.src = b.raw
	return b, nil
}

// lineStart returns where the first line begins that does not begin before off: after the first newline at or after off-1. It is
// the file's end if there is none.
func (r *reader) lineStart(name string, f *os.File, off int64) (int64, error) {
	if off == 0 {
		return 0, nil
	}
	buf := make([]byte, minBlock)
	for at := off - 1; ; {
		n, err := f.ReadAt(buf, at)
		if i := bytes.IndexByte(buf[:n], '\n'); i >= 0 {
			return at + int64(i) + 1, nil
		}
		at += int64(n)
		switch {
		case err == io.EOF:
			return at, nil
		case err != nil:
			return 0, fmt.Errorf("%s: cannot read on at byte %d: %w", name, at, bare(err))
		case at-off > int64(r.MaxLine)+1:
			return 0, (&blocks{name: name, max: r.MaxLine}).tooLong(off)
		}
	}
}
