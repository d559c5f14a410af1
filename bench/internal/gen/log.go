package gen

import (
	"io"
	"math/rand/v2"
	"strconv"

	"github.com/levadaflow/levada/event"
)

const (
	logStart event.Time = 1772323200000 // 2026-03-01T00:00:00Z
	day                 = 24 * 60 * 60 * 1000
	users               = 10_000
)

// statuses has each status as often as it occurs.
var statuses = [...]string{"200", "200", "200", "200", "200", "200", "200", "204", "301", "304", "404", "404", "500"}

// writeLog writes n lines, "2026-03-01T00:00:00.123Z user04217 200 5321": time, user, status, bytes. They arrive evenly
// within a day. Nine of ten are less than 2 s behind their arrival; the tenth is less than 30 s behind, or 31 to 90 s if
// late is set. Users are Zipf distributed (s 1.1, v 4).
func writeLog(w io.Writer, n int64, late bool) error {
	r := rand.New(rand.NewPCG(1, 20260301))
	zipf := rand.NewZipf(r, 1.1, 4, users-1)
	ids := r.Perm(users) // so that the frequent ones are not neighbours
	from, to := int64(0), int64(30_000)
	if late {
		from, to = 31_000, 90_000
	}
	line := make([]byte, 0, 64)
	for i := range n {
		behind := r.Int64N(2000)
		if r.IntN(10) == 0 {
			behind = from + r.Int64N(to-from)
		}
		arrival := int64(float64(i) / float64(n) * day)
		at := logStart + event.Time(max(arrival-behind, 0))
		user := strconv.Itoa(100_000 + ids[zipf.Uint64()])

		line = append(at.AppendRFC3339(line[:0]), " user"...)
		line = append(append(line, user[1:]...), ' ')
		line = append(append(line, statuses[r.IntN(len(statuses))]...), ' ')
		line = strconv.AppendInt(line, 100+r.Int64N(20_000), 10)
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}
