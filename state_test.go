package levada_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/combine"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/levadatest"
	"github.com/levadaflow/levada/window"
	"pgregory.net/rapid"
)

// twin is what the cells of one key and window should have.
type twin struct {
	value   []int // one at most
	bag     []int
	sum     int64
	added   bool
	table   map[int]string
	set     map[int]bool
	ordered []levada.Timed[int]
}

// op is one random operation on the cells.
type op struct{ kind, a, b int }

// apply does an operation on the twin.
func (w *twin) apply(o op) {
	switch o.kind {
	case 0:
		w.value = []int{o.a}
	case 1:
		w.value = nil
	case 2:
		w.bag = append(w.bag, o.a)
	case 3:
		w.bag = nil
	case 4:
		w.sum, w.added = w.sum+int64(o.a), true
	case 5:
		w.sum, w.added = 0, false
	case 6:
		w.table[o.a] = fmt.Sprint(o.b)
	case 7:
		delete(w.table, o.a)
	case 8:
		w.set[o.a] = true
	case 9:
		delete(w.set, o.a)
	case 10:
		w.ordered = append(w.ordered, levada.Timed[int]{Value: o.b, Time: event.Time(o.a)})
		slices.SortStableFunc(w.ordered, func(x, y levada.Timed[int]) int { return int(x.Time - y.Time) })
	case 11:
		w.ordered = slices.DeleteFunc(w.ordered, func(x levada.Timed[int]) bool {
			return int(x.Time) >= min(o.a, o.b) && int(x.Time) < max(o.a, o.b)
		})
	}
}

// String shows all that can be read.
func (w *twin) String() string {
	var part []levada.Timed[int]
	for _, x := range w.ordered {
		if x.Time >= 3 && x.Time < 7 {
			part = append(part, x)
		}
	}
	v := 0
	if len(w.value) > 0 {
		v = w.value[0]
	}
	return fmt.Sprint(v, len(w.value) > 0, w.bag, len(w.bag), w.sum, w.added, w.table, len(w.table), slices.Sorted(maps.Keys(w.set)),
		len(w.set), w.ordered, part)
}

// cells is a step that does operations on cells and shows what is in them.
func cells(s *levada.Keyed[int], out *levada.Out[string]) levada.Process[levada.KV[int, op]] {
	value, bag := levada.ValueState[int](s, "value"), levada.BagState[int](s, "bag")
	sum := levada.CombiningState(s, "sum", combine.Sum[int64]())
	table, set := levada.MapState[int, string](s, "map"), levada.SetState[int](s, "set")
	ordered := levada.OrderedListState[int](s, "ordered")
	timed := func(seq func(func(event.Time, int) bool)) (all []levada.Timed[int]) {
		for t, v := range seq {
			all = append(all, levada.Timed[int]{Value: v, Time: t})
		}
		return all
	}
	show := func(c *levada.Ctx) string {
		v, some := value.Read(c)
		total, added := sum.Read(c)
		return fmt.Sprint(v, some, slices.Collect(bag.All(c)), bag.Len(c), total, added, maps.Collect(table.All(c)), table.Len(c),
			slices.Sorted(set.All(c)), set.Len(c), timed(ordered.All(c)), timed(ordered.Range(c, 3, 7)))
	}
	do := []func(c *levada.Ctx, o op){
		func(c *levada.Ctx, o op) { value.Write(c, o.a) }, func(c *levada.Ctx, o op) { value.Clear(c) },
		func(c *levada.Ctx, o op) { bag.Add(c, o.a) }, func(c *levada.Ctx, o op) { bag.Clear(c) },
		func(c *levada.Ctx, o op) { sum.Add(c, int64(o.a)) }, func(c *levada.Ctx, o op) { sum.Clear(c) },
		func(c *levada.Ctx, o op) { table.Put(c, o.a, fmt.Sprint(o.b)) }, func(c *levada.Ctx, o op) { table.Delete(c, o.a) },
		func(c *levada.Ctx, o op) { set.Add(c, o.a) }, func(c *levada.Ctx, o op) { set.Remove(c, o.a) },
		func(c *levada.Ctx, o op) { ordered.Add(c, event.Time(o.a), o.b) },
		func(c *levada.Ctx, o op) { ordered.ClearRange(c, event.Time(min(o.a, o.b)), event.Time(max(o.a, o.b))) },
	}
	return func(c *levada.Ctx, kv levada.KV[int, op]) error {
		do[kv.Value.kind](c, kv.Value)
		out.Emit(c, show(c))
		return nil
	}
}

