package exec

import "github.com/levadaflow/levada/event"

// Late counts what a step finds behind a watermark, and by how many milliseconds: a counter and a distribution of the same name
// with "_ms" behind it.
type Late struct {
	name string
	st   *Inst
	n    *Counter
	by   *Distribution
	told bool
}

// Late declares such a count.
func (b *Binder) Late(st *Inst, name string) *Late {
	return &Late{name: name, st: st, n: b.Counter(st, name), by: b.Distribution(st, name+"_ms")}
}

// Note counts an element at time t that the watermark mark has passed. The first one is told to the engine.
func (l *Late) Note(e *Elem, t, mark event.Time) {
	l.n.Inc(1)
	l.by.Update(mark.MillisSince(t))
	if !l.told && e.Run.Late != nil {
		l.told = true
		e.Run.Late(l.st.Step.Name, l.name, t, mark)
	}
}
