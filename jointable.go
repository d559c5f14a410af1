package levada

import "github.com/levadaflow/levada/event"

// TableJoin joins a stream with a table that changes: fn is called for every element of in with the value that its key has in the
// table at the element's own time, and what it returns is emitted at that time, with no pane. The table is the collection of its
// changes: each sets the value of its key from its own time on, until the key's next change. A change at the very time of the
// element counts; of changes at one time the one that came last does. An element before its key's first change gets no value. fn is
// shared by all tasks.
//
// What comes first does not matter: elements and changes wait until the watermark, the lesser of both inputs', has passed their
// time plus the allowed lateness, and hold it at their time ([Keyed.SortByTime]). So the table's watermark must move, too. That of
// a bounded table ends with it, and nothing waits for it any more; a source that may be quiet needs an idle time.
//
// An element or change whose time plus the allowed lateness is behind the watermark when it comes is dropped as late: it is counted
// as dropped_late, and [LateTo2] collects it. A change that is dropped is missing in the table until its key's next one. An element
// that is late by no more gets the right value, and is then late for what follows.
//
// Of each key the table keeps the present value: older ones go as soon as no element of their time can come. A table belongs to
// one window: use the global one, and WindowInto on the results, unless each window is to have a table of its own. The two must
// have the same windows and trigger, as for [Flatten], and the windows must not merge: ErrStatefulMerging. The trigger has no effect.
//
// It is the scope of the steps name/a (in), name/b (the table), name/both and name/lookup. (Flink's temporal join with a versioned
// table.)
func TableJoin[K comparable, A, T, O any](name string, in PCollection[KV[K, A]], table PCollection[KV[K, T]],
	fn func(key K, v A, row Opt[T]) O, opts ...JoinOption[K, A, T]) PCollection[O] {
	in.owner(name).needs(name, fn != nil)
	return joinScope(name, in, table, opts, func(both sides[K, A, T], opts ...GroupOption[K, either[A, T]]) PCollection[O] {
		j := tableJoin[K, A, T, T, O]{both.windowing.latenessMs, Some[T], fn}
		return ParDoKeyed(both, "lookup", j.setup, opts...)
	})
}

// ChangelogJoin is [TableJoin] with a table from which keys can be deleted: a change without a value deletes its key, for which
// nothing is kept then.
func ChangelogJoin[K comparable, A, T, O any](name string, in PCollection[KV[K, A]], table PCollection[KV[K, Opt[T]]],
	fn func(key K, v A, row Opt[T]) O, opts ...JoinOption[K, A, Opt[T]]) PCollection[O] {
	in.owner(name).needs(name, fn != nil)
	return joinScope(name, in, table, opts, func(both sides[K, A, Opt[T]], opts ...GroupOption[K, either[A, Opt[T]]]) PCollection[O] {
		j := tableJoin[K, A, Opt[T], T, O]{both.windowing.latenessMs, func(change Opt[T]) Opt[T] { return change }, fn}
		return ParDoKeyed(both, "lookup", j.setup, opts...)
	})
}

// tableJoin is the step that looks up. C is a change of a row T.
type tableJoin[K comparable, A, C, T, O any] struct {
	latenessMs int64
	row        func(C) Opt[T]
	fn         func(K, A, Opt[T]) O
}

// setup sorts by time. At one time elements may come before changes, so they stay in ready until all of that time is there: until the
// watermark is past it, something later comes, or the window expires.
func (j tableJoin[K, A, C, T, O]) setup(s *Keyed[K], out *Out[O]) Process[KV[K, either[A, C]]] {
	s.SortByTime()
	s.AllowSkew(AnySkew) // back to the elements' times, at which they hold the watermark
	present := ValueState[T](s, "present")
	ready := OrderedListState[A](s, "ready")
	past := EventTimer(s, "past")
	look := func(c *Ctx, k K) error {
		v, ok := present.Read(c)
		for _, x := range ready.view(c) {
			if out.EmitAt(c, j.fn(k, x.Value, Opt[T]{v, ok}), x.Time); !goesOn(c.e) {
				return nil
			}
		}
		ready.Clear(c)
		return nil
	}
	past.OnFire(look)
	s.OnWindowExpiration(look)
	return func(c *Ctx, kv KV[K, either[A, C]]) error {
		at := c.Time()
		c.e.Pane = event.NoPane
		if waiting := ready.view(c); len(waiting) > 0 && waiting[0].Time < at {
			if err := look(c, kv.Key); err != nil {
				return err
			}
		}
		if !kv.Value.second {
			ready.Add(c, at, kv.Value.a)
			if due := at.Plus(j.latenessMs) + 1; due <= s.state.Expiry(c.Window()) {
				past.SetOutput(c, due, at)
			}
		} else if row := j.row(kv.Value.b); row.Ok {
			present.Write(c, row.Value)
		} else {
			present.Clear(c)
		}
		return nil
	}
}
