package levada_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/combine"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/levadatest"
	"github.com/levadaflow/levada/trigger"
	"github.com/levadaflow/levada/window"
)

// hellos are elements of one key.
func hellos(numbers ...int) []levada.Timed[keyInt] {
	var all []levada.Timed[keyInt]
	for _, n := range numbers {
		all = append(all, el(event.Min, pair("hello", n)))
	}
	return all
}

// counting emits how many elements the key and window had before, and counts on.
func counting(start, by int) keyedFn {
	return func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
		state := levada.ValueState[int](s, "foo")
		return func(c *levada.Ctx, _ keyInt) error {
			n, ok := state.Read(c)
			if !ok {
				n = start
			}
			out.Emit(c, fmt.Sprint(n))
			state.Write(c, n+by)
			return nil
		}
	}
}

// TestBeamValueState shows values for each key and window.
func TestBeamValueState(t *testing.T) {
	beam(t, "testValueStateSimple", false, hellos(42, 97, 84), keyedStep(global, counting(0, 1)), valueOf, "0", "1", "2")
	in := []levada.Timed[keyInt]{el(1, pair("hello", 7)), el(2, pair("hello", 14)), el(3, pair("hello", 21)), el(11, pair("hello", 28)),
		el(13, pair("hello", 35))}
	beam(t, "testValueStateFixedWindows", false, in, keyedStep(levada.Windowing{Windows: window.Fixed(10 * time.Millisecond)}, counting(0, 1)),
		windowed, "0@1 [0,10)", "1@2 [0,10)", "2@3 [0,10)", "0@11 [10,20)", "1@13 [10,20)")
	beam(t, "testValueStateSameId", false, hellos(42, 97, 84), func(in levada.PCollection[keyInt]) levada.PCollection[string] {
		first := levada.ParDoKeyed(in, "first", counting(0, 1))
		again := levada.Map(first, "again", func(string) keyInt { return pair("sizzle", 0) })
		return levada.Flatten("both", first, levada.ParDoKeyed(again, "second", counting(13, 13)))
	}, valueOf, "0", "1", "2", "13", "26", "39")
	in = hellos(42, 97, 84)
	in = append(in, el(event.Min, pair("goodbye", 33)), el(event.Min, pair("hello", 859)), el(event.Min, pair("goodbye", 83945)))
	beam(t, "testValueStateTaggedOutput", false, in, func(in levada.PCollection[keyInt]) levada.PCollection[string] {
		even, odd := levada.ParDoKeyed2(in, "step", func(s *levada.Keyed[string], even, odd *levada.Out[string]) levada.Process[keyInt] {
			state := levada.ValueState[int](s, "foo")
			return func(c *levada.Ctx, _ keyInt) error {
				n, _ := state.Read(c)
				if n%2 == 0 {
					even.Emit(c, fmt.Sprint(n))
				} else {
					odd.Emit(c, fmt.Sprint(n))
				}
				state.Write(c, n+1)
				return nil
			}
		})
		return levada.Flatten("both", levada.Map(even, "even", func(s string) string { return "even " + s }), levada.Map(odd, "odd", func(s string) string { return "odd " + s }))
	}, valueOf, "even 0", "even 2", "even 0", "odd 1", "odd 3", "odd 1")
	var many []levada.Timed[keyInt]
	var want []string
	for key := range 50 {
		want = append(want, fmt.Sprint(1000+key))
		for i := range 15 {
			many = append(many, el(event.Min, pair(fmt.Sprint((key+i*7)%50), 1000+(key+i*7)%50)))
		}
	}
	beam(t, "testValueStateDedup", false, many, keyedStep(global, func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
		seen := levada.ValueState[bool](s, "seen")
		return func(c *levada.Ctx, kv keyInt) error {
			if _, ok := seen.Read(c); !ok {
				seen.Write(c, true)
				out.Emit(c, fmt.Sprint(kv.Value))
			}
			return nil
		}
	}), valueOf, want...)
}

