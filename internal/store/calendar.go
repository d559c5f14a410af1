package store

import "github.com/levadaflow/levada/event"

// Calendar is a [TimeQueue] for many values at few times: those of one time stand together, so that most are added and taken
// without a search. The zero value is empty and ready.
type Calendar[T any] struct {
	days Heap[*page[T]]     // one time may have several, of which only the newest is written in
	near [nearDays]*page[T] // the newest page of some times
	free []*page[T]
	kept int // values that free has room for
}

// page is values of one time.
type page[T any] struct {
	at   event.Time
	next int // the first that has not been taken
	vals []T
}

const nearDays = 64

func (c *Calendar[T]) nearest(at event.Time) **page[T] { return &c.near[uint64(at)%nearDays] }

// Add implements [TimeQueue].
func (c *Calendar[T]) Add(at event.Time, v T) {
	near := c.nearest(at)
	if *near == nil || (*near).at != at {
		*near = c.open(at)
	}
	(*near).vals = append((*near).vals, v)
}

func (c *Calendar[T]) open(at event.Time) *page[T] {
	var p *page[T]
	if last := len(c.free) - 1; last >= 0 {
		p = c.free[last]
		c.free[last], c.free = nil, c.free[:last]
		c.kept -= cap(p.vals)
	} else {
		p = new(page[T])
	}
	p.at = at
	c.days.Add(at, p)
	return p
}

// First implements [TimeQueue].
func (c *Calendar[T]) First() (at event.Time, v T, ok bool) {
	at, p, ok := c.days.First()
	if !ok {
		return 0, v, false
	}
	return at, p.vals[p.next], true
}

// Postpone implements [TimeQueue].
func (c *Calendar[T]) Postpone(at event.Time) {
	_, p, _ := c.days.First()
	v := p.vals[p.next]
	c.Drop()
	c.Add(at, v)
}

// Drop implements [TimeQueue].
func (c *Calendar[T]) Drop() {
	at, p, _ := c.days.First()
	var zero T
	p.vals[p.next] = zero
	if p.next++; p.next < len(p.vals) {
		return
	}
	if near := c.nearest(at); *near == p {
		*near = nil
	}
	c.days.Drop()
	if c.kept+cap(p.vals) <= mostKept {
		p.vals, p.next = p.vals[:0], 0
		c.free = append(c.free, p)
		c.kept += cap(p.vals)
	}
}

// Clear implements [TimeQueue].
func (c *Calendar[T]) Clear() {
	if len(c.days.all) > 0 {
		*c = Calendar[T]{}
	}
}
