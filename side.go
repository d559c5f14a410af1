package levada

import (
	"fmt"
	"iter"
	"slices"

	"github.com/levadaflow/levada/coder/plan"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/internal/graph"
	"github.com/levadaflow/levada/trigger"
	"github.com/levadaflow/levada/window"
)

// A View is a collection that DoFns look at as a whole, window by window, while they process another one: a side input. [SingletonView],
// [IterView], [MapView] and [MultimapView] are views, with H the handle that [Side] returns for them.
type View[H any] interface {
	side() *sideView
	handle(x *sideAccess) H
}

// sideView is what all kinds of views are.
type sideView struct {
	p         *Pipeline
	step      *graph.Step
	windowing *strategy
}

// sideAccess is how a DoFn looks at a view.
type sideAccess struct {
	v    *sideView
	step string
	view exec.View // nil while declaring
	side func(main event.Window) event.Window
}

// Side declares a view as a side input of the DoFn whose setup s is. An element is processed when the view's window for it is ready: when a
// pane of that window is there, or the view's watermark says that no more will come. Until then it waits, and holds the watermark at its
// time. The window for a window of the main input is the first one that contains its last instant; if the main input is in the global
// window the view must be, too (ErrSideWindows), and a view's windows must not merge (ErrSideMerging). (Beam's side inputs.)
//
// Windows of a view are kept as long as a window of the main input that has not expired can ask for them. Therefore, unless all views are in the
// global window, an element whose window has expired is dropped and counted as dropped_late.
//
// Behind a trigger that fires more than once the latest pane counts that is not empty: what the DoFn sees may change from one element to the next.
func Side[H any](s interface{ setupOf() *Setup }, v View[H]) H {
	setup, side := s.setupOf(), v.side()
	if side == nil {
		panic(fmt.Errorf("%w: the view was never made", errZeroCollection))
	}
	setup.declare("side input " + side.step.Name)
	x := &sideAccess{v: side, step: setup.step, side: side.windowing.sideWindow}
	if setup.b == nil {
		setup.views = append(setup.views, side)
	} else {
		x.view = setup.b.View(side.step)
		x.view.Ask(setup.st, event.Min) // for a start: everything
		setup.st.Views, setup.st.LatenessMillis = append(setup.st.Views, x.view), setup.latenessMs
	}
	return v.handle(x)
}

func (s *Setup) setupOf() *Setup { return s }

// content returns the content of the view's window for the call at hand, nil if it is empty.
func (x *sideAccess) content(c *Ctx) any {
	if x.view == nil {
		panic(fmt.Errorf("%w: side input %s of step %s", ErrDeclaring, x.v.step.Name, x.step))
	}
	content, _ := x.view.Get(x.side(c.Window()))
	return content
}

// fail fails the run at the call at hand.
func (x *sideAccess) fail(c *Ctx, err error) {
	c.e.Fail(c.st, nil, fmt.Errorf("side input %s, for window %v: %w", x.v.step.Name, c.Window(), err))
}

// sideWindow returns the window for one of a main input.
func (s *strategy) sideWindow(main event.Window) event.Window {
	if s.windows == window.Global() {
		return event.Global()
	}
	all := s.windows.Assign(nil, min(main.Last(), event.EndOfGlobal))
	if len(all) == 0 {
		return event.Global() // in a gap: nothing is ever in there
	}
	return slices.MinFunc(all, event.Window.Compare)
}

// sideReady returns the watermark at which a window is ready, whatever is in it: when its first pane must have come.
func (s *strategy) sideReady(w event.Window) event.Time {
	if trigger.AtEnd(s.trigger) {
		return w.Last() + 1
	}
	return w.Expiry(s.latenessMs) + 1
}

