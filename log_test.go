package levada_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/levadatest"
)

// logged collects a log's lines. It is safe for concurrent use.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
	line func(string) // told of each
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.line != nil {
		l.line(string(p))
	}
	return l.text.Write(p)
}

// lines returns those that contain all parts.
func (l *logged) lines(parts ...string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for line := range strings.SplitSeq(l.text.String(), "\n") {
		all := line != ""
		for _, p := range parts {
			all = all && strings.Contains(line, p)
		}
		if all {
			n++
		}
	}
	return n
}

// TestLateIsSaidOnce shows that the first element that a step counts as late is logged, and how late all were.
func TestLateIsSaidOnce(t *testing.T) {
	for _, mode := range []levada.Embedded{{Parallelism: 1}, {Parallelism: 4}, {Parallelism: 2, GeneralPath: true}} {
		var log logged
		h := levadatest.New(t)
		h.Run = mode
		h.Run.Logger = slog.New(slog.NewTextHandler(&log, nil))
		src := levadatest.Source[keyInt](h, "src")
		back := levada.WithTimestampsFrom(src.Out, "back", func(kv keyInt, at event.Time) event.Time {
			return at.AddMillis(-int64(kv.Value))
		}, levada.AnySkew)
		w := levada.WindowInto(back, "w", fixed10)
		levada.SumPerKey(w, "sum")
		levada.ParDoKeyed(w, "keyed", func(*levada.Keyed[string], *levada.Out[int]) levada.Process[keyInt] { return noElement })
		h.Start()
		src.Watermark(20_000)
		for i := range 20 {
			src.Add(20_000, keyInt{Key: string(rune('a' + i)), Value: 11_000 + i}) // 11 s late and more
		}
		src.Add(20_000, keyInt{Key: "a"})
		r := h.Result()
		for step, counter := range map[string]string{"back": "emitted_late", "sum": "dropped_late", "keyed": "dropped_late"} {
			d := r.Distribution(step, counter+"_ms")
			if r.Counter(step, counter) != 20 || d.Count != 20 || d.Min != 11_000 || d.Max != 11_019 {
				t.Errorf("%s: %d, %+v", step, r.Counter(step, counter), d)
			}
			if n := log.lines("step="+step, "counter="+counter, "watermark=1970-01-01T00:00:20.000Z", "behind=11"); n != 1 {
				t.Errorf("%s: %d lines in\n%s", step, n, log.text.String())
			}
		}
	}
}

// TestStandingStillIsSaid shows the line about a step in which elements wait although nothing moves.
func TestStandingStillIsSaid(t *testing.T) {
	for _, parallelism := range []int{1, 2} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		log := logged{line: func(line string) {
			if strings.Contains(line, "step count") {
				cancel()
			}
		}}
		p := levada.New()
		src := exec.Source[int]{
			List: func(context.Context) ([]exec.Split, error) {
				return []exec.Split{{Name: "part-3", Mark: event.Min}}, nil
			},
			Read: func(r *exec.Reading[int], _ exec.Split) error {
				r.Emit(7, 5000, 0)
				return r.Block(func(ctx context.Context) error { <-ctx.Done(); return nil })
			},
		}
		w := levada.WindowInto(levada.RootOf[int](p, "tail", src.Op(), true), "w", fixed10)
		levada.CountPerKey(levada.KeyBy(w, "key", id[int]), "count")
		_, err := p.Run(ctx, levada.Embedded{
			Parallelism: parallelism, StallAfter: 30 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		want := "count waits for key, key waits for w, w waits for tail, tail is at -290308-12-21T19:59:05.225Z (min), because of split part-3"
		if n := log.lines("step count has stood at", want); n != 1 {
			t.Errorf("parallelism %d: %d lines in\n%s", parallelism, n, log.text.String())
		}
	}
}
