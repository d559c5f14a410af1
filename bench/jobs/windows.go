package jobs

import (
	"slices"
	"strconv"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/bench/internal/gen"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/io/textio"
	"github.com/levadaflow/levada/window"
)

const (
	slidingMinutes = 10
	gap            = 30 * time.Second
)

// windowJobs are the log in other windows, and with values kept instead of combined.
func windowJobs() []*Job {
	var all []*Job
	for _, by := range []field{byStatus, byUser} {
		all = append(all, &Job{Name: "sliding-" + by.String(), Input: gen.Log,
			hand: func(a Args) error { return handSliding(a, by) },
			build: func(p *levada.Pipeline, a Args) {
				countLog(p, a, by, levada.Windowing{Windows: window.Sliding(slidingMinutes*time.Minute, time.Minute)})
			}})
	}
	return append(all,
		&Job{Name: "sessions", Input: gen.Log, hand: handSessions, build: sessions},
		&Job{Name: "group", Input: gen.Log, hand: handGroup, build: group},
	)
}

// sessions counts per user and session.
func sessions(p *levada.Pipeline, a Args) {
	requests := levada.ParDo(readLog(p, a), "parse", parseLog)
	windows := levada.WindowInto(requests, "windows", levada.Windowing{Windows: window.Sessions(gap)})
	totals := levada.CombinePerKey(keyed(windows, byUser), "count", traffic{})
	write := func(c *levada.Ctx, dst []byte, kv levada.KV[string, total]) []byte {
		dst = appendSpan(dst, c.Window().Start, c.Window().End)
		return appendLine(dst, kv.Key, kv.Value.count, kv.Value.bytes)
	}
	textio.WriteAppend(totals, "write", textio.WriteFiles{Prefix: a.part()}, write)
}

func appendSpan(dst []byte, start, end event.Time) []byte {
	return end.AppendRFC3339(append(start.AppendRFC3339(dst), ' '))
}

// group collects the bytes per minute and user, and gives their number and the greatest.
func group(p *levada.Pipeline, a Args) {
	requests := levada.ParDo(readLog(p, a), "parse", parseLog)
	windows := levada.WindowInto(requests, "windows", levada.Windowing{Windows: window.Fixed(time.Minute)})
	groups := levada.GroupByKey(keyed(windows, byUser), "group")
	write := func(c *levada.Ctx, dst []byte, kv levada.KV[string, levada.Values[int64]]) []byte {
		greatest := int64(0)
		for v := range kv.Value.All() {
			greatest = max(greatest, v)
		}
		return appendLine(c.Window().Start.AppendRFC3339Seconds(dst), kv.Key, int64(kv.Value.Len()), greatest)
	}
	textio.WriteAppend(groups, "write", textio.WriteFiles{Prefix: a.part()}, write)
}

// handSliding keeps a map a minute and adds ten of them up when a window ends.
func handSliding(a Args, by field) error {
	f, err := openLog(a, by)
	if err != nil {
		return err
	}
	minutes := map[int64]map[string]*sums{}
	whole := map[string]sums{}
	emit := func(last int64) { // the window whose last minute it is
		start := last - slidingMinutes + 1
		clear(whole)
		for m := start; m <= last; m++ {
			for key, s := range minutes[m] {
				w := whole[key]
				whole[key] = sums{w.count + s.count, w.bytes + s.bytes}
			}
		}
		prefix := stamp(start)
		for key, s := range whole {
			f.write(prefix, key, s)
		}
		delete(minutes, start)
	}
	var latest, closed, newest int64
	for {
		e, ok := f.next()
		if !ok {
			break
		}
		m := e.at / minute
		keys := minutes[m]
		if keys == nil {
			keys = map[string]*sums{}
			minutes[m] = keys
		}
		s := keys[string(e.key)]
		if s == nil {
			s = new(sums)
			keys[string(e.key)] = s
		}
		s.count++
		s.bytes += e.bytes
		if e.at <= latest {
			continue
		}
		latest, newest = e.at, m
		passed := (latest - outOfOrder.Milliseconds()) / minute
		if closed == 0 {
			closed = passed - 1 // nothing is before: no line is more than 30 s behind
		}
		for ; closed < passed; closed++ {
			emit(closed)
		}
	}
	for ; closed < newest+slidingMinutes; closed++ {
		emit(closed)
	}
	return f.close()
}