// newView adds the steps of a view: all elements of a window are gathered, and build makes of them what DoFns see, once for each pane.
func newView[T any](in PCollection[T], name string, build func(all []T) any) *sideView {
	p := in.owner(name)
	return Scope(p, name, func() *sideView {
		keyed := KeyBy(in, "key", func(T) bool { return false })
		grouped := GroupByKey(keyed, "group")
		op := exec.ViewOp[bool](func(v Values[T]) bool { return v.Len() == 0 }, func(v Values[T]) any { return build(v.all) })
		step := p.add(&graph.Step{
			Kind: graph.Chain, Op: op, Inputs: []graph.Port{grouped.port}, Outputs: []graph.Output{exec.OutputOf[exec.Announced]{}},
		}, "view")
		return &sideView{p, step, in.windowing}
	})
}

// gate adds the step in which elements wait for the views that a setup has declared.
func gate[T any](in PCollection[T], name string, views []*sideView) PCollection[T] {
	if len(views) == 0 {
		return in
	}
	p := in.owner(name)
	path := p.path(name)
	values, err := plan.For[T]()
	if err != nil {
		p.problem(path, err)
		return in
	}
	ins, sides, forgets := []graph.Port{in.port}, []exec.SideInput(nil), false
	for _, v := range views {
		switch {
		case v.p != p:
			p.problem(path, ErrOtherPipeline)
			return in
		case v.windowing.windows.Merging() || !byTime(v.windowing.windows):
			p.problem(path, fmt.Errorf("%w: %v", ErrSideMerging, v.windowing.windows))
		case in.windowing.windows == window.Global() && v.windowing.windows != window.Global():
			p.problem(path, fmt.Errorf("%w: the main input is in the global window, %s in %v", ErrSideWindows, v.step.Name, v.windowing.windows))
		}
		ins = append(ins, graph.Port{Step: v.step})
		forgets = forgets || v.windowing.windows != window.Global()
		sides = append(sides, exec.SideInput{Step: v.step, Map: v.windowing.sideWindow, Ready: v.windowing.sideReady})
	}
	s := p.add(&graph.Step{
		Kind: graph.Exchange, Op: exec.GateOp(values, sides, forgets, in.windowing.latenessMs), Inputs: ins, Outputs: []graph.Output{exec.OutputOf[T]{}},
	}, name+gateSuffix)
	return derived[T](in, s, 0)
}

// byTime reports whether windows follow from the time alone.
func byTime(fn window.Fn) bool {
	x, ok := fn.(interface{ ByTime() bool })
	return !ok || x.ByTime()
}

// gateSuffix is added to a step's name for the one in front of it in which elements wait for its side inputs.
const gateSuffix = " (side inputs)"

// SingletonView is a view of one element in each window. See [AsSingleton].
type SingletonView[T any] struct {
	v   *sideView
	def *T
}

// AsSingleton makes a view of a collection with one element in each window. Without a default an empty window fails the step that looks at it.
func AsSingleton[T any](in PCollection[T], name string, def ...T) SingletonView[T] {
	v := SingletonView[T]{v: newView(in, name, func(all []T) any { return all })}
	if len(def) > 0 {
		v.def = &def[0]
	}
	return v
}

func (v SingletonView[T]) side() *sideView                    { return v.v }
func (v SingletonView[T]) handle(x *sideAccess) *Singleton[T] { return &Singleton[T]{x, v.def} }

// Singleton is a DoFn's handle of a [SingletonView].
type Singleton[T any] struct {
	x   *sideAccess
	def *T
}

// Get returns the element for the call's window. It must not be changed. No element and no default, or more than one, fails the run with
// ErrEmptySingleton or ErrManySingleton.
func (s *Singleton[T]) Get(c *Ctx) (v T) {
	all, _ := s.x.content(c).([]T)
	switch {
	case len(all) == 1:
		return all[0]
	case len(all) > 1:
		s.x.fail(c, ErrManySingleton)
	case s.def != nil:
		return *s.def
	default:
		s.x.fail(c, ErrEmptySingleton)
	}
	return v
}

