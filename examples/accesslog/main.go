// Accesslog counts the requests in web access logs and adds up their bytes, per minute and status, or per minute and user.
//
//	go run ./examples/accesslog --generate 1000000 --input /tmp/day.log --output /tmp/out
//	go run ./examples/accesslog --input 'logs/*.log,old/*.log.gz' --by user --output out
//	zcat day.log.gz | go run ./examples/accesslog --input - --output out
//
// A line of a log is "2026-03-01T00:00:00.123Z user04217 200 5321": time, user, status, bytes. The results are in
// OUTPUT/part-00000-of-00001, in no order, "2026-03-01T00:00:00Z 200 5193 52341207" a line: the minute's beginning, the key,
// the number of requests, the sum of their bytes. Lines that are none of a log are in OUTPUT/bad-..., those that came too
// late to be counted in OUTPUT/late-..., both as they were.
//
// The last line on stderr is lines=N bad=N late=N groups=N time=D; groups is the number of lines in the results.
package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/examples/accesslog/internal/loggen"
	"github.com/levadaflow/levada/io/textio"
	"github.com/levadaflow/levada/window"
)

// options is the command line.
type options struct {
	Input      string        `required:"" help:"Log files, plain or gzip: globs, separated by commas; - is standard input."`
	Output     string        `required:"" help:"Folder of the results; it is made if it is missing."`
	By         string        `enum:"status,user" default:"status" help:"What to count by, within a minute: ${enum}."`
	OutOfOrder time.Duration `default:"30s" help:"How far lines are out of order. One that is further behind may be late."`
	Lateness   time.Duration `default:"0s" help:"How long late lines count. A group may come again then: the last line counts."`
	Shards     int           `default:"1" help:"Number of result files."`
	Generate   int64         `default:"0" help:"First write a log of so many lines to --input: one new file, .gz or not."`
}

func main() { levada.Main("accesslog", build) }

// build makes the pipeline.
func build(p *levada.Pipeline, o options) error {
	lines := textio.Read(p, "read", textio.ReadFiles{
		Glob: o.Input, Time: lineTime, InOrder: &textio.InOrder{OutOfOrder: o.OutOfOrder},
	})
	requests, bad := levada.ParDo2(lines, "parse", parse)
	minutes := levada.WindowInto(requests, "minutes", levada.Windowing{
		Windows:         window.Fixed(time.Minute),
		AllowedLateness: o.Lateness,
		Accumulation:    levada.Accumulating,
	})
	key := func(r request) (string, hit) { return r.status, r.hit }
	if o.By == "user" {
		key = func(r request) (string, hit) { return r.user, r.hit }
	}
	keyed := levada.KeyValue(minutes, "key", key)
	var late levada.LateOf[string, hit]
	totals := levada.CombinePerKey(keyed, "count", traffic{}, levada.LateTo(&late))

	to := func(name string) textio.WriteFiles {
		return textio.WriteFiles{Prefix: filepath.Join(o.Output, name), Shards: o.Shards}
	}
	textio.WriteAppend(totals, "write", to("part"), appendTotal)
	textio.Write(bad, "write-bad", to("bad"))
	textio.WriteAppend(late, "write-late", to("late"), appendLine)
	return nil
}

// parse tells requests from lines that are none. A request's time is the line's: the reader has set it.
func parse(s *levada.Setup, requests *levada.Out[request], bad *levada.Out[string]) levada.Process[string] {
	malformed := s.Counter("bad")
	return func(c *levada.Ctx, line string) error {
		w, bytes, ok := parseLine(line)
		if !ok {
			malformed.Inc(1)
			bad.Emit(c, line)
			return nil
		}
		requests.Emit(c, request{w, hit{line, bytes}})
		return nil
	}
}

// total is what is known of a group.
type total struct{ count, bytes int64 }

// traffic combines requests to a total.
type traffic struct{}

func (traffic) Zero() total { return total{} }
func (traffic) Add(acc *total, h hit) {
	acc.count++
	acc.bytes += h.bytes
}
func (traffic) Merge(acc *total, other total) {
	acc.count += other.count
	acc.bytes += other.bytes
}
func (traffic) Result(acc total) total { return acc }

// appendTotal writes a line of the result.
func appendTotal(c *levada.Ctx, dst []byte, kv levada.KV[string, total]) []byte {
	dst = c.Window().Start.AppendRFC3339Seconds(dst)
	dst = append(append(dst, ' '), kv.Key...)
	dst = strconv.AppendInt(append(dst, ' '), kv.Value.count, 10)
	return strconv.AppendInt(append(dst, ' '), kv.Value.bytes, 10)
}

// appendLine writes the line that a request was on.
func appendLine(_ *levada.Ctx, dst []byte, kv levada.KV[string, hit]) []byte {
	return append(dst, kv.Value.line...)
}

// lineTime returns the time that a line begins with.
func lineTime(line string) (event.Time, bool) {
	t, _, ok := event.CutRFC3339(line)
	return t, ok
}

// Validate is called when the flags have been read.
func (o options) Validate() error {
	switch {
	case o.Generate < 0:
		return errors.New("--generate must not be negative")
	case o.Shards < 1:
		return errors.New("--shards must be at least 1")
	case o.OutOfOrder < 0 || o.Lateness < 0:
		return errors.New("--out-of-order and --lateness must not be negative")
	case o.Generate > 0 && (o.Input == "-" || strings.ContainsAny(o.Input, `*?[\,`)):
		return fmt.Errorf("--generate writes one file: --input %q must be its path, not a pattern, a list or -", o.Input)
	}
	return nil
}

// Prepare implements [levada.Preparer]: it writes the log of --generate.
func (o options) Prepare(ctx context.Context) error {
	if o.Generate == 0 {
		return nil
	}
	return loggen.File(o.Input, o.Generate, func(int64) error { return ctx.Err() })
}

// Summary implements [levada.Summarizer].
func (o options) Summary(r *levada.Result, took time.Duration) string {
	return fmt.Sprintf("lines=%d bad=%d late=%d groups=%d time=%v", r.Counter("read", "records"), r.Counter("parse", "bad"),
		r.Counter("count", "dropped_late"), r.Counter("write", "lines"), took.Round(time.Millisecond))
}
