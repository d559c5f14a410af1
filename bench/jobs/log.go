package jobs

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/bench/internal/gen"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/io/textio"
	"github.com/levadaflow/levada/window"
)

const (
	outOfOrder = 30 * time.Second
	// lateBy is more than any line is late: a line is at most 90 s behind, the watermark is 30 s behind.
	lateBy = 2 * time.Minute
)

// field is what a log is counted by.
type field int

const (
	byStatus field = iota
	byUser
)

func (f field) String() string { return [...]string{"status", "user"}[f] }

// logJobs count requests and add up their bytes, per minute and status or user.
func logJobs() []*Job {
	var all []*Job
	for _, by := range []field{byStatus, byUser} {
		hand := func(a Args) error { return handMinutes(a, by) }
		all = append(all,
			&Job{Name: "log-" + by.String(), Input: gen.Log, hand: hand, build: func(p *levada.Pipeline, a Args) {
				countLog(p, a, by, levada.Windowing{Windows: window.Fixed(time.Minute)})
			}},
			&Job{Name: "log-" + by.String() + "-naive", Input: gen.Log, hand: hand, build: func(p *levada.Pipeline, a Args) {
				countNaive(p, a, by, naiveVisit, naiveLine)
			}},
			&Job{Name: "log-" + by.String() + "-textbook", Input: gen.Log, hand: hand, build: func(p *levada.Pipeline, a Args) {
				countNaive(p, a, by, textbookVisit, textbookLine)
			}},
			&Job{Name: "log-" + by.String() + "-late", Input: gen.LateLog, Totals: true, hand: hand,
				build: func(p *levada.Pipeline, a Args) {
					countLog(p, a, by, levada.Windowing{
						Windows: window.Fixed(time.Minute), AllowedLateness: lateBy, Accumulation: levada.Discarding,
					})
				}},
		)
	}
	return all
}

// countLog is the program as the documentation teaches it, for any windows.
func countLog(p *levada.Pipeline, a Args, by field, w levada.Windowing) {
	windows := levada.WindowInto(levada.ParDo(readLog(p, a), "parse", parseLog), "windows", w)
	totals := levada.CombinePerKey(keyed(windows, by), "count", traffic{})
	textio.WriteAppend(totals, "write", textio.WriteFiles{Prefix: a.part()}, appendTotal)
}

func readLog(p *levada.Pipeline, a Args) levada.PCollection[string] {
	return textio.Read(p, "read", textio.ReadFiles{
		Glob: a.Input, Time: lineTime, InOrder: &textio.InOrder{OutOfOrder: outOfOrder},
	})
}

// keyed gives requests' bytes the key of the job.
func keyed(in levada.PCollection[request], by field) levada.PCollection[levada.KV[string, int64]] {
	key := func(r request) (string, int64) { return r.status, r.bytes }
	if by == byUser {
		key = func(r request) (string, int64) { return r.user, r.bytes }
	}
	return levada.KeyValue(in, "key", key)
}

// request is what a line says, but for its time.
type request struct {
	user, status string
	bytes        int64
}

// lineTime is the time of a line, its first field.
func lineTime(line string) (event.Time, bool) {
	t, _, ok := event.CutRFC3339(line)
	return t, ok
}

func parseLog(_ *levada.Setup, out *levada.Out[request]) levada.Process[string] {
	return func(c *levada.Ctx, line string) error {
		_, rest, ok := event.CutRFC3339(line) // the reader has parsed it too, but it takes what it cannot parse
		if !ok {
			return fmt.Errorf("no time: %q", line)
		}
		user, rest := cut(rest, ' ')
		status, size := cut(rest, ' ')
		bytes, ok := parseSize(size)
		if !ok {
			return fmt.Errorf("no size: %q", line)
		}
		out.Emit(c, request{user: user, status: status, bytes: bytes})
		return nil
	}
}

// parseSize parses a number of up to 18 digits, as examples/accesslog does.
func parseSize(s string) (n int64, ok bool) {
	for _, c := range []byte(s) {
		digit := c - '0'
		if digit > 9 {
			return 0, false
		}
		n = n*10 + int64(digit)
	}
	return n, s != "" && len(s) <= 18
}

