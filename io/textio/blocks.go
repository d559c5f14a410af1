package textio

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
)

const (
	blockBytes = 256 << 10 // are read at a time
	minBlock   = 4 << 10
	packBytes  = 64 << 10 // compressed bytes are read at a time
	maxEmpty   = 100      // reads without data and error
)

// gzipMagic is how a gzip file begins: two bytes of magic and the only method there is.
const gzipMagic = "\x1f\x8b\x08"

// bufferSize returns the size of a buffer for a file, at most limit.
func bufferSize(file int64, limit int) int {
	return int(min(max(file+1, minBlock), int64(limit))) // + 1: so that the end is seen in one read
}

// blocks cuts a text into pieces of whole lines.
type blocks struct {
	name       string
	src        io.Reader // the text
	raw        *counting // what it comes from
	compressed bool
	max        int // bytes of a line

	buf     []byte
	n       int   // of buf that are filled
	scanned int   // of these that have no newline in them
	offset  int64 // in the text, of buf[0]: of what has been given out
	ended   bool
	taken   int64 // raw bytes that takePacked has told of
}

// newBlocks begins to read r; name is for errors.
func newBlocks(name string, r io.Reader, size, maxLine int) (*blocks, error) {
	b := &blocks{name: name, raw: &counting{r: r}, max: maxLine, buf: make([]byte, size)}
	head, err := begins(b.raw, gzipMagic)
	if err != nil {
		return nil, b.broken(err)
	}
	b.src = io.MultiReader(bytes.NewReader(head), b.raw)
	if string(head) == gzipMagic {
		b.compressed = true
		z, err := gzip.NewReader(bufio.NewReaderSize(b.src, packBytes))
		if err != nil {
			return nil, b.broken(err)
		}
		b.src = z
	}
	return b, nil
}

// begins reads as much of r as it takes to see whether it begins with magic, and returns that. It does not wait for more.
func begins(r io.Reader, magic string) ([]byte, error) {
	head := make([]byte, len(magic))
	n, empty := 0, 0
	for n < len(magic) && string(head[:n]) == magic[:n] {
		m, err := r.Read(head[n:])
		if n += m; err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if empty++; empty > maxEmpty {
			return nil, io.ErrNoProgress
		}
	}
	return head[:n], nil
}

// next returns the next lines, each with its end; the text's last may have none. At the end it returns "". If eager is set
// it does not read on when there is a whole line.
func (b *blocks) next(eager bool) (string, error) {
	for empty := 0; !b.ended && empty < maxEmpty; {
		if b.n == len(b.buf) {
			b.grow()
		}
		n, err := b.src.Read(b.buf[b.n:])
		b.n += n
		switch {
		case err == io.EOF:
			b.ended = true
			return b.take(b.n), nil
		case err != nil:
			return "", b.broken(err)
		case n == 0:
			empty++
			continue
		}
		empty = 0
		if !eager && b.n < len(b.buf) {
			continue
		}
		if end := bytes.LastIndexByte(b.buf[b.scanned:b.n], '\n') + 1; end > 0 {
			return b.take(b.scanned + end), nil
		}
		b.scanned = b.n
		if b.n > b.max+1 { // there may be a "\r"
			return "", b.tooLong(b.offset)
		}
	}
	if !b.ended {
		return "", b.broken(io.ErrNoProgress)
	}
	return "", nil
}

// begin returns the lines that lie within the first buffer, or are the whole text. It is called instead of next.
func (b *blocks) begin() (string, error) {
	n, err := io.ReadFull(b.src, b.buf)
	b.n = n
	switch err {
	case nil:
		return b.take(bytes.LastIndexByte(b.buf, '\n') + 1), nil
	case io.EOF:
		return "", nil
	case io.ErrUnexpectedEOF:
		// Of the file, or of what is compressed in it? A second read tells.
		if _, err := b.src.Read(make([]byte, 1)); err != nil && err != io.EOF {
			return "", b.broken(err)
		}
		return b.take(n), nil
	}
	return "", b.broken(err)
}

// take gives out the first end bytes of the buffer. The copy is one for all their lines, and nobody else's.
func (b *blocks) take(end int) string {
	text := string(b.buf[:end])
	b.n = copy(b.buf, b.buf[end:b.n])
	b.scanned = b.n
	b.offset += int64(end)
	return text
}

// grow makes room in a full buffer, which holds a part of one line.
func (b *blocks) grow() {
	size := min(2*len(b.buf), max(b.max+2, len(b.buf)+1))
	bigger := make([]byte, size)
	copy(bigger, b.buf)
	b.buf = bigger
}

// takePacked returns how many raw bytes were read since the last call.
func (b *blocks) takePacked() int {
	n := b.raw.n - b.taken
	b.taken = b.raw.n
	return int(n)
}

// errLongLine is wrapped by the error for a line longer than MaxLine.
var errLongLine = errors.New("line too long")

func (b *blocks) tooLong(offset int64) error {
	return fmt.Errorf("%s: %w: the line at byte %d has more than %d bytes; raise MaxLine, or is this no text?",
		b.name, errLongLine, offset, b.max)
}

// broken makes an error of reading one with a place.
func (b *blocks) broken(err error) error {
	if !b.compressed {
		return fmt.Errorf("%s: cannot read on at byte %d: %w", b.name, b.offset+int64(b.n), bare(err))
	}
	what := "cannot decompress on"
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		what = "the compressed file ends too early"
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum):
		what = "the compressed file is damaged"
	}
	return fmt.Errorf("%s: %s, at byte %d of the text in it: %w; get the file again (gzip -t says whether it is whole)",
		b.name, what, b.offset+int64(b.n), err)
}

// counting counts what is read.
type counting struct {
	r io.Reader
	n int64
}

// Read implements [io.Reader].
func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
