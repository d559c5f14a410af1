package portable_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/combine"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/window"
)

// request is a line of an access log.
type request struct {
	At     event.Time
	Path   string
	Status int
	Bytes  int64
}

// logLines returns n lines of a few minutes around the epoch, out of order; every 50th is malformed.
func logLines(n int) []string {
	lines := make([]string, n)
	for i := range lines {
		at := event.Time(i*7919%240_000 - 100_000)
		lines[i] = fmt.Sprintf("%v /page/%d %d %d", at, i*i%7, 200+i%3*100, i%1000)
		if i%50 == 49 {
			lines[i] = fmt.Sprintf("garbage %d", i)
		}
	}
	return lines
}

func parseLine(line string) (r request, err error) {
	fields := strings.Fields(line)
	if len(fields) != 4 {
		return r, fmt.Errorf("%d fields", len(fields))
	}
	at, err := event.ParseRFC3339(fields[0])
	if err != nil {
		return r, err
	}
	status, err := strconv.Atoi(fields[2])
	if err != nil {
		return r, err
	}
	bytes, err := strconv.ParseInt(fields[3], 10, 64)
	return request{at, fields[1], status, bytes}, err
}

// parse is a DoFn with two outputs that gives requests their times.
func parse(s *levada.Setup, out *levada.Out[request], bad *levada.Out[string]) levada.Process[string] {
	malformed := s.Counter("malformed")
	return func(c *levada.Ctx, line string) error {
		r, err := parseLine(line)
		if err != nil {
			malformed.Inc(1)
			bad.Emit(c, line)
			return nil
		}
		out.EmitAt(c, r, r.At)
		return nil
	}
}

// requests reads n lines, and collects those that are malformed.
func requests(p *levada.Pipeline, name string, n int, to *results) levada.PCollection[request] {
	return levada.Scope(p, name, func() levada.PCollection[request] {
		good, bad := levada.ParDo2(levada.Create(p, "lines", logLines(n)...), "parse", parse)
		collect(bad, "bad", to)
		return good
	})
}

func minutes(in levada.PCollection[request]) levada.PCollection[request] {
	return levada.WindowInto(in, "minutes", levada.Windowing{Windows: window.Fixed(time.Minute)})
}

func sliding(in levada.PCollection[request]) levada.PCollection[request] {
	return levada.WindowInto(in, "sliding", levada.Windowing{Windows: window.Sliding(time.Minute, 20*time.Second)})
}

func byPath(in levada.PCollection[request]) levada.PCollection[levada.KV[string, request]] {
	return levada.KeyBy(in, "by-path", func(r request) string { return r.Path })
}

// page is a key of several parts.
type page struct {
	Path  string
	Class [1]uint8
}

func bytesByPage(in levada.PCollection[request]) levada.PCollection[levada.KV[page, int64]] {
	return levada.KeyValue(in, "by-page", func(r request) (page, int64) { return page{r.Path, [1]uint8{uint8(r.Status / 100)}}, r.Bytes })
}

// summary groups and tells what is in the groups.
func summary(in levada.PCollection[levada.KV[string, request]]) levada.PCollection[string] {
	type group = levada.KV[string, levada.Values[request]]
	return levada.Map(levada.GroupByKey(in, "group"), "summary", func(kv group) string {
		all := slices.SortedFunc(kv.Value.All(), func(a, b request) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Bytes, b.Bytes)) })
		return fmt.Sprintf("%s: %d from %v to %v", kv.Key, kv.Value.Len(), all[0], all[len(all)-1])
	})
}

// format is a ParDo after a grouping that formats what the grouping gave.
func format[K comparable, V any](in levada.PCollection[levada.KV[K, V]]) levada.PCollection[string] {
	return levada.ParDo(in, "format", func(_ *levada.Setup, out *levada.Out[string]) levada.Process[levada.KV[K, V]] {
		return func(c *levada.Ctx, kv levada.KV[K, V]) error {
			out.Emit(c, fmt.Sprintf("%v=%v", kv.Key, kv.Value))
			return nil
		}
	})
}

