package levada_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/levadatest"
)

// Tests of Beam's whose result here is another one. Each says what comes instead, and is skipped as long as that comes.

// TestBeamDiffersExpiry: Beam makes the last call of a window for every key that had an element in it, whether state is left or not.
func TestBeamDiffersExpiry(t *testing.T) {
	h := levadatest.New(t)
	in := levada.Create(h.Pipeline, "in", pair("with", 1), pair("without", 0))
	got := levadatest.Collect(h, levada.ParDoKeyed(in, "step", func(s *levada.Keyed[string], out *levada.Out[string]) levada.Process[keyInt] {
		state := levada.ValueState[int](s, "state")
		s.OnWindowExpiration(func(c *levada.Ctx, key string) error { out.Emit(c, key); return nil })
		return func(c *levada.Ctx, kv keyInt) error {
			if kv.Value > 0 {
				state.Write(c, kv.Value)
			}
			return nil
		}
	}))
	h.Finish()
	all := shown(got, valueOf)
	if slices.Equal(all, []string{"with"}) {
		t.Skip("there is no last call for a key and window without state and timers")
	}
	same(t, all, "with", "without")
}

// TestBeamDiffersBundles: Beam makes no bundle in which there is nothing. Here tasks of a source have one, if it gives them no element.
func TestBeamDiffersBundles(t *testing.T) {
	h := levadatest.New(t)
	h.Run.Parallelism = 4
	empty := levadatest.Collect(h, levada.ParDo(levada.Create(h.Pipeline, "in", 1), "step", func(s *levada.Setup, out *levada.Out[string]) levada.Process[int] {
		n := 0
		s.OnBundleStart(func(*levada.Ctx) error { n = 0; return nil })
		s.OnBundleFinish(func(c *levada.Ctx) error { out.EmitIn(c, fmt.Sprint(n), 0, event.Global()); return nil })
		return func(*levada.Ctx, int) error { n++; return nil }
	}))
	h.Finish()
	all := shown(empty, valueOf)
	if slices.Equal(all, []string{"0", "0", "0", "1"}) {
		t.Skip("OnBundleStart and OnBundleFinish are called for a bundle without elements")
	}
	same(t, all, "1")
}