// IterView is a view of all elements of each window. See [AsIter].
type IterView[T any] struct{ v *sideView }

// AsIter makes a view of all elements of each window, in no order.
func AsIter[T any](in PCollection[T], name string) IterView[T] {
	return IterView[T]{newView(in, name, func(all []T) any { return all })}
}

func (v IterView[T]) side() *sideView               { return v.v }
func (v IterView[T]) handle(x *sideAccess) *Iter[T] { return &Iter[T]{x} }

// Iter is a DoFn's handle of an [IterView].
type Iter[T any] struct{ x *sideAccess }

// All walks the elements for the call's window, which must not be changed.
func (i *Iter[T]) All(c *Ctx) iter.Seq[T] {
	all, _ := i.x.content(c).([]T)
	return slices.Values(all)
}

// Len returns their number.
func (i *Iter[T]) Len(c *Ctx) int {
	all, _ := i.x.content(c).([]T)
	return len(all)
}

// MapView is a view of keys with one value each, in each window. See [AsMap].
type MapView[K comparable, V any] struct{ v *sideView }

// AsMap makes a view of keys and values. A key that comes twice in a window fails the step that looks at it, with ErrManyValues; see
// [AsMultimap].
func AsMap[K comparable, V any](in PCollection[KV[K, V]], name string) MapView[K, V] {
	return MapView[K, V]{newView(in, name, func(all []KV[K, V]) any {
		m := make(map[K]V, len(all))
		for _, kv := range all {
			if _, again := m[kv.Key]; again {
				return fmt.Errorf("%w: %v", ErrManyValues, kv.Key)
			}
			m[kv.Key] = kv.Value
		}
		return m
	})}
}

func (v MapView[K, V]) side() *sideView                     { return v.v }
func (v MapView[K, V]) handle(x *sideAccess) *SideMap[K, V] { return &SideMap[K, V]{x} }

// SideMap is a DoFn's handle of a [MapView].
type SideMap[K comparable, V any] struct{ x *sideAccess }

func (m *SideMap[K, V]) all(c *Ctx) map[K]V {
	switch x := m.x.content(c).(type) {
	case map[K]V:
		return x
	case error:
		m.x.fail(c, x)
	}
	return nil
}

// Get returns a key's value for the call's window; ok is false if there is none. It must not be changed.
func (m *SideMap[K, V]) Get(c *Ctx, key K) (v V, ok bool) {
	v, ok = m.all(c)[key]
	return v, ok
}

// Len returns the number of keys.
func (m *SideMap[K, V]) Len(c *Ctx) int { return len(m.all(c)) }

// MultimapView is a view of keys with any number of values each, in each window. See [AsMultimap].
type MultimapView[K comparable, V any] struct{ v *sideView }

// AsMultimap makes a view of keys with their values.
func AsMultimap[K comparable, V any](in PCollection[KV[K, V]], name string) MultimapView[K, V] {
	return MultimapView[K, V]{newView(in, name, func(all []KV[K, V]) any {
		m := map[K][]V{}
		for _, kv := range all {
			m[kv.Key] = append(m[kv.Key], kv.Value)
		}
		return m
	})}
}

func (v MultimapView[K, V]) side() *sideView                          { return v.v }
func (v MultimapView[K, V]) handle(x *sideAccess) *SideMultimap[K, V] { return &SideMultimap[K, V]{x} }

// SideMultimap is a DoFn's handle of a [MultimapView].
type SideMultimap[K comparable, V any] struct{ x *sideAccess }

// Get walks a key's values for the call's window, in no order. They must not be changed.
func (m *SideMultimap[K, V]) Get(c *Ctx, key K) iter.Seq[V] {
	all, _ := m.x.content(c).(map[K][]V)
	return slices.Values(all[key])
}

// Len returns the number of keys.
func (m *SideMultimap[K, V]) Len(c *Ctx) int {
	all, _ := m.x.content(c).(map[K][]V)
	return len(all)
}
