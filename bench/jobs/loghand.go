package jobs

import (
	"bufio"
	"bytes"
	"errors"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/levadaflow/levada/event"
)

const minute = 60_000 // milliseconds

// sums are a key's count and bytes.
type sums struct{ count, bytes int64 }

// days knows the day that it has seen last.
type days struct {
	date [10]byte
	day  int64
}

// millis returns the time at the beginning of line, "2026-03-01T00:00:00.123Z". Its form is not checked.
func (d *days) millis(line []byte) int64 {
	if string(line[:10]) != string(d.date[:]) {
		d.read(line)
	}
	_ = line[22]
	ms := int64(line[20]-'0')*100 + digits(line[21:23])
	return d.day + digits(line[11:13])*3600_000 + digits(line[14:16])*60_000 + digits(line[17:19])*1000 + ms
}

func (d *days) read(line []byte) {
	copy(d.date[:], line)
	t, _ := time.Parse(time.DateOnly, string(d.date[:]))
	d.day = t.UnixMilli()
}

// digits returns the number that two digits are.
func digits(b []byte) int64 { return int64(b[0]-'0')*10 + int64(b[1]-'0') }

// logFiles are a log and a result. A job by hand reads with next and writes with out.
type logFiles struct {
	in, file *os.File
	lines    *bufio.Scanner
	out      *bufio.Writer
	days     days
	by       field
	buf      []byte
}

func openLog(a Args, by field) (*logFiles, error) {
	in, err := os.Open(a.Input)
	if err != nil {
		return nil, err
	}
	file, err := os.Create(a.part())
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	f := &logFiles{in: in, file: file, lines: bufio.NewScanner(in), out: bufio.NewWriterSize(file, 1<<20), by: by}
	f.lines.Buffer(make([]byte, 64<<10), 1<<20)
	return f, nil
}

// entry is a line of a log. The key is valid until the next is read.
type entry struct {
	at, bytes int64
	key       []byte
}

// next reads a line; ok is false at the end, and after an error.
func (f *logFiles) next() (e entry, ok bool) {
	if !f.lines.Scan() {
		return entry{}, false
	}
	line := f.lines.Bytes()
	at := f.days.millis(line)
	rest := line[25:]
	i := bytes.IndexByte(rest, ' ')
	key := rest[:i]
	rest = rest[i+1:]
	i = bytes.IndexByte(rest, ' ')
	if f.by == byStatus {
		key = rest[:i]
	}
	var n int64
	for _, c := range rest[i+1:] {
		n = n*10 + int64(c-'0')
	}
	return entry{at, n, key}, true
}

// write writes "TIME KEY COUNT BYTES"; prefix is the time. What goes wrong is kept by out until close.
func (f *logFiles) write(prefix []byte, key string, s sums) {
	line := append(append(append(f.buf[:0], prefix...), ' '), key...)
	line = strconv.AppendInt(append(line, ' '), s.count, 10)
	line = strconv.AppendInt(append(line, ' '), s.bytes, 10)
	f.buf = append(line, '\n')
	_, _ = f.out.Write(f.buf)
}

func (f *logFiles) close() error {
	return errors.Join(f.lines.Err(), f.out.Flush(), f.file.Close(), f.in.Close())
}

// stamp is the beginning of the lines of a minute.
func stamp(m int64) []byte { return event.Time(m * minute).AppendRFC3339Seconds(nil) }

// handMinutes counts per minute and key. A minute that has been written and freed gets a line of its own for every line that
// still comes. It is what the other numbers are compared with most often, so it does without next: that would be slower by
// a seventh.
func handMinutes(a Args, by field) error {
	f, err := openLog(a, by)
	if err != nil {
		return err
	}
	open := map[int64]map[string]*sums{}
	var latest, closed int64 // closed: minutes before it have been written
	current := int64(-1)     // a minute, and what is known of it
	var keys map[string]*sums
	lines, status := f.lines, by == byStatus
	for lines.Scan() {
		line := lines.Bytes()
		at := f.days.millis(line)
		rest := line[25:]
		i := bytes.IndexByte(rest, ' ')
		key := rest[:i]
		rest = rest[i+1:]
		i = bytes.IndexByte(rest, ' ')
		if status {
			key = rest[:i]
		}
		var n int64
		for _, c := range rest[i+1:] {
			n = n*10 + int64(c-'0')
		}
		if m := at / minute; m != current {
			if m < closed {
				f.write(stamp(m), string(key), sums{1, n})
				continue
			}
			if keys = open[m]; keys == nil {
				keys = map[string]*sums{}
				open[m] = keys
			}
			current = m
		}
		s := keys[string(key)]
		if s == nil {
			s = new(sums)
			keys[string(key)] = s
		}
		s.count++
		s.bytes += n
		if at > latest {
			latest = at
			if passed := (latest - outOfOrder.Milliseconds()) / minute; passed > closed {
				closed, current = passed, -1
				f.flush(open, closed)
			}
		}
	}
	f.flush(open, math.MaxInt64)
	return f.close()
}

// flush writes and frees the minutes before one.
func (f *logFiles) flush(open map[int64]map[string]*sums, before int64) {
	for m, keys := range open {
		if m >= before {
			continue
		}
		prefix := stamp(m)
		for key, s := range keys {
			f.write(prefix, key, *s)
		}
		delete(open, m)
	}
}
