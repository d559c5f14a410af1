package loggen

import (
	"bufio"
	"io"
	"math/bits"
	"math/rand/v2"
	"strconv"

	"github.com/levadaflow/levada/event"
)

const (
	// Start is 2026-03-01T00:00:00Z, when the first line arrives and the smallest time that a line has.
	Start event.Time = 1772323200000
	// Day is how long the log is, in milliseconds.
	Day = 24 * 60 * 60 * 1000
	// Users is the number of user ids there are, user00000 to user09999.
	Users = 10_000

	soon       = 2_000  // nine of ten lines are less late than this, in milliseconds
	late       = 30_000 // and the others less than this
	everyNth   = 1_000  // one line in so many is malformed
	firstBytes = 100
	lastBytes  = 20_099

	progressEvery = 1 << 16
)

// statuses has each status as often as it occurs.
var statuses = [...]string{"200", "200", "200", "200", "200", "200", "200", "204", "301", "304", "404", "404", "500"}

// Write writes n lines, "2026-03-01T00:00:00.123Z user04217 200 5321\n": time, user, status, bytes. A negative n is 0.
//
// The users are Zipf distributed (s 1.1, v 4) over ids in no order. Line i is malformed if i%1000 is 500: it has too little
// on it, a field too few, a time that is none, or bytes that are no number, in turns.
//
// progress is called about every 65,536 lines and at the end with the number of lines done, on the caller's goroutine; it
// may be nil, and an error of it ends the writing. The error is that, or that of w, which is written to in large pieces.
func Write(w io.Writer, n int64, progress func(done int64) error) error {
	if progress == nil {
		progress = func(int64) error { return nil }
	}
	out := bufio.NewWriterSize(w, 1<<16)
	g := newGenerator()
	line := make([]byte, 0, 64)
	for i := range max(n, 0) {
		if i > 0 && i%progressEvery == 0 {
			if err := progress(i); err != nil {
				return err
			}
		}
		line = g.append(line[:0], i, n)
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return progress(max(n, 0))
}

// generator makes one line after the other.
type generator struct {
	rand  *rand.Rand
	zipf  *rand.Zipf
	users [Users]string
}

func newGenerator() *generator {
	r := rand.New(rand.NewPCG(20260301, 86400))
	g := &generator{rand: r, zipf: rand.NewZipf(r, 1.1, 4, Users-1)}
	for rank, id := range r.Perm(Users) {
		digits := strconv.Itoa(Users + id)
		g.users[rank] = "user0" + digits[1:]
	}
	return g
}

// append appends line i of n. Every line takes the same numbers from the generator, malformed or not.
func (g *generator) append(dst []byte, i, n int64) []byte {
	delay := g.rand.Int64N(soon)
	if g.rand.IntN(10) == 0 {
		delay = g.rand.Int64N(late)
	}
	at := max(arrival(i, n).Plus(-delay), Start)
	user := g.users[g.zipf.Uint64()]
	status := statuses[g.rand.IntN(len(statuses))]
	size := firstBytes + g.rand.Int64N(lastBytes-firstBytes+1)

	kind := int64(-1)
	if i%everyNth == everyNth/2 {
		kind = i / everyNth % 4
	}
	switch kind {
	case 0:
		return append(dst, "-\n"...)
	case 2:
		dst = append(dst, "yesterday"...)
	default:
		dst = at.AppendRFC3339(dst)
	}
	dst = append(append(dst, ' '), user...)
	if kind != 1 {
		dst = append(append(dst, ' '), status...)
	}
	dst = append(dst, ' ')
	if kind == 3 {
		return append(dst, "many\n"...)
	}
	return append(strconv.AppendInt(dst, size, 10), '\n')
}

// arrival returns when line i of n arrives: Start plus i/n of the day, exactly, also where i*Day is beyond int64.
func arrival(i, n int64) event.Time {
	hi, lo := bits.Mul64(uint64(i), Day)
	quotient, _ := bits.Div64(hi, lo, uint64(n))
	return Start + event.Time(quotient)
}