// TestBeamBagState shows that what was read stays as it was when something is added.
func TestBeamBagState(t *testing.T) {
	bag := func(view *levada.IterView[int]) keyedFn {
		return func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
			var side *levada.Iter[int]
			if view != nil {
				side = levada.Side(s, *view)
			}
			state := levada.BagState[int](s, "foo")
			return func(c *levada.Ctx, kv keyInt) error {
				state.Add(c, kv.Value)
				now, n := state.All(c), state.Len(c)
				if n >= 4 {
					state.Add(c, -1)
					out.Emit(c, fmt.Sprint(slices.Sorted(now), state.Len(c)))
					if side != nil {
						out.Emit(c, fmt.Sprint(slices.Sorted(side.All(c))))
					}
				}
				return nil
			}
		}
	}
	beam(t, "testBagState", false, hellos(97, 42, 84, 12), keyedStep(global, bag(nil)), valueOf, "[12 42 84 97] 5")
	beam(t, "testBagStateSideInput", false, hellos(97, 42, 84, 12), func(in levada.PCollection[keyInt]) levada.PCollection[string] {
		view := levada.AsIter(levada.Create(in.Pipeline(), "side", 2, 1, 0), "view")
		return levada.ParDoKeyed(in, "step", bag(&view))
	}, valueOf, "[12 42 84 97] 5", "[0 1 2]")
	beam(t, "testSetState", false, hellos(97, 42, 42, 12), keyedStep(global, func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
		state, count := levada.SetState[int](s, "foo"), levada.CombiningState(s, "count", combine.Count[int]())
		return func(c *levada.Ctx, kv keyInt) error {
			state.Add(c, kv.Value)
			count.Add(c, 1)
			if n, _ := count.Read(c); n >= 4 {
				now := state.All(c)
				state.Add(c, -1)
				out.Emit(c, fmt.Sprint(slices.Sorted(now), state.Len(c)))
			}
			return nil
		}
	}), valueOf, "[12 42 97] 4")
	beam(t, "testSetStateNoReadOnAddIfAbsentInsertsElement", true, hellos(1, 2, 2, 3),
		keyedStep(global, func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
			state := levada.SetState[int](s, "foo")
			return func(c *levada.Ctx, kv keyInt) error {
				out.Emit(c, fmt.Sprint(state.Add(c, kv.Value), slices.Sorted(state.All(c))))
				return nil
			}
		}), valueOf, "true [1]", "true [1 2]", "false [1 2]", "true [1 2 3]")
}

// TestBeamCombiningState shows the result after each value.
func TestBeamCombiningState(t *testing.T) {
	beam(t, "testCombiningState", false, hellos(3, 6, 6), keyedStep(global, func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
		state := levada.CombiningState(s, "mean", combine.Mean[int]())
		return func(c *levada.Ctx, kv keyInt) error {
			state.Add(c, kv.Value)
			mean, _ := state.Read(c)
			out.Emit(c, fmt.Sprint(mean))
			return nil
		}
	}), valueOf, "3", "4.5", "5")
}

