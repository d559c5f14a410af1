package jobs

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/io/textio"
	"github.com/levadaflow/levada/window"
)

const (
	latencyKeys = 1000
	warmUp      = 3 // windows that are left out
)

// latencyJob measures how long a result takes: from the moment at which the reader is given the line that moves the
// watermark past a window's end to the sink's call. Lines come at a steady rate, each when its time has come.
func latencyJob(rate int64) *Job {
	return &Job{Name: fmt.Sprintf("latency-%d", rate), Once: true, run: func(a Args) (Values, error) {
		m := newMetronome(rate, a)
		p := levada.New()
		lines := textio.Read(p, "read", textio.ReadFiles{
			Glob: "-", Stdin: m, Time: lineTime, InOrder: &textio.InOrder{},
		})
		windows := levada.WindowInto(lines, "windows", levada.Windowing{Windows: window.Fixed(a.Window)})
		keyed := levada.KeyBy(windows, "key", func(line string) string {
			_, key := cut(line, ' ')
			return key
		})
		levada.ForEach(levada.CountPerKey(keyed, "count"), "sink", m.sink)
		if _, err := p.Run(context.Background(), levada.Embedded{Parallelism: a.Parallelism}); err != nil {
			return nil, err
		}
		return m.values()
	}}
}

// metronome is a reader that gives lines when their time has come, and measures how long their windows' results take.
type metronome struct {
	rate, keys, lines int64
	window            int64     // milliseconds
	start             time.Time // the beginning of a window
	next              int64     // line
	rest              []byte    // of a line that did not fit

	mu      sync.Mutex
	given   map[event.Time]time.Time // when the reader was given the end of a window
	results []result
}

// result is that a sink was called.
type result struct {
	end event.Time // of the window
	at  time.Time
}

func newMetronome(rate int64, a Args) *metronome {
	window := a.Window.Milliseconds()
	first := (now().UnixMilli()/window + 1) * window
	seconds := (a.Window * time.Duration(a.Windows+warmUp)).Seconds()
	return &metronome{
		rate: rate, keys: min(rate, latencyKeys), lines: int64(float64(rate)*seconds) + 1, window: window,
		start: time.UnixMilli(first), given: map[event.Time]time.Time{},
	}
}

// due returns the time of a line.
func (m *metronome) due(line int64) time.Time {
	return m.start.Add(time.Duration(line * int64(time.Second) / m.rate))
}

// Read implements [io.Reader]: it waits until a line is due, and gives all that are.
func (m *metronome) Read(dst []byte) (int, error) {
	if len(m.rest) == 0 {
		if m.next == m.lines {
			return 0, io.EOF
		}
		sleepUntil(m.due(m.next))
	}
	n := copy(dst, m.rest)
	m.rest = m.rest[n:]
	present := now()
	for len(m.rest) == 0 && n < len(dst) && m.next < m.lines {
		due := m.due(m.next)
		if due.After(present) {
			break
		}
		at := event.Time(due.UnixMilli())
		line := append(at.AppendRFC3339(nil), " key"...)
		line = append(strconv.AppendInt(line, m.next%m.keys, 10), '\n')
		copied := copy(dst[n:], line)
		n += copied
		m.rest = line[copied:]
		m.next++
		if end := at - at%event.Time(m.window); len(m.rest) == 0 {
			m.pass(end)
		}
	}
	return n, nil
}

// pass notes that the watermark is going to pass the end of a window.
func (m *metronome) pass(end event.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.given[end]; !ok {
		m.given[end] = now()
	}
}

// sink keeps when it is called.
func (m *metronome) sink(*levada.Setup) levada.Process[levada.KV[string, int64]] {
	return func(c *levada.Ctx, _ levada.KV[string, int64]) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.results = append(m.results, result{c.Window().End, now()})
		return nil
	}
}

// values returns the latencies in milliseconds: from the line that closes a window, and from the window's end by the clock.
func (m *metronome) values() (Values, error) {
	var line, clock []float64
	begin := event.Time(m.start.UnixMilli() + warmUp*m.window)
	for _, r := range m.results {
		given, ok := m.given[r.end]
		if !ok || r.end <= begin {
			continue
		}
		line = append(line, r.at.Sub(given).Seconds()*1000)
		clock = append(clock, r.at.Sub(r.end.Time()).Seconds()*1000)
	}
	if len(line) == 0 {
		return nil, fmt.Errorf("no window came out of %d", len(m.given))
	}
	slices.Sort(line)
	slices.Sort(clock)
	return Values{
		"panes": float64(len(line)), "median_ms": rank(line, 50), "p99_ms": rank(line, 99), "max_ms": rank(line, 100),
		"behind_end_median_ms": rank(clock, 50), "behind_end_p99_ms": rank(clock, 99),
	}, nil
}

// rank returns the percentile of sorted values.
func rank(sorted []float64, percent int) float64 {
	return sorted[min(len(sorted)*percent/100, len(sorted)-1)]
}