// cut cuts s at the first sep, which goes.
func cut(s string, sep byte) (before, after string) {
	for i := range len(s) {
		if s[i] == sep {
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

// total is what is known of a key in a window.
type total struct{ count, bytes int64 }

// traffic combines bytes of requests to a total.
type traffic struct{}

func (traffic) Zero() total { return total{} }
func (traffic) Add(acc *total, bytes int64) {
	acc.count++
	acc.bytes += bytes
}
func (traffic) Merge(acc *total, o total) {
	acc.count += o.count
	acc.bytes += o.bytes
}
func (traffic) Result(acc total) total { return acc }

// appendTotal makes "2026-03-01T00:00:00Z KEY COUNT BYTES".
func appendTotal(c *levada.Ctx, dst []byte, kv levada.KV[string, total]) []byte {
	return appendLine(c.Window().Start.AppendRFC3339Seconds(dst), kv.Key, kv.Value.count, kv.Value.bytes)
}

// appendLine appends the key and two numbers, a space before each.
func appendLine(dst []byte, key string, count, bytes int64) []byte {
	dst = append(append(dst, ' '), key...)
	dst = strconv.AppendInt(append(dst, ' '), count, 10)
	return strconv.AppendInt(append(dst, ' '), bytes, 10)
}

// visit is a line as the naive program has it.
type visit struct {
	at           event.Time
	user, status string
	bytes        int64
}

// naiveVisit parses a line with little thought: it returns a struct that it has filled.
func naiveVisit(line string) visit {
	var v visit
	var rest, size string
	v.at, rest, _ = event.CutRFC3339(line)
	v.user, rest = cut(rest, ' ')
	v.status, size = cut(rest, ' ')
	v.bytes, _ = strconv.ParseInt(size, 10, 64)
	return v
}

// naiveLine makes a string of a result.
func naiveLine(kv levada.KV[string, minuteTotal]) string {
	return string(appendLine(kv.Value.minute.AppendRFC3339Seconds(nil), kv.Key, kv.Value.count, kv.Value.bytes))
}

// textbookVisit parses a line with the standard library alone.
func textbookVisit(line string) visit {
	f := strings.Fields(line)
	at, _ := time.Parse(time.RFC3339, f[0])
	bytes, _ := strconv.ParseInt(f[3], 10, 64)
	return visit{event.Time(at.UnixMilli()), f[1], f[2], bytes}
}

// textbookLine makes a string of a result with fmt.
func textbookLine(kv levada.KV[string, minuteTotal]) string {
	minute := kv.Value.minute.Time().Format(time.RFC3339)
	return fmt.Sprintf("%s %s %d %d", minute, kv.Key, kv.Value.count, kv.Value.bytes)
}

// countNaive is the program as one writes it without having read about speed: functions that return structs, whole events
// as values, and lines as strings.
func countNaive(p *levada.Pipeline, a Args, by field, parse func(string) visit, format func(levada.KV[string, minuteTotal]) string) {
	visits := levada.Map(readLog(p, a), "parse", parse)
	minutes := levada.WindowInto(visits, "windows", levada.Windowing{Windows: window.Fixed(time.Minute)})
	byKey := levada.KeyBy(minutes, "key", func(v visit) string {
		if by == byUser {
			return v.user
		}
		return v.status
	})
	totals := levada.CombinePerKey(byKey, "count", visitTotal{})
	lines := levada.Map(totals, "format", format)
	textio.Write(lines, "write", textio.WriteFiles{Prefix: a.part()})
}

// minuteTotal is a total that knows its minute.
type minuteTotal struct {
	minute       event.Time
	count, bytes int64
}

// visitTotal combines visits of one minute.
type visitTotal struct{}

func (visitTotal) Zero() minuteTotal { return minuteTotal{} }
func (visitTotal) Add(acc *minuteTotal, v visit) {
	acc.minute = v.at - v.at%60_000
	acc.count++
	acc.bytes += v.bytes
}
func (visitTotal) Merge(acc *minuteTotal, o minuteTotal) {
	acc.minute = max(acc.minute, o.minute)
	acc.count += o.count
	acc.bytes += o.bytes
}
func (visitTotal) Result(acc minuteTotal) minuteTotal { return acc }