// programs are pipelines whose results must be the same wherever they run.
var programs = map[string]func(p *levada.Pipeline, to *results){
	"stateless": func(p *levada.Pipeline, to *results) {
		collect(requests(p, "log", 500, to), "good", to)
	},
	"group": func(p *levada.Pipeline, to *results) {
		collect(summary(byPath(minutes(requests(p, "log", 2000, to)))), "out", to)
	},
	"combine": func(p *levada.Pipeline, to *results) {
		collect(format(levada.SumPerKey(bytesByPage(minutes(requests(p, "log", 2000, to))), "sum")), "out", to)
	},
	"sliding": func(p *levada.Pipeline, to *results) {
		in := sliding(requests(p, "log", 1000, to))
		collect(summary(byPath(in)), "groups", to)
		collect(format(levada.SumPerKey(bytesByPage(in), "sum")), "sums", to)
	},
	"sliding with gaps": func(p *levada.Pipeline, to *results) {
		in := levada.WindowInto(requests(p, "log", 1000, to), "gaps",
			levada.Windowing{Windows: window.Sliding(5*time.Second, 20*time.Second).Offset(3 * time.Second)})
		collect(format(levada.CountPerKey(byPath(in), "count")), "counts", to)
	},
	"global": func(p *levada.Pipeline, to *results) {
		in := requests(p, "log", 300, to)
		collect(levada.CombineGlobally(in, "count", combine.Count[request]()), "all", to)
		collect(levada.CombineGlobally(minutes(in), "each", combine.Count[request]()), "each", to)
	},
	"flatten": func(p *levada.Pipeline, to *results) {
		a, b := sliding(requests(p, "a", 300, to)), requests(p, "b", 500, to)
		c := levada.WindowInto(b, "like-a", levada.Windowing{Windows: window.Sliding(time.Minute, 20*time.Second)})
		both := levada.Flatten("both", a, c)
		collect(both, "flat", to)
		collect(format(levada.CountPerKey(byPath(both), "count")), "counts", to)
	},
	"flatten in a stage": func(p *levada.Pipeline, to *results) {
		in := minutes(requests(p, "log", 300, to))
		collect(summary(byPath(levada.Flatten("both", in, in))), "twice", to)
	},
	"two groupings": func(p *levada.Pipeline, to *results) {
		counts := levada.CountPerKey(byPath(minutes(requests(p, "log", 2000, to))), "count")
		type count = levada.KV[string, int64]
		wide := levada.WindowInto(counts, "wide", levada.Windowing{
			Windows: window.Fixed(2 * time.Minute).Offset(30 * time.Second), AllowedLateness: time.Hour, Accumulation: levada.Discarding,
		})
		byCount := levada.KeyValue(wide, "by-count", func(c count) (int64, string) { return c.Value, c.Key })
		type paths = levada.KV[int64, levada.Values[string]]
		collect(levada.Map(levada.GroupByKey(byCount, "group"), "sorted", func(kv paths) string {
			return fmt.Sprint(kv.Key, slices.Sorted(kv.Value.All()))
		}), "out", to)
	},
	"larger than a message": func(p *levada.Pipeline, to *results) {
		in := levada.Map(levada.Create(p, "n", make([]int, 40)...), "text", func(int) string { return strings.Repeat("x", 100_000) })
		keyed := levada.KeyBy(in, "key", func(s string) bool { return len(s) > 5 })
		type texts = levada.KV[bool, levada.Values[string]]
		collect(levada.Map(levada.GroupByKey(keyed, "group"), "size", func(kv texts) (n int) {
			for v := range kv.Value.All() {
				n += len(v)
			}
			return n
		}), "out", to)
	},
	"bundles": func(p *levada.Pipeline, to *results) {
		collect(levada.ParDo(minutes(requests(p, "log", 100, to)), "hooks", atTheEnd), "counted", to)
	},
	"calls": func(p *levada.Pipeline, to *results) {
		var refused levada.FailedOf[request]
		in := levada.MapConcurrent(sliding(requests(p, "log", 500, to)), "ask", levada.Concurrent{Max: 16}, ask, levada.FailedTo(&refused))
		collect(refused, "refused", to)
		counts := format(levada.CountPerKey(byPath(in), "count"))
		collect(levada.MapConcurrent(counts, "ask-again", levada.Concurrent{Max: 2, Ordered: true}, func(_ context.Context, s string) (string, error) {
			return "got " + s, nil
		}), "counts", to)
	},
	"empty": func(p *levada.Pipeline, to *results) {
		collect(levada.CountPerKey(byPath(minutes(requests(p, "log", 0, to))), "count"), "none", to)
	},
}

// ask is a call of a service that refuses some.
func ask(ctx context.Context, r request) (request, error) {
	select {
	case <-time.After(time.Duration(r.Bytes%7) * time.Millisecond):
	case <-ctx.Done():
	}
	if r.Bytes%10 == 0 {
		return r, errors.New("refused")
	}
	return r, ctx.Err()
}

// atTheEnd emits at a bundle's end whether it had elements.
func atTheEnd(s *levada.Setup, out *levada.Out[bool]) levada.Process[request] {
	n := 0
	s.OnBundleStart(func(*levada.Ctx) error { n = 0; return nil })
	s.OnBundleFinish(func(c *levada.Ctx) error {
		if n > 0 {
			out.EmitIn(c, true, 5, event.Window{Start: 0, End: 60_000})
		}
		return nil
	})
	return func(*levada.Ctx, request) error { n++; return nil }
}