// handGroup keeps a slice a key and minute.
func handGroup(a Args) error {
	f, err := openLog(a, byUser)
	if err != nil {
		return err
	}
	open := map[int64]map[string]*[]int64{}
	emit := func(m int64) {
		prefix := stamp(m)
		for key, all := range open[m] {
			f.write(prefix, key, sums{int64(len(*all)), slices.Max(*all)})
		}
		delete(open, m)
	}
	var latest, closed, current int64
	var keys map[string]*[]int64
	for {
		e, ok := f.next()
		if !ok {
			break
		}
		if m := e.at / minute; m != current || keys == nil {
			if keys = open[m]; keys == nil {
				keys = map[string]*[]int64{}
				open[m] = keys
			}
			current = m
		}
		all := keys[string(e.key)]
		if all == nil {
			all = new([]int64)
			keys[string(e.key)] = all
		}
		*all = append(*all, e.bytes)
		if e.at <= latest {
			continue
		}
		latest = e.at
		if passed := (latest - outOfOrder.Milliseconds()) / minute; passed > closed {
			closed, keys = passed, nil
			for m := range open {
				if m < closed {
					emit(m)
				}
			}
		}
	}
	for m := range open {
		emit(m)
	}
	return f.close()
}

// session is a span of time in which a user was busy.
type session struct {
	start, end int64 // end: the last time and the gap
	user       string
	sums
	merged bool // into another
}

// diary has the open sessions.
type diary struct {
	f     *logFiles
	users map[string][]*session
	due   map[int64][]*session // by the second in which they end, or ended when they were put here
}

// handSessions keeps the open sessions of each user, most often one, and looks at those that end in a second when the
// watermark passes it.
func handSessions(a Args) error {
	f, err := openLog(a, byUser)
	if err != nil {
		return err
	}
	d := diary{f, map[string][]*session{}, map[int64][]*session{}}
	var latest, swept int64
	for {
		e, ok := f.next()
		if !ok {
			break
		}
		d.add(e)
		if e.at <= latest {
			continue
		}
		latest = e.at
		passed := (latest - outOfOrder.Milliseconds()) / 1000
		if swept == 0 {
			swept = passed
		}
		for ; swept < passed; swept++ { // the second has gone: what ends in it is over
			d.sweep(swept)
		}
	}
	for _, all := range d.users {
		for _, s := range all {
			d.write(s)
		}
	}
	return f.close()
}

// add takes a line into its user's sessions.
func (d *diary) add(e entry) {
	start, end := e.at, e.at+gap.Milliseconds()
	all := d.users[string(e.key)]
	var into *session
	for i := 0; i < len(all); i++ {
		s := all[i]
		if s.start >= end || start >= s.end {
			continue
		}
		if into == nil {
			into = s
			s.start, s.end = min(s.start, start), max(s.end, end)
			continue
		}
		into.start, into.end = min(into.start, s.start), max(into.end, s.end)
		into.count += s.count
		into.bytes += s.bytes
		s.merged = true
		all = slices.Delete(all, i, i+1)
		d.users[into.user] = all
		i--
	}
	if into == nil {
		into = &session{start: start, end: end, user: string(e.key)}
		d.users[into.user] = append(all, into)
		d.due[end/1000] = append(d.due[end/1000], into)
	}
	into.count++
	into.bytes += e.bytes
}

// sweep writes and frees the sessions that end in a second.
func (d *diary) sweep(second int64) {
	for _, s := range d.due[second] {
		switch {
		case s.merged:
		case s.end/1000 > second: // it went on
			d.due[s.end/1000] = append(d.due[s.end/1000], s)
		default:
			d.write(s)
			if all := d.users[s.user]; len(all) == 1 {
				delete(d.users, s.user)
			} else {
				d.users[s.user] = slices.DeleteFunc(all, func(o *session) bool { return o == s })
			}
		}
	}
	delete(d.due, second)
}

func (d *diary) write(s *session) {
	f := d.f
	f.buf = appendSpan(f.buf[:0], event.Time(s.start), event.Time(s.end))
	f.buf = strconv.AppendInt(append(append(append(f.buf, ' '), s.user...), ' '), s.count, 10)
	f.buf = append(strconv.AppendInt(append(f.buf, ' '), s.bytes, 10), '\n')
	_, _ = f.out.Write(f.buf)
}
