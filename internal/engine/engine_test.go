package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/engine"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/window"
)

func start(t *testing.T, p *levada.Pipeline, o engine.Options) *engine.Job {
	t.Helper()
	g, err := p.Build()
	if err != nil {
		t.Fatal(err)
	}
	j, err := engine.Start(t.Context(), g, o)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestStuck shows that a job in which nothing can run says who waits for whom.
func TestStuck(t *testing.T) {
	for _, parallelism := range []int{1, 4} {
		p := levada.New()
		in := levada.Create(p, "in", "a", "b")
		w := levada.WindowInto(in, "minutes", levada.Windowing{Windows: window.Fixed(time.Minute)})
		held := levada.Map(w, "held", func(s string) string { return s })
		counts := levada.CountPerKey(levada.KeyBy(held, "key", func(s string) string { return s }), "count")
		levada.Map(counts, "after", func(kv levada.KV[string, int64]) int64 { return kv.Value })
		at := event.Time(12 * 60_000)
		err := start(t, p, engine.Options{Parallelism: parallelism, Holds: map[string]event.Time{"held": at}}).Wait()
		if !errors.Is(err, engine.ErrStuck) {
			t.Fatalf("%v, want ErrStuck", err)
		}
		for _, line := range []string{
			"held: in +294247-01-10T04:00:54.775Z (max), out 1970-01-01T00:12:00.000Z, held by test at 1970-01-01T00:12:00.000Z",
			"key: in 1970-01-01T00:12:00.000Z, out 1970-01-01T00:12:00.000Z, waits for held",
			"count: in 1970-01-01T00:12:00.000Z, out 1970-01-01T00:12:00.000Z, waits for key",
			"after: in 1970-01-01T00:12:00.000Z, out 1970-01-01T00:12:00.000Z, waits for count",
		} {
			if !strings.Contains(err.Error(), "\n  "+line) {
				t.Errorf("the report lacks %q:\n%v", line, err)
			}
		}
		if strings.Contains(err.Error(), "\n  in:") || strings.Contains(err.Error(), "\n  minutes:") {
			t.Errorf("the report names steps that have finished:\n%v", err)
		}
	}
}

// TestGrace shows what happens when user code does not return: Run does, after the grace period, and names every step.
func TestGrace(t *testing.T) {
	block := make(chan struct{})
	defer close(block)
	p := levada.New()
	spread := levada.Reshuffle(levada.Create(p, "in", 1, 2, 3, 4, 5, 6, 7, 8), "spread")
	levada.ForEach(spread, "blocks", func(*levada.Setup) levada.Process[int] {
		return func(*levada.Ctx, int) error { <-block; return nil }
	})
	ctx, cancel := context.WithCancel(t.Context())
	g, err := p.Build()
	if err != nil {
		t.Fatal(err)
	}
	j, err := engine.Start(ctx, g, engine.Options{Parallelism: 2, Grace: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(20*time.Millisecond, cancel)
	err = j.Wait()
	if !errors.Is(err, engine.ErrHanging) || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "step blocks, step blocks") {
		t.Errorf("%v", err)
	}
}

// sink is a committer that writes down what is asked of it.
type sink struct {
	log  *[]string
	name string
	fail string
}

func (s sink) do(what string) error {
	*s.log = append(*s.log, s.name+" "+what)
	if what == s.fail {
		return errors.New(what + " fails")
	}
	return nil
}

func (s sink) Begin(context.Context, int) error { return s.do("begin") }
func (s sink) Prepare() error                   { return s.do("prepare") }
func (s sink) Commit() error                    { return s.do("commit") }
func (s sink) Abort()                           { _ = s.do("abort") }

// TestCommit shows that sinks commit only after all have prepared, and what is taken back after a failure.
func TestCommit(t *testing.T) {
	for _, c := range []struct{ fail, step, want string }{
		{"", "", "a begin,b begin,a prepare,b prepare,a commit,b commit"},
		{"begin", "", "a begin,b begin,a abort"},
		{"prepare", "", "a begin,b begin,a prepare,b prepare,a abort,b abort"},
		{"commit", "", "a begin,b begin,a prepare,b prepare,a commit,b commit,b abort"},
		{"", "fails", "a begin,b begin,a abort,b abort"},
	} {
		var log []string
		p := levada.New()
		in := levada.Create(p, "in", 1)
		nothing := func(*levada.Setup) levada.Process[int] { return func(*levada.Ctx, int) error { return nil } }
		levada.SinkOf(in, "a", sink{&log, "a", ""}, nothing)
		levada.SinkOf(in, "b", sink{&log, "b", c.fail}, nothing)
		if c.step != "" {
			levada.Map(in, "fails", func(int) int { panic(errors.New("boom")) })
		}
		_, err := p.Run(t.Context(), levada.Embedded{Parallelism: 2})
		if got := strings.Join(log, ","); got != c.want || (err != nil) != (c.fail+c.step != "") {
			t.Errorf("%+v: %s, %v", c, got, err)
		}
	}
}

// TestSplits shows that every split of a source is read once, and that the watermark is the least of all splits, also of those
// that wait.
func TestSplits(t *testing.T) {
	for _, parallelism := range []int{1, 3} {
		const splits, each = 7, 100
		src := exec.Source[int]{
			List: func(context.Context) (all []exec.Split, err error) {
				for i := range splits {
					all = append(all, exec.Split{Name: "s", Mark: event.Time(i * 1000), Value: i})
				}
				return all, nil
			},
			Read: func(r *exec.Reading[int], s exec.Split) error {
				n := s.Value.(int)
				for i := range each {
					r.Advance(event.Time(n*1000 + i))
					if !r.Emit(n*each+i, event.Time(n*1000+i), 1) {
						return nil
					}
				}
				return nil
			},
		}
		p := levada.New()
		in := levada.RootOf[int](p, "in", src.Op(), false)
		w := levada.WindowInto(in, "w", levada.Windowing{Windows: window.Fixed(time.Second)})
		var late levada.LateOf[bool, int]
		grouped := levada.GroupByKey(levada.KeyBy(w, "key", func(int) bool { return true }), "group", levada.LateTo(&late))
		seen := make([]int, splits*each)
		levada.ForEach(grouped, "check", func(*levada.Setup) levada.Process[levada.KV[bool, levada.Values[int]]] {
			return func(_ *levada.Ctx, kv levada.KV[bool, levada.Values[int]]) error {
				for v := range kv.Value.All() {
					seen[v]++
				}
				return nil
			}
		})
		levada.ForEach(late, "late", func(*levada.Setup) levada.Process[levada.KV[bool, int]] {
			return func(_ *levada.Ctx, kv levada.KV[bool, int]) error { t.Errorf("late: %v", kv); return nil }
		})
		r, err := p.Run(t.Context(), levada.Embedded{Parallelism: parallelism, MaxBundle: 7})
		if err != nil {
			t.Fatal(err)
		}
		for v, n := range seen {
			if n != 1 {
				t.Fatalf("%d was read %d times", v, n)
			}
		}
		if n := r.Counter("in", "records"); n != splits*each {
			t.Errorf("records = %d", n)
		}
	}
}

// TestSourceErrors shows that failures of sources name the step.
func TestSourceErrors(t *testing.T) {
	boom := errors.New("boom")
	one := func(context.Context) ([]exec.Split, error) { return []exec.Split{{Name: "split"}}, nil }
	for name, src := range map[string]exec.Source[int]{
		"list":  {List: func(context.Context) ([]exec.Split, error) { return nil, boom }},
		"read":  {List: one, Read: func(*exec.Reading[int], exec.Split) error { return boom }},
		"panic": {List: one, Read: func(*exec.Reading[int], exec.Split) error { panic(boom) }},
		"range": {List: one, Read: func(r *exec.Reading[int], _ exec.Split) error { r.Emit(1, event.Max+1, 0); return nil }},
	} {
		p := levada.New()
		levada.RootOf[int](p, "in", src.Op(), false)
		_, err := p.Run(t.Context(), levada.Embedded{})
		var at *levada.StepError
		if !errors.As(err, &at) || at.Step != "in" || name != "range" && !errors.Is(err, boom) ||
			name == "range" && !errors.Is(err, levada.ErrOutOfRange) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestVirtualClock shows that the virtual clock moves only when it is told to.
func TestVirtualClock(t *testing.T) {
	c := &engine.Virtual{}
	if got := c.Now().UnixNano(); got != 0 {
		t.Errorf("it starts at %d", got)
	}
	c.Advance(3 * time.Second)
	if got := c.Now(); !got.Equal(time.Unix(3, 0)) {
		t.Errorf("%v", got)
	}
}