// TestBeamMapState shows a map, whose walk stays as it was when something is put.
func TestBeamMapState(t *testing.T) {
	entries := func(all iter.Seq2[string, int]) string {
		var list []string
		for k, v := range all {
			list = append(list, fmt.Sprint(k, ":", v))
		}
		slices.Sort(list)
		return strings.Join(list, " ")
	}
	type named = levada.KV[string, keyInt]
	step := func(put func(c *levada.Ctx, m *levada.MapCell[string, int], kv keyInt)) func(in levada.PCollection[named]) levada.PCollection[string] {
		return func(in levada.PCollection[named]) levada.PCollection[string] {
			return levada.ParDoKeyed(in, "step", func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[named] {
				state, count := levada.MapState[string, int](s, "foo"), levada.CombiningState(s, "count", combine.Count[int]())
				return func(c *levada.Ctx, kv named) error {
					put(c, state, kv.Value)
					count.Add(c, 1)
					if n, _ := count.Read(c); n >= 4 {
						now := state.All(c)
						state.Put(c, "new", -1)
						out.Emit(c, fmt.Sprint(entries(now), " ", state.Len(c)))
					}
					return nil
				}
			})
		}
	}
	in := atMin(pair("hello", pair("a", 97)), pair("hello", pair("b", 42)), pair("hello", pair("b", 42)), pair("hello", pair("c", 12)))
	beam(t, "testMapState", false, in, step(func(c *levada.Ctx, m *levada.MapCell[string, int], kv keyInt) {
		m.Put(c, kv.Key, kv.Value)
		most, _ := m.Get(c, "max")
		m.Put(c, "max", max(most, kv.Value))
	}), valueOf, "a:97 b:42 c:12 max:97 5")
	in = atMin(pair("hello", pair("a", 97)), pair("hello", pair("b", 42)), pair("hello", pair("b", 33)), pair("hello", pair("a", 12)))
	beam(t, "testMapStateNoReadOnComputeIfAbsentAndPutIfAbsentInsertsElement", true, in, step(func(c *levada.Ctx, m *levada.MapCell[string, int], kv keyInt) {
		if _, ok := m.Get(c, kv.Key); !ok {
			m.Put(c, kv.Key, kv.Value)
		}
	}), valueOf, "a:97 b:42 3")
}

