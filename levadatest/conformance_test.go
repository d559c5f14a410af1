package levadatest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/levadatest"
	"github.com/levadaflow/levada/source"
)

// queue is a source with topics of numbered messages, which may have flaws.
type queue struct {
	topics map[string][]string
	flaw   string
	mu     *sync.Mutex
	done   map[string]int // finalized, by topic
	opens  *int
}

func newQueue(flaw string) *queue {
	return &queue{topics: map[string][]string{}, flaw: flaw, mu: &sync.Mutex{}, done: map[string]int{}, opens: new(int)}
}

type topic struct {
	q    *queue
	name string
}

func (q *queue) Split(_ context.Context, desired int) ([]source.Unbounded[string, int64], error) {
	var names []string
	for name := range q.topics {
		names = append(names, name)
	}
	slices.Sort(names)
	if q.flaw == "split" && desired > 1 {
		names = names[1:]
	}
	var all []source.Unbounded[string, int64]
	for _, n := range names {
		all = append(all, topic{q, n})
	}
	return all, nil
}

func (q *queue) Open(context.Context, int64, bool) (source.UnboundedReader[string, int64], error) {
	return nil, errors.New("only topics can be opened")
}

func (t topic) Split(context.Context, int) ([]source.Unbounded[string, int64], error) {
	return []source.Unbounded[string, int64]{t}, nil
}

func (t topic) Open(_ context.Context, mark int64, begun bool) (source.UnboundedReader[string, int64], error) {
	t.q.mu.Lock()
	defer t.q.mu.Unlock()
	*t.q.opens++
	if t.q.flaw == "mark" && begun && mark > 0 {
		mark--
	}
	return &messages{topic: t, next: mark, low: event.Min}, nil
}

type messages struct {
	topic
	next int64
	low  event.Time
}

func (m *messages) Next(context.Context) (r source.Record[string], ok bool, err error) {
	m.q.mu.Lock()
	defer m.q.mu.Unlock()
	all := m.q.topics[m.name]
	if m.next >= int64(len(all)) {
		return r, false, nil
	}
	text := all[m.next]
	m.next++
	if text == "end" {
		m.low = event.Max
		return r, false, nil
	}
	at := event.Time(m.next * 1000)
	m.low = at - 500
	if m.q.flaw == "late" {
		at -= 2000
	}
	return source.Record[string]{Value: text, Time: at}, true, nil
}

func (m *messages) Mark() int64           { return m.next }
func (m *messages) Watermark() event.Time { return m.low }
func (m *messages) Close() error          { return nil }
func (m *messages) Finalize(mark int64) error {
	m.q.mu.Lock()
	defer m.q.mu.Unlock()
	m.q.done[m.name] = int(mark)
	return nil
}

func (q *queue) add(topic string, texts ...string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.topics[topic] = append(q.topics[topic], texts...)
}

// judge is a testing.TB that remembers failures.
type judge struct {
	testing.TB
	text strings.Builder
}

func (j *judge) Helper()                           {}
func (j *judge) Errorf(format string, args ...any) { fmt.Fprintf(&j.text, format+"\n", args...) }
func (j *judge) Fatal(args ...any)                 { j.Errorf("%s", fmt.Sprint(args...)); panic(j) }
func (j *judge) Fatalf(format string, args ...any) { j.Errorf(format, args...); panic(j) }

// TestConformance shows that the check passes a good source, and what it says of bad ones.
func TestConformance(t *testing.T) {
	for flaw, want := range map[string]string{
		"": "", "split": "divided into 2 parts", "mark": "opened with the mark", "late": "is behind the watermark", "empty": "no elements now",
	} {
		q := newQueue(flaw)
		if flaw != "empty" {
			q.add("a", "1", "2", "3", "4", "5", "6", "7")
			q.add("b", "8")
		}
		j := &judge{TB: t}
		func() {
			defer func() {
				if r := recover(); r != nil && r != j {
					panic(r)
				}
			}()
			levadatest.CheckUnbounded(j, q)
		}()
		if text := j.text.String(); (text == "") != (want == "") || !strings.Contains(text, want) {
			t.Errorf("%q: %q, want %q", flaw, text, want)
		}
	}
}

// lines is a bounded source.
type lines []string

func (l lines) Split(_ context.Context, n int) (parts []source.Bounded[string], err error) {
	for part := range slices.Chunk(l, (len(l)+n-1)/n) {
		parts = append(parts, part)
	}
	return parts, nil
}

func (l lines) Open(context.Context) (source.BoundedReader[string], error) {
	return &lineReader{l}, nil
}

type lineReader struct{ rest lines }

func (r *lineReader) Next(context.Context) (rec source.Record[string], ok bool, err error) {
	if len(r.rest) == 0 {
		return rec, false, nil
	}
	v := r.rest[0]
	r.rest = r.rest[1:]
	return source.Record[string]{Value: v, Time: event.Min}, true, nil
}

func (r *lineReader) Close() error { return nil }

// TestReadUnbounded shows elements, watermark, marks and the end of a source that goes on.
func TestReadUnbounded(t *testing.T) {
	for _, mode := range []levada.Embedded{{Parallelism: 1}, {Parallelism: 3, MaxBundle: 1}} {
		q := newQueue("")
		q.add("a", "a1", "a2")
		q.add("b", "b1")
		h := levadatest.New(t)
		h.Run = mode
		got := levadatest.Collect(h, levada.ReadUnbounded(h.Pipeline, "queue", q, levada.ReadOptions{PollEvery: time.Second}))
		h.Start()
		take := func() string {
			var all []string
			for _, e := range got.Take() {
				all = append(all, fmt.Sprint(e.Value, "@", e.Time.Millis()))
			}
			slices.Sort(all)
			return strings.Join(all, " ")
		}
		mark := func(want event.Time) {
			t.Helper()
			for _, s := range h.Result().Steps {
				if s.Name == "queue/read" && s.Out != want {
					t.Errorf("the watermark is at %v, want %v", s.Out, want)
				}
			}
		}
		if all := take(); all != "a1@1000 a2@2000 b1@1000" {
			t.Errorf("%q", all)
		}
		mark(500)
		q.add("b", "b2", "b3")
		if h.Clock(time.Second); take() != "b2@2000 b3@3000" {
			t.Error("what was added is not there")
		}
		mark(1500)
		if h.Clock(time.Second); q.done["b"] != 3 || q.done["a"] != 2 {
			t.Errorf("finalized: %v", q.done)
		}
		q.add("a", "end")
		q.add("b", "b4", "end")
		h.Finish()
		if all := take(); all != "b4@4000" || q.done["b"] != 4 {
			t.Errorf("%q, finalized: %v", all, q.done)
		}
		if mode.Parallelism == 1 && *q.opens != 2 {
			t.Errorf("%d readers were opened for 2 parts", *q.opens)
		}
	}
}

// TestReadBounded shows a source with an end, in parts that move from task to task.
func TestReadBounded(t *testing.T) {
	var all lines
	for i := range 1000 {
		all = append(all, fmt.Sprint(i))
	}
	levadatest.CheckBounded(t, all[:50])
	for _, parallelism := range []int{1, 4} {
		h := levadatest.New(t)
		h.Run.Parallelism = parallelism
		got := levadatest.Collect(h, levada.ReadBounded(h.Pipeline, "lines", all, levada.ReadOptions{Parts: 13}))
		h.Start()
		seen := map[string]bool{}
		for _, e := range got.Take() {
			seen[e.Value] = true
		}
		if len(seen) != 1000 {
			t.Errorf("%d elements", len(seen))
		}
		h.Finish()
	}
}
