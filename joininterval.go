package levada

import (
	"fmt"
	"math"
	"time"

	"github.com/levadaflow/levada/event"
)

// AnyDistance is a bound of an [Interval] that is none.
const AnyDistance time.Duration = math.MaxInt64

// Interval says how far apart in event time the two elements of an [IntervalJoin] may be. Both bounds are inclusive and in whole
// milliseconds. A negative one excludes what is near: a Before of -1s wants b at least a second after a. Their sum must not be
// negative: ErrBadInterval. The zero Interval wants equal times.
//
// AnyDistance is no bound. It costs memory: as Before it keeps every element of b, as After every element of a, until its window
// expires, in the global window for ever.
type Interval struct {
	Before time.Duration // how long before a's time b's may be
	After  time.Duration // how long after a's time b's may be
}

// millis returns the bounds in milliseconds, math.MaxInt64 for none.
func (i Interval) millis() (before, after int64, err error) {
	whole := func(d time.Duration) int64 {
		if d == AnyDistance {
			return math.MaxInt64
		}
		if d%time.Millisecond != 0 {
			err = fmt.Errorf("%w: %v: it must be whole milliseconds", ErrBadInterval, d)
		}
		return d.Milliseconds()
	}
	before, after = whole(i.Before), whole(i.After)
	if before < -after { // the sum may overflow
		err = fmt.Errorf("%w: from %v before to %v after an element there is nothing", ErrBadInterval, i.Before, i.After)
	}
	return before, after, err
}

// IntervalJoin calls fn for every pair of an element of a and one of b that have the same key, are in the same window, and have
// times
//
//	a - Before <= b <= a + After
//
// and emits what it returns: as soon as both have come, whichever is first, at the greater of their times, with no
// pane. fn is shared by all tasks.
//
// The two must have the same windows and trigger, as for [Flatten], and the windows must not merge: ErrStatefulMerging. The trigger
// has no effect. In the global window all pairs are found; in others those are not whose elements are in different windows, and in
// sliding ones a pair comes once for each window that both are in.
//
// An element is kept until the watermark, the lesser of both inputs', shows that no partner can come any more: one of a until it
// has passed a + After, one of b until it has passed b + Before, both plus the allowed lateness. It does not hold the watermark:
// results of elements on time are on time.
//
// An element whose own time plus the allowed lateness is behind the watermark when it comes is dropped as late, because its
// partners may be gone: it is counted as dropped_late, and [LateTo2] collects it. One that is late by no more finds all its
// partners; results whose time is behind the watermark are then late for what follows.
//
// It is the scope of the steps name/a, name/b, name/both and name/match. (Flink's interval join: between(lower, upper) is
// Interval{-lower, upper}.)
func IntervalJoin[K comparable, A, B, O any](name string, a PCollection[KV[K, A]], b PCollection[KV[K, B]], within Interval,
	fn func(key K, a A, b B) O, opts ...JoinOption[K, A, B]) PCollection[O] {
	a.owner(name).needs(name, fn != nil)
	return joinScope(name, a, b, opts, func(both sides[K, A, B], opts ...GroupOption[K, either[A, B]]) PCollection[O] {
		before, after, err := within.millis()
		if err != nil {
			both.p.problem(both.p.path("match"), err)
		}
		j := intervalJoin[K, A, B, O]{before, after, both.windowing.latenessMs, fn}
		return ParDoKeyed(both, "match", j.setup, opts...)
	})
}

// intervalJoin is the step that finds the pairs.
type intervalJoin[K comparable, A, B, O any] struct {
	before, after, latenessMs int64
	fn                        func(K, A, B) O
}

func (j intervalJoin[K, A, B, O]) setup(s *Keyed[K], out *Out[O]) Process[KV[K, either[A, B]]] {
	s.strict = true
	as := kept[A]{OrderedListState[A](s, "a"), j.after, j.latenessMs}
	bs := kept[B]{OrderedListState[B](s, "b"), j.before, j.latenessMs}
	forget := EventTimer(s, "forget")
	remind := func(c *Ctx) {
		if at := min(as.next(c), bs.next(c)); at <= s.state.Expiry(c.Window()) { // else the window's end forgets them
			forget.SetWithoutHold(c, at)
		}
	}
	forget.OnFire(func(c *Ctx, _ K) error {
		as.forget(c, s.state.In())
		bs.forget(c, s.state.In())
		remind(c)
		return nil
	})
	return func(c *Ctx, kv KV[K, either[A, B]]) error {
		c.e.Pane = event.NoPane // else a pair's would depend on which of the two comes last
		var first bool
		if v := kv.Value; v.second {
			for _, x := range as.between(c, c.Time().Plus(-j.after), c.Time().Plus(j.before)) {
				if out.EmitAt(c, j.fn(kv.Key, x.Value, v.b), max(x.Time, c.Time())); !goesOn(c.e) {
					return nil
				}
			}
			first = bs.keep(c, s.state.In(), v.b)
		} else {
			for _, x := range bs.between(c, c.Time().Plus(-j.before), c.Time().Plus(j.after)) {
				if out.EmitAt(c, j.fn(kv.Key, v.a, x.Value), max(x.Time, c.Time())); !goesOn(c.e) {
					return nil
				}
			}
			first = as.keep(c, s.state.In(), v.a)
		}
		if first {
			remind(c)
		}
		return nil
	}
}

// kept is one side of a key's elements that wait for partners.
type kept[T any] struct {
	list       *OrderedListCell[T]
	reach      int64 // how long after an element's time a partner's may be
	latenessMs int64
}

// between returns the elements at from <= t <= to.
func (x kept[T]) between(c *Ctx, first, last event.Time) []Timed[T] {
	all := x.list.view(c)
	return all[from(all, first):from(all, last+1)]
}

// last returns the last watermark at which a partner of an element at t may come.
func (x kept[T]) last(t event.Time) event.Time { return t.Plus(x.reach).Plus(x.latenessMs) }

// keep keeps the element at hand if a partner may come, and reports whether it is now the first.
func (x kept[T]) keep(c *Ctx, in event.Time, v T) bool {
	if x.last(c.Time()) < in {
		return false
	}
	x.list.Add(c, c.Time(), v)
	all := x.list.view(c)
	return len(all) == 1 || all[1].Time > c.Time() && all[0].Time == c.Time()
}

// next returns the watermark at which the first element can be forgotten, event.Max+1 if there is none.
func (x kept[T]) next(c *Ctx) event.Time {
	if all := x.list.view(c); len(all) > 0 {
		return x.last(all[0].Time) + 1
	}
	return event.Max + 1
}

// forget takes out the elements to which no partner can come.
func (x kept[T]) forget(c *Ctx, in event.Time) {
	p := x.list.get(c)
	if p == nil {
		return
	}
	n := 0
	for n < len(*p) && x.last((*p)[n].Time) < in {
		n++
	}
	x.list.remove(p, 0, n)
}
