package pane

import "github.com/levadaflow/levada/event"

// Span returns the window that w and those of the key's windows which it intersects become together, and appends the numbers
// of these to hits. The key's windows are disjoint, so the union reaches no further one.
func Span(hits []int, active []event.Window, w event.Window) (event.Window, []int) {
	span := w
	for i, a := range active {
		if a.Intersects(w) {
			span = span.Span(a)
			hits = append(hits, i)
		}
	}
	return span, hits
}