// TestCells compares all cells with a twin, for random operations on several keys and windows.
func TestCells(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := levadatest.NewDriver()
		d.Run = levada.Embedded{Parallelism: rapid.IntRange(1, 2).Draw(rt, "parallelism")}
		defer d.Stop()
		src := levadatest.AddScript[levada.KV[int, op]](d, "src")
		w := levada.WindowInto(src.Out, "w", levada.Windowing{Windows: window.Sliding(20*time.Millisecond, 10*time.Millisecond)})
		got := levadatest.Gather(levada.ParDoKeyed(w, "step", cells), "got")
		if err := d.Start(); err != nil {
			rt.Fatal(err)
		}
		type place struct {
			key int
			w   event.Window
		}
		twins := map[place]*twin{}
		for range rapid.IntRange(1, 60).Draw(rt, "ops") {
			o := op{rapid.IntRange(0, 11).Draw(rt, "op"), rapid.IntRange(0, 12).Draw(rt, "a"), rapid.IntRange(0, 12).Draw(rt, "b")}
			key, at := rapid.IntRange(0, 2).Draw(rt, "key"), event.Time(rapid.Int64Range(0, 29).Draw(rt, "time"))
			if err := src.Add(at, levada.KV[int, op]{Key: key, Value: o}); err != nil {
				rt.Fatal(err)
			}
			var want, have []string
			for _, w := range window.Sliding(20*time.Millisecond, 10*time.Millisecond).Assign(nil, at) {
				x := twins[place{key, w}]
				if x == nil {
					x = &twin{table: map[int]string{}, set: map[int]bool{}}
					twins[place{key, w}] = x
				}
				x.apply(o)
				want = append(want, w.String()+" "+x.String())
			}
			for _, e := range got.Take() {
				have = append(have, e.Window.String()+" "+e.Value)
			}
			slices.Sort(want)
			slices.Sort(have)
			if !slices.Equal(have, want) {
				rt.Fatalf("%+v of key %d at %d:\n%s\nwant\n%s", o, key, at, strings.Join(have, "\n"), strings.Join(want, "\n"))
			}
		}
	})
}

// TestForeignState shows what becomes of a cell or timer that is used where it does not belong.
func TestForeignState(t *testing.T) {
	type setup = func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt]
	var cell *levada.ValueCell[int]
	var timer levada.Timer[string]
	owner := func(s *levada.Keyed[string], _ *levada.Out[string]) levada.Process[keyInt] {
		cell, timer = levada.ValueState[int](s, "cell"), levada.EventTimer(s, "timer")
		timer.OnFire(func(*levada.Ctx, string) error { return nil })
		return noElement
	}
	for name, use := range map[string]func(c *levada.Ctx){
		"read":  func(c *levada.Ctx) { cell.Read(c) },
		"write": func(c *levada.Ctx) { cell.Write(c, 1) },
		"set":   func(c *levada.Ctx) { timer.Set(c, 1) },
		"clear": func(c *levada.Ctx) { timer.Clear(c) },
	} {
		for where, fn := range map[string]setup{
			"another step": func(s *levada.Keyed[string], _ *levada.Out[string]) levada.Process[keyInt] {
				return func(c *levada.Ctx, _ keyInt) error { use(c); return nil }
			},
			"no call for a key": func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
				p := owner(s, out)
				s.OnBundleFinish(func(c *levada.Ctx) error { use(c); return nil })
				return p
			},
		} {
			p := levada.New()
			in := levada.Create(p, "in", keyInt{Key: "a", Value: 1})
			levada.ParDoKeyed(in, "owner", owner)
			levada.ParDoKeyed(in, "user", fn)
			_, err := p.Run(t.Context(), levada.Embedded{Parallelism: 1})
			if !errors.Is(err, levada.ErrForeignState) || !strings.Contains(err.Error(), "of step") {
				t.Errorf("%s in %s: %v", name, where, err)
			}
		}
	}
}

// TestStateDeclarations shows what is refused while building.
func TestStateDeclarations(t *testing.T) {
	type keyed = levada.Keyed[string]
	for _, c := range []struct {
		name string
		err  error
		w    levada.Windowing
		fn   func(s *keyed)
	}{
		{"two cells of a name", levada.ErrDuplicateState, levada.Windowing{}, func(s *keyed) {
			levada.ValueState[int](s, "x")
			levada.ValueState[string](s, "x")
		}},
		{"a value that cannot be encoded", levada.ErrValueType, levada.Windowing{}, func(s *keyed) { levada.BagState[chan int](s, "x") }},
		{"a map's key", levada.ErrKeyType, levada.Windowing{}, func(s *keyed) { levada.MapState[float64, int](s, "x") }},
		{"a timer without OnFire", levada.ErrBadTimer, levada.Windowing{}, func(s *keyed) { levada.EventTimer(s, "x") }},
		{"two OnFire", levada.ErrBadTimer, levada.Windowing{}, func(s *keyed) {
			timer := levada.EventTimer(s, "x")
			timer.OnFire(func(*levada.Ctx, string) error { return nil })
			timer.OnFire(func(*levada.Ctx, string) error { return nil })
		}},
		{"use while declaring", levada.ErrDeclaring, levada.Windowing{}, func(s *keyed) { levada.ValueState[int](s, "x").Read(&levada.Ctx{}) }},
		{"sessions", levada.ErrStatefulMerging, levada.Windowing{Windows: window.Sessions(time.Second)}, func(*keyed) {}},
		{"negative skew", levada.ErrBadSkew, levada.Windowing{}, func(s *keyed) { s.AllowSkew(levada.AllowedSkew(-1)) }},
		{"all is well", nil, levada.Windowing{}, func(s *keyed) {
			levada.ValueState[int](s, "x")
			levada.BagState[int](s, "x")
		}},
	} {
		p := levada.New()
		in := levada.WindowInto(levada.Create(p, "in", keyInt{}), "w", c.w)
		levada.ParDoKeyed(in, "step", func(s *keyed, _ *levada.Out[int]) levada.Process[keyInt] {
			c.fn(s)
			return noElement
		})
		if err := p.Err(); !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%s: %v, want %v", c.name, err, c.err)
		}
	}
}