// TestBeamOrderedListState shows a list in the order of times, parts of it, and what is left when a part has been taken out.
func TestBeamOrderedListState(t *testing.T) {
	type named = levada.KV[string, levada.Timed[string]]
	list := func(all iter.Seq2[event.Time, string]) string {
		var parts []string
		for t, v := range all {
			parts = append(parts, fmt.Sprint(v, t.Millis()))
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	step := func(clear bool, show func(c *levada.Ctx, x *levada.OrderedListCell[string], out *levada.Out[string])) func(in levada.PCollection[named]) levada.PCollection[string] {
		return func(in levada.PCollection[named]) levada.PCollection[string] {
			return levada.ParDoKeyed(in, "step", func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[named] {
				state, timer := levada.OrderedListState[string](s, "foo"), levada.EventTimer(s, "timer")
				timer.OnFire(func(c *levada.Ctx, _ string) error { state.ClearRange(c, 0, c.Time()+1); return nil })
				s.OnWindowExpiration(func(c *levada.Ctx, _ string) error { show(c, state, out); return nil })
				return func(c *levada.Ctx, kv named) error {
					state.Add(c, kv.Value.Time, kv.Value.Value)
					if clear {
						timer.Set(c, 42)
					}
					return nil
				}
			})
		}
	}
	all := func(c *levada.Ctx, x *levada.OrderedListCell[string], out *levada.Out[string]) {
		out.Emit(c, list(x.All(c)))
	}
	ranges := func(c *levada.Ctx, x *levada.OrderedListCell[string], out *levada.Out[string]) {
		for _, r := range [][2]event.Time{{0, 12}, {0, 13}, {13, 53}, {52, 98}} {
			out.Emit(c, list(x.Range(c, r[0], r[1])))
		}
	}
	in := atMin(pair("hello", el(97, "a")), pair("hello", el(42, "b")), pair("hello", el(52, "b")), pair("hello", el(12, "c")))
	for name, unbounded := range map[string]bool{"testOrderedListStateBounded": false, "testOrderedListStateUnbounded": true} {
		beam(t, name, unbounded, in, step(false, all), valueOf, "[c12 b42 b52 a97]")
	}
	for name, unbounded := range map[string]bool{"testOrderedListStateRangeFetchBounded": false, "testOrderedListStateRangeFetchUnbounded": true} {
		beam(t, name, unbounded, in, step(false, ranges), valueOf, "[]", "[c12]", "[b42 b52]", "[b52 a97]")
	}
	for name, unbounded := range map[string]bool{"testOrderedListStateRangeDeleteBounded": false, "testOrderedListStateRangeDeleteUnbounded": true} {
		beam(t, name, unbounded, in, step(true, all), valueOf, "[b52 a97]")
	}
}

// wrapped is a number with an encoding of its own; unencoded is one that has none.
type wrapped struct{ n int }

func (w wrapped) MarshalBinary() ([]byte, error) { return binary.AppendVarint(nil, int64(w.n)), nil }
func (w *wrapped) UnmarshalBinary(data []byte) error {
	n, _ := binary.Varint(data)
	w.n = int(n)
	return nil
}

type unencoded struct{ n any }

// sumOf adds up numbers in an accumulator of that type.
type sumOf[A any] struct {
	get func(A) int
	of  func(int) A
}

func (f sumOf[A]) Zero() A           { return f.of(0) }
func (f sumOf[A]) Add(acc *A, v int) { *acc = f.of(f.get(*acc) + v) }
func (f sumOf[A]) Merge(acc *A, o A) { *acc = f.of(f.get(*acc) + f.get(o)) }
func (f sumOf[A]) Result(acc A) int  { return f.get(acc) }

// TestBeamStateTypes shows cells of types with an encoding of their own.
func TestBeamStateTypes(t *testing.T) {
	type step = func(s *levada.Keyed[string]) func(c *levada.Ctx, n int) string
	for name, step := range map[string]step{
		"testBagStateCoderInference": func(s *levada.Keyed[string]) func(c *levada.Ctx, n int) string {
			x := levada.BagState[wrapped](s, "foo")
			return func(c *levada.Ctx, n int) string { x.Add(c, wrapped{n}); return fmt.Sprint(slices.Collect(x.All(c))) }
		},
		"testValueStateCoderInference": func(s *levada.Keyed[string]) func(c *levada.Ctx, n int) string {
			x := levada.ValueState[[]wrapped](s, "foo")
			return func(c *levada.Ctx, n int) string {
				all, _ := x.Read(c)
				x.Write(c, append(slices.Clone(all), wrapped{n}))
				return fmt.Sprint(append(slices.Clone(all), wrapped{n}))
			}
		},
		"testMapStateCoderInference": func(s *levada.Keyed[string]) func(c *levada.Ctx, n int) string {
			x := levada.MapState[int, wrapped](s, "foo")
			return func(c *levada.Ctx, n int) string {
				x.Put(c, n, wrapped{n})
				var all []wrapped
				for _, v := range x.All(c) {
					all = append(all, v)
				}
				return fmt.Sprint(all)
			}
		},
		"testSetStateCoderInference": func(s *levada.Keyed[string]) func(c *levada.Ctx, n int) string {
			type own struct{ n int }
			x := levada.SetState[own](s, "foo")
			return func(c *levada.Ctx, n int) string { x.Add(c, own{n}); return fmt.Sprint(slices.Collect(x.All(c))) }
		},
	} {
		beam(t, name, false, hellos(97, 42), keyedStep(global, func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
			show := step(s)
			return func(c *levada.Ctx, kv keyInt) error { out.Emit(c, show(c, kv.Value)); return nil }
		}), valueOf, "[{97}]", "[{97} {42}]")
	}
	beam(t, "testCombiningStateCoderInference", false, hellos(3, 6, 7), keyedStep(global, func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
		fn := sumOf[wrapped]{func(w wrapped) int { return w.n }, func(n int) wrapped { return wrapped{n} }}
		x := levada.CombiningState(s, "foo", combine.Fn[int, wrapped, int](fn))
		return func(c *levada.Ctx, kv keyInt) error {
			x.Add(c, kv.Value)
			n, _ := x.Read(c)
			out.Emit(c, fmt.Sprint(n))
			return nil
		}
	}), valueOf, "3", "9", "16")
	type own = levada.KV[string, wrapped]
	for _, name := range []string{"testValueStateCoderInferenceFromInputCoder", "testCoderInferenceOfList"} {
		beam(t, name, false, atMin(pair("hello", wrapped{42}), pair("hello", wrapped{97})), func(in levada.PCollection[own]) levada.PCollection[string] {
			return levada.ParDoKeyed(in, "step", func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[own] {
				x := levada.ValueState[[]wrapped](s, "foo")
				return func(c *levada.Ctx, kv own) error {
					all, _ := x.Read(c)
					all = append(slices.Clone(all), kv.Value)
					x.Write(c, all)
					out.Emit(c, fmt.Sprint(all))
					return nil
				}
			})
		}, valueOf, "[{42}]", "[{42} {97}]")
	}
}

