package exec

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/graph"
)

func testInst() *Inst { return &Inst{Step: &graph.Step{Name: "scope/step", ID: 7}} }

// TestJoin shows that each of an output's readers gets every element, in the order of the readers.
func TestJoin(t *testing.T) {
	for n := range 5 {
		var got, want []string
		var sinks []any
		for i := range n {
			sinks = append(sinks, Sink[string](func(e *Elem, v string) { got = append(got, fmt.Sprint(i, v, e.Time.Millis())) }))
		}
		joined := OutputOf[string]{}.Join(sinks).(Sink[string])
		for _, v := range []string{"a", "b"} {
			joined(&Elem{Time: 5}, v)
			for i := range n {
				want = append(want, fmt.Sprint(i, v, 5))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d readers: %q, want %q", n, got, want)
		}
	}
}

// TestJoinFails shows that a failure of one reader keeps the element from those behind it.
func TestJoinFails(t *testing.T) {
	for n := 2; n < 5; n++ {
		for failAt := range n {
			got := 0
			var sinks []any
			for i := range n {
				sinks = append(sinks, Sink[string](func(e *Elem, v string) {
					got++
					if i == failAt {
						e.Fail(testInst(), v, errors.New("boom"))
					}
				}))
			}
			OutputOf[string]{}.Join(sinks).(Sink[string])(&Elem{}, "v")
			if got != failAt+1 {
				t.Errorf("%d readers, number %d fails: %d got the element", n, failAt, got)
			}
		}
	}
}

// TestEmitRestores shows that the element has its own time again after Emit, also when the reader fails, and that the failure
// has the time that was emitted.
func TestEmitRestores(t *testing.T) {
	boom := errors.New("boom")
	for _, fails := range []bool{false, true} {
		e := &Elem{Run: &Run{}}
		e.Begin(10)
		seen := event.Min
		Emit(e, func(e *Elem, v string) {
			seen = e.Time
			if fails {
				e.Fail(testInst(), v, boom)
			}
		}, "v", 25)
		if e.Time != 10 || seen != 25 || len(e.Win) != 1 || e.Win[0] != event.Global() || e.Pane != event.NoPane {
			t.Errorf("fails: %v: seen at %v, and now %+v", fails, seen, e)
		}
		var f *Failure
		if errors.As(e.Err, &f) != fails || fails && f.Time != 25 {
			t.Errorf("fails: %v: %v", fails, e.Err)
		}
	}
}

// TestFailure shows that the first failure of a bundle stays, with its place, and that big elements are cut.
func TestFailure(t *testing.T) {
	first := errors.New("first")
	e := &Elem{Run: &Run{}}
	e.Begin(10)
	e.Fail(testInst(), strings.Repeat("x", 1000), first)
	e.Fail(testInst(), "other", errors.New("second"))
	e.Panicked(testInst(), "other", "third")
	var f *Failure
	if !errors.As(e.Err, &f) || !errors.Is(e.Err, first) {
		t.Fatalf("%v", e.Err)
	}
	want := "step scope/step, element " + strings.Repeat("x", 200) + "... (1000 bytes) at 1970-01-01T00:00:00.010Z in window global: first"
	if f.Error() != want {
		t.Errorf("%q", f.Error())
	}

	e = &Elem{Run: &Run{}}
	func() {
		defer func() { e.Panicked(testInst(), nil, recover()) }()
		panic(fmt.Errorf("wrapped: %w", first))
	}()
	if !errors.As(e.Err, &f) || !errors.Is(e.Err, first) || f.Element != "" || f.Window != "" || !strings.Contains(f.Stack, "elem_test.go") {
		t.Errorf("%v", e.Err)
	}
}

// TestEnter shows that the step at work is known, and that none is at first.
func TestEnter(t *testing.T) {
	var e Elem
	if e.At() != -1 {
		t.Errorf("at first in step %d", e.At())
	}
	insts := map[*graph.Step]*Inst{}
	for _, id := range []int{0, 5, 0} {
		e.Enter(newInst(&graph.Step{ID: id}, insts))
		if int(e.At()) != id {
			t.Errorf("in step %d, want %d", e.At(), id)
		}
	}
}
