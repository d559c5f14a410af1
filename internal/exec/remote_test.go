package exec_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/internal/graph"
	"github.com/levadaflow/levada/window"
)

// carried is an element on its way to a foreign runner.
type carried struct {
	key, value string
	at         event.Time
	wins       []event.Window
}

// foreign is a foreign runner: it keeps what it is given.
type foreign struct {
	all []carried
	err error
}

// Carry implements [exec.Carrier].
func (f *foreign) Carry(e *exec.Elem, key, value []byte) error {
	f.all = append(f.all, carried{string(key), string(value), e.Time, slices.Clone(e.Win)})
	return f.err
}

// values are those of the key k in the window w.
func (f *foreign) values(k string, w event.Window) func(yield func([]byte, error) bool) {
	return func(yield func([]byte, error) bool) {
		for _, c := range f.all {
			if c.key == k && slices.Contains(c.wins, w) && !yield([]byte(c.value), nil) {
				return
			}
		}
	}
}

// bindRemote binds the stages of a pipeline with a root "in" to a foreign runner, and returns them, with what pushes into the
// root.
func bindRemote(t *testing.T, to *foreign, build func(in levada.PCollection[pair])) (stages []*exec.Bound, push exec.Sink[pair]) {
	t.Helper()
	p := levada.New()
	root := &exec.RootOp{Bind: func(_ *exec.Binder, _ *exec.Inst, outs []any) exec.RootTask {
		push = outs[0].(exec.Sink[pair])
		return nil
	}}
	build(levada.RootOf[pair](p, "in", root, false))
	g, err := p.Build()
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range g.Fuse() {
		e := &exec.Elem{Run: &exec.Run{Ctx: context.Background()}}
		b := &exec.Binder{Elem: e, Tasks: 1, Metrics: exec.NewMetrics(), Carrier: func(graph.Edge) exec.Carrier { return to }}
		stages = append(stages, exec.Bind(st, b, nil))
	}
	return stages, push
}

// TestRemoteGroup shows that elements are carried with the windows that the chain has given them, also where the engine would
// leave that to the table, and that a pane is added up as the table does.
func TestRemoteGroup(t *testing.T) {
	to := &foreign{}
	var got []string
	stages, push := bindRemote(t, to, func(in levada.PCollection[pair]) {
		minutes := levada.WindowInto(in, "minutes", levada.Windowing{Windows: window.Fixed(time.Minute)})
		levada.Do(levada.SumPerKey(minutes, "sum"), "out", func(c *levada.Ctx, kv pair) error {
			got = append(got, fmt.Sprintf("%s=%d at %v", kv.Key, kv.Value, c.Time().Millis()))
			return nil
		})
	})
	e := stages[0].Elem
	for i, k := range []string{"a", "b", "a"} {
		e.Begin(event.Time(i))
		push(e, pair{Key: k, Value: 40 + i})
	}
	minute := event.Window{Start: 0, End: 60_000}
	if len(to.all) != 3 || !slices.Equal(to.all[1].wins, []event.Window{minute}) || to.all[1].at != 1 || to.all[1].key != "\x01b" {
		t.Fatalf("carried are %+v", to.all)
	}
	if stages[1].Reader != nil {
		t.Error("the stage has a table")
	}
	e = stages[1].Elem
	e.Time, e.Win, e.Pane = minute.Last(), []event.Window{minute}, event.NoPane
	for _, k := range []string{"\x01a", "\x01b"} {
		if stages[1].Remote.Take(e, []byte(k), to.values(k, minute)); e.Err != nil {
			t.Fatal(e.Err)
		}
	}
	if !slices.Equal(got, []string{"a=82 at 59999", "b=41 at 59999"}) {
		t.Errorf("the panes are %q", got)
	}
}

// TestRemotePass shows the same for an exchange without keys.
func TestRemotePass(t *testing.T) {
	to := &foreign{}
	var got []pair
	stages, push := bindRemote(t, to, func(in levada.PCollection[pair]) {
		other := levada.Create(in.Pipeline(), "other", pair{})
		levada.Do(levada.Flatten("both", in, other), "out", func(_ *levada.Ctx, kv pair) error {
			got = append(got, kv)
			return nil
		})
	})
	stages[0].Elem.Begin(5)
	push(stages[0].Elem, pair{Key: "k", Value: 7})
	if len(to.all) != 1 || to.all[0].key != "" || to.all[0].at != 5 {
		t.Fatalf("carried are %+v", to.all)
	}
	e := stages[2].Elem
	e.Begin(5)
	stages[2].Remote.Take(e, nil, to.values("", event.Global()))
	if e.Err != nil || !slices.Equal(got, []pair{{Key: "k", Value: 7}}) {
		t.Errorf("%v comes out, %v", got, e.Err)
	}
}

// TestRemoteFailures shows that what cannot be carried or read fails the step behind the exchange.
func TestRemoteFailures(t *testing.T) {
	to := &foreign{err: errors.New("no way")}
	stages, push := bindRemote(t, to, func(in levada.PCollection[pair]) { levada.GroupByKey(in, "group") })
	stages[0].Elem.Begin(5)
	push(stages[0].Elem, pair{Key: "k", Value: 7})
	failure(t, stages[0].Elem.Err, "group", "k: 7", "no way")
	push(stages[0].Elem, pair{Key: "l", Value: 7})
	if len(to.all) != 1 {
		t.Errorf("after the failure %+v is carried", to.all[1:])
	}
	one := func(data string, err error) func(yield func([]byte, error) bool) {
		return func(yield func([]byte, error) bool) { yield([]byte(data), err) }
	}
	for _, bad := range []struct {
		key    string
		values func(yield func([]byte, error) bool)
		text   string
	}{
		{"\x05k", one("\x0e", nil), "string: at byte"},
		{"\x01kk", one("\x0e", nil), "bytes are left over"},
		{"\x01k", one("\x0e\x0e", nil), "bytes are left over"},
		{"\x01k", one("", nil), "int: at byte"},
		{"\x01k", one("", errors.New("lost")), "lost"},
	} {
		e := stages[1].Elem
		e.Err = nil
		e.Begin(5)
		stages[1].Remote.Take(e, []byte(bad.key), bad.values)
		failure(t, e.Err, "group", "", bad.text)
	}
}

func failure(t *testing.T, err error, step, element, text string) {
	t.Helper()
	var f *exec.Failure
	if !errors.As(err, &f) || f.Step != step || !strings.Contains(f.Element, element) || !strings.Contains(f.Err.Error(), text) {
		t.Errorf("not a failure of step %s at %q with %q: %v", step, element, text, err)
	}
}