// TestBeamStateTypesRefused shows that a type which cannot be encoded is found while building.
func TestBeamStateTypesRefused(t *testing.T) {
	for name, declare := range map[string]func(s *levada.Keyed[string]){
		"testBagStateCoderInferenceFailure":   func(s *levada.Keyed[string]) { levada.BagState[unencoded](s, "foo") },
		"testValueStateCoderInferenceFailure": func(s *levada.Keyed[string]) { levada.ValueState[unencoded](s, "foo") },
		"testMapStateCoderInferenceFailure":   func(s *levada.Keyed[string]) { levada.MapState[int, unencoded](s, "foo") },
		"testSetStateCoderInferenceFailure":   func(s *levada.Keyed[string]) { levada.SetState[unencoded](s, "foo") },
		"testCombiningStateCoderInferenceFailure": func(s *levada.Keyed[string]) {
			fn := sumOf[unencoded]{func(x unencoded) int { return x.n.(int) }, func(n int) unencoded { return unencoded{n} }}
			levada.CombiningState(s, "foo", combine.Fn[int, unencoded, int](fn))
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := levada.New()
			levada.ParDoKeyed(levada.Create(p, "in", pair("hello", 97)), "step", func(s *levada.Keyed[string], _ *levada.Out[string]) levada.Process[keyInt] {
				declare(s)
				return noElement
			})
			if err := p.Err(); !errors.Is(err, levada.ErrValueType) && !errors.Is(err, levada.ErrKeyType) || !strings.Contains(err.Error(), `state "foo"`) {
				t.Errorf("%v", err)
			}
		})
	}
}

// steps emits the difference of each number to the one before, given in the order of time.
func steps(s *levada.Keyed[string], out *levada.Out[int]) levada.Process[keyInt] {
	s.SortByTime()
	last := levada.ValueState[int](s, "last")
	return func(c *levada.Ctx, kv keyInt) error {
		n, ok := last.Read(c)
		if !ok {
			n = kv.Value - 1
		}
		last.Write(c, kv.Value)
		out.Emit(c, kv.Value-n)
		return nil
	}
}

// TestBeamSortedInput shows elements in the order of time, though they come the other way round.
func TestBeamSortedInput(t *testing.T) {
	var in []levada.Timed[keyInt]
	var ones []string
	for i := range 1000 {
		in = append(in, el(event.Min, pair("", 1000-i)))
		ones = append(ones, "1")
	}
	for name, unbounded := range map[string]bool{"testRequiresTimeSortedInput": false, "testRequiresTimeSortedInputWithTestStream": true} {
		beam(t, name, unbounded, in, func(in levada.PCollection[keyInt]) levada.PCollection[int] {
			return levada.ParDoKeyed(levada.WithTimestamps(in, "time", func(kv keyInt) event.Time { return event.Time(kv.Value) }), "sorted", steps)
		}, valueOf, ones...)
	}
	for name, c := range map[string]struct {
		watermark event.Time // before the last 99
		w         levada.Windowing
		twice     bool
		want      int
	}{
		"testRequiresTimeSortedInputWithLateData":    {event.EndOfGlobal + 1000, global, false, 901},
		"testTwoRequiresTimeSortedInputWithLateData": {event.EndOfGlobal + 1000, global, true, 901},
		"testRequiresTimeSortedInputWithLateDataAndAllowedLateness": {100, levada.Windowing{
			Windows: window.Global(), AllowedLateness: 5 * time.Second}, false, 1000},
	} {
		eachBeamMode(t, name, func(t *testing.T, h *levadatest.Harness) {
			src := levadatest.Source[keyInt](h, "src")
			out := levada.ParDoKeyed(windows(src.Out, c.w), "sorted", steps)
			if c.twice {
				out = levada.ParDoKeyed(levada.KeyBy(out, "key", func(int) string { return "" }), "again", steps)
			}
			got := levadatest.Collect(h, out)
			for i := 1000; i > 0; i-- {
				src.Add(event.Time(i), pair("", i))
				if i == 100 {
					src.Watermark(c.watermark)
				}
			}
			h.Finish()
			all := got.Take()
			other := slices.IndexFunc(all[1:], func(e element[int]) bool { return e.Value != all[1].Value })
			if len(all) != c.want || all[0].Value != 1 || other >= 0 || !c.twice && all[1].Value != 1 {
				t.Errorf("%d elements, want %d; differences %d, %d and so on", len(all), c.want, all[0].Value, all[1].Value)
			}
			if n := h.Result().Counter("sorted", "dropped_late"); n != int64(1000-c.want) {
				t.Errorf("%d dropped", n)
			}
		})
	}
}

