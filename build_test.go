package levada_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/combine"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/window"
)

func id[T any](v T) T { return v }

// badKey has a field for which == and equal encodings differ.
type badKey struct {
	Name string
	At   time.Time
}

// TestBuildErrors shows that each mistake is found while building, with the step's path and the line of the call, and that all are
// reported together.
func TestBuildErrors(t *testing.T) {
	p := levada.New()
	in := levada.Create(p, "in", 1, 2)
	timed := func(levada.PCollection[int]) levada.PCollection[levada.KV[int, int]] {
		return levada.KeyBy(in, "ok", id[int])
	}
	pairs := timed(in)
	want := []struct {
		step string
		err  error
	}{}
	expect := func(step string, err error) {
		want = append(want, struct {
			step string
			err  error
		}{step, err})
	}
	expect("in", levada.ErrDuplicateName)
	levada.Map(in, "in", id[int])
	expect("", levada.ErrBadName)
	levada.Map(in, "", id[int])
	expect("a/b", levada.ErrBadName)
	levada.Map(in, "a/b", id[int])
	expect("size", levada.ErrBadWindow)
	levada.WindowInto(in, "size", levada.Windowing{Windows: window.Fixed(-time.Second)})
	expect("fraction", levada.ErrBadWindow)
	levada.WindowInto(in, "fraction", levada.Windowing{Windows: window.Fixed(time.Second + time.Microsecond)})
	expect("lateness", levada.ErrBadLateness)
	levada.WindowInto(in, "lateness", levada.Windowing{AllowedLateness: -1})
	expect("accumulation", levada.ErrAccumulationUnset)
	levada.WindowInto(in, "accumulation", levada.Windowing{Windows: window.Fixed(time.Second), AllowedLateness: time.Second})
	expect("skew", levada.ErrBadSkew)
	levada.WithTimestamps(in, "skew", func(int) event.Time { return 0 }, levada.AllowedSkew(-time.Second))
	expect("outer/inner/skew", levada.ErrBadSkew)
	levada.Scope(p, "outer", func() levada.PCollection[int] {
		return levada.Scope(p, "inner", func() levada.PCollection[int] {
			return levada.MapTimed(in, "skew", func(v int) (event.Time, int) { return 0, v }, levada.AllowedSkew(time.Microsecond))
		})
	})
	expect("float", levada.ErrKeyType)
	levada.GroupByKey(levada.KeyBy(in, "to-float", func(v int) float64 { return float64(v) }), "float")
	expect("struct", levada.ErrKeyType)
	levada.CountPerKey(levada.KeyBy(in, "to-struct", func(int) badKey { return badKey{} }), "struct")
	expect("chan", levada.ErrValueType)
	levada.GroupByKey(levada.KeyValue(in, "to-chan", func(v int) (int, chan int) { return v, nil }), "chan")
	expect("shuffle", levada.ErrValueType)
	levada.Reshuffle(levada.Map(in, "to-func", func(v int) func() { return nil }), "shuffle")
	expect("flat", levada.ErrIncompatibleFlatten)
	a := levada.WindowInto(in, "minutes", levada.Windowing{Windows: window.Fixed(time.Minute)})
	levada.Flatten("flat", a, levada.WindowInto(in, "hours", levada.Windowing{Windows: window.Fixed(time.Hour)}))
	expect("far", levada.ErrOutOfRange)
	levada.CreateTimed(p, "far", levada.Timed[int]{Value: 1, Time: event.Max + 1})
	expect("uses", levada.ErrDeclaring)
	levada.ParDo(in, "uses", func(s *levada.Setup, _ *levada.Out[int]) levada.Process[int] {
		s.Counter("n").Inc(1)
		return nil
	})
	_ = pairs

	_, err := p.Run(t.Context(), levada.Embedded{})
	var all levada.BuildErrors
	if !errors.As(err, &all) {
		t.Fatalf("Run: %v, want BuildErrors", err)
	}
	for i, w := range want {
		if i >= len(all) {
			t.Fatalf("%d problems, want %d", len(all), len(want))
		}
		if got := all[i]; got.Step != w.step || !errors.Is(got, w.err) || !strings.Contains(got.Site, "build_test.go:") {
			t.Errorf("problem %d: %v, want %s: %v at build_test.go", i, got, w.step, w.err)
		}
		if !errors.Is(err, w.err) {
			t.Errorf("errors.Is does not find %v in all", w.err)
		}
	}
	if len(all) != len(want) {
		t.Errorf("%d problems, want %d:\n%v", len(all), len(want), err)
	}
	for _, text := range []string{"badKey.At", "time.Time"} {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("the text does not name %s:\n%v", text, err)
		}
	}
}

// TestBuildSite shows that the line is that of the user's call, also for what steps are made of.
func TestBuildSite(t *testing.T) {
	p := levada.New()
	in := levada.Create(p, "in", 1)
	levada.CombineGlobally(in, "sum", combine.Sum[int]())
	levada.CombineGlobally(in, "sum", combine.Sum[int]()) // line 115
	var all levada.BuildErrors
	if !errors.As(p.Err(), &all) || len(all) != 3 {
		t.Fatalf("%v, want three problems", p.Err())
	}
	for _, x := range all {
		if !strings.HasSuffix(x.Site, "build_test.go:115") {
			t.Errorf("%v", x)
		}
	}
}

func TestZeroCollection(t *testing.T) {
	defer func() {
		err, ok := recover().(*levada.BuildError)
		if !ok || err.Step != "late" || !strings.Contains(err.Error(), "LateTo") {
			t.Errorf("panicked with %v", err)
		}
	}()
	var late levada.LateOf[string, int]
	levada.Map(late, "late", id[levada.KV[string, int]])
}

func TestOtherPipeline(t *testing.T) {
	p, q := levada.New(), levada.New()
	levada.Flatten("both", levada.Create(p, "in", 1), levada.Create(q, "in", 2))
	if !errors.Is(p.Err(), levada.ErrOtherPipeline) {
		t.Errorf("%v", p.Err())
	}
}

func TestEmbeddedNegative(t *testing.T) {
	for _, e := range []levada.Embedded{{Parallelism: -1}, {MaxBundle: -1}} {
		if _, err := levada.New().Run(t.Context(), e); err == nil {
			t.Errorf("%+v was accepted", e)
		}
	}
}

func TestEmptyPipeline(t *testing.T) {
	if _, err := levada.New().Run(t.Context(), levada.Embedded{}); err != nil {
		t.Error(err)
	}
}