// TestLikeEmbedded shows that programs give on Prism what they give on the embedded engine, whose results do not depend on its
// parallelism.
func TestLikeEmbedded(t *testing.T) {
	for name, build := range programs {
		t.Run(name, func(t *testing.T) {
			var to results
			p := levada.New()
			build(p, &to)
			if _, err := p.Run(t.Context(), levada.Embedded{Parallelism: 1}); err != nil {
				t.Fatal(err)
			}
			want := to.take()
			if len(want) == 0 && name != "empty" {
				t.Fatal("the program gives nothing")
			}
			if _, err := onPrism(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(want, to.take()); diff != "" {
				t.Errorf("(-embedded +Prism):\n%s", diff)
			}
		})
	}
}

var errUser = errors.New("the user's own error")

// failures are pipelines that fail, and with what.
var failures = map[string]struct {
	build func(p *levada.Pipeline, to *results)
	step  string
	parts []string // of the error's text
}{
	"error behind a root": {
		func(p *levada.Pipeline, _ *results) {
			in := levada.CreateTimed(p, "in", levada.Timed[string]{Value: "x", Time: 1_000})
			levada.Do(levada.WindowInto(in, "w", levada.Windowing{Windows: window.Fixed(time.Minute)}), "fails",
				func(*levada.Ctx, string) error { return errUser })
		}, "fails", []string{"element x at 1970-01-01T00:00:01.000Z", "in window [1970-01-01T00:00:00.000Z, 1970-01-01T00:01:00.000Z)", errUser.Error()},
	},
	"error behind a grouping": {
		func(p *levada.Pipeline, to *results) {
			groups := levada.CountPerKey(byPath(minutes(requests(p, "log", 100, to))), "count")
			levada.Scope(p, "check", func() int {
				levada.Do(groups, "limit", func(_ *levada.Ctx, kv levada.KV[string, int64]) error {
					if kv.Key == "/page/2" {
						return errUser
					}
					return nil
				})
				return 0
			})
		}, "check/limit", []string{"element /page/2: ", "in window [", errUser.Error()},
	},
	"panic": {
		func(p *levada.Pipeline, to *results) {
			levada.Map(requests(p, "log", 10, to), "divide", func(r request) int { return r.Status / int(r.Bytes) })
		}, "divide", []string{"panic: runtime error: integer divide by zero", "portable_test.go"},
	},
	"panic behind a grouping": {
		func(p *levada.Pipeline, to *results) {
			in := levada.CountPerKey(byPath(minutes(requests(p, "log", 100, to))), "count")
			levada.Map(in, "throw", func(kv levada.KV[string, int64]) int { panic(errUser) })
		}, "throw", []string{"element /page/", "panic: " + errUser.Error()},
	},
	"bad time": {
		func(p *levada.Pipeline, to *results) {
			in := levada.WithTimestamps(requests(p, "log", 10, to), "back", func(r request) event.Time { return r.At - 1 })
			levada.CountPerKey(byPath(in), "count")
		}, "back", []string{levada.ErrSkew.Error()},
	},
	"setup": {
		func(p *levada.Pipeline, to *results) {
			levada.ForEach(requests(p, "log", 10, to), "start", func(s *levada.Setup) levada.Process[request] {
				s.OnStart(func(context.Context) error { return errUser })
				return func(*levada.Ctx, request) error { return nil }
			})
		}, "start", []string{errUser.Error()},
	},
	"close": {
		func(p *levada.Pipeline, to *results) {
			groups := levada.CountPerKey(byPath(minutes(requests(p, "log", 100, to))), "count")
			levada.ForEach(groups, "last", func(s *levada.Setup) levada.Process[levada.KV[string, int64]] {
				s.OnClose(func() error { return errUser })
				return func(*levada.Ctx, levada.KV[string, int64]) error { return nil }
			})
		}, "last", []string{errUser.Error()},
	},
	"window that has no form": {
		func(p *levada.Pipeline, to *results) {
			in := levada.ParDo(minutes(requests(p, "log", 100, to)), "label", func(s *levada.Setup, out *levada.Out[request]) levada.Process[request] {
				s.OnBundleFinish(func(c *levada.Ctx) error {
					out.EmitIn(c, request{}, 5, event.Window{Start: 0, End: 60_000}.Labelled("x"))
					return nil
				})
				return func(*levada.Ctx, request) error { return nil }
			})
			levada.CountPerKey(byPath(in), "count")
		}, "count", []string{"has a label"},
	},
}

// TestFailures shows that a run fails with the step, the element and its window, as the embedded engine's does.
func TestFailures(t *testing.T) {
	for name, f := range failures {
		t.Run(name, func(t *testing.T) {
			p := levada.New()
			f.build(p, &results{})
			_, err := onPrism(t.Context(), p)
			var step *levada.StepError
			if !errors.As(err, &step) || step.Step != f.step {
				t.Fatalf("not an error of step %s: %v", f.step, err)
			}
			for _, part := range f.parts {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in %v", part, err)
				}
			}
			if strings.Contains(strings.Join(f.parts, " "), errUser.Error()) && !errors.Is(err, errUser) {
				t.Errorf("not the user's error: %v", err)
			}
		})
	}
}