// TestBeamStateSideInputs shows side inputs of a step with state, in its elements, timers and last calls.
func TestBeamStateSideInputs(t *testing.T) {
	look := func(view levada.SingletonView[string], set func(c *levada.Ctx, t levada.Timer[string])) keyedFn {
		return func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
			side, state := levada.Side(s, view), levada.BagState[wrapped](s, "foo")
			timer := levada.EventTimer(s, "timer")
			timer.OnFire(func(c *levada.Ctx, key string) error { out.Emit(c, key+" timer "+side.Get(c)); return nil })
			s.OnWindowExpiration(func(c *levada.Ctx, key string) error { out.Emit(c, key+" end "+side.Get(c)); return nil })
			return func(c *levada.Ctx, kv keyInt) error {
				state.Add(c, wrapped{kv.Value})
				set(c, timer)
				out.Emit(c, kv.Key+" "+side.Get(c))
				return nil
			}
		}
	}
	beam(t, "testStateSideInput", false, atMin(pair("a", 2)), func(in levada.PCollection[keyInt]) levada.PCollection[string] {
		view := levada.AsSingleton(levada.Create(in.Pipeline(), "side", "2"), "view")
		return levada.ParDoKeyed(in, "step", look(view, func(*levada.Ctx, levada.Timer[string]) {}))
	}, valueOf, "a 2", "a end 2")
	eachBeamMode(t, "testSideInputNotReadyTimer", func(t *testing.T, h *levadatest.Harness) {
		side := levadatest.Source[string](h, "side")
		one := levada.WindowInto(side.Out, "all", levada.Windowing{Windows: window.Global(), OnTime: levada.NonEmpty, Trigger: trigger.AfterWatermark{}})
		got := levadatest.Collect(h, levada.ParDoKeyed(levada.Create(h.Pipeline, "in", pair("key", 1)), "step",
			look(levada.AsSingleton(one, "view"), func(c *levada.Ctx, t levada.Timer[string]) { t.SetAfter(c, time.Millisecond) })))
		h.Start()
		h.Clock(15 * time.Second)
		same(t, shown(got, valueOf))
		side.Add(0, "value")
		h.Finish()
		same(t, shown(got, valueOf), "key value", "key timer value", "key end value")
	})
	eachBeamMode(t, "testTimerSideInput", func(t *testing.T, h *levadatest.Harness) {
		view := levada.AsSingleton(levada.Create(h.Pipeline, "side", "2"), "view")
		src := levadatest.Source[keyInt](h, "src")
		got := levadatest.Collect(h, levada.Filter(levada.ParDoKeyed(src.Out, "step",
			look(view, func(c *levada.Ctx, t levada.Timer[string]) { t.SetAligned(c, 10*time.Second, 0) })), "later",
			func(s string) bool { return strings.Contains(s, "timer") || strings.Contains(s, "end") }))
		src.Watermark(0)
		for i := range 10 {
			// The element at 0 is on a multiple of 10 s: its timer would fire at once.
			src.Add(event.Time(i*1000+1), pair(fmt.Sprint(i%2), i))
		}
		same(t, shown(got, valueOf))
		src.Watermark(10_000)
		same(t, shown(got, timed), "0 timer 2@10000", "1 timer 2@10000")
		h.Finish()
		same(t, shown(got, valueOf), "0 end 2", "1 end 2")
	})
}
