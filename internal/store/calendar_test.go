package store

import (
	"slices"
	"testing"

	"github.com/levadaflow/levada/event"
	"pgregory.net/rapid"
)

// timeQueues are all kinds.
func timeQueues[T any]() map[string]TimeQueue[T] {
	return map[string]TimeQueue[T]{"heap": &Heap[T]{}, "calendar": &Calendar[T]{}}
}

// timeList is a TimeQueue that is searched.
type timeList []timed[*int]

func (l timeList) first() int {
	least := 0
	for i, x := range l {
		if x.at < l[least].at {
			least = i
		}
	}
	return least
}

func (l *timeList) drop() { i := l.first(); *l = slices.Delete(*l, i, i+1) }

func checkFirst(t *rapid.T, q TimeQueue[*int], twin timeList) {
	at, v, ok := q.First()
	if ok != (len(twin) > 0) {
		t.Fatalf("the first: %v of %d", ok, len(twin))
	}
	if !ok {
		return
	}
	if want := twin[twin.first()]; at != want.at || v != want.v {
		t.Fatalf("the first is %d at %d, want %d at %d", *v, at, *want.v, want.at)
	}
}

// TestTimeQueues compares each kind with a list, with times that share a place among a calendar's near ones.
func TestTimeQueues(t *testing.T) {
	time := func(t *rapid.T, least int) event.Time {
		return event.Time(rapid.IntRange(least, 2).Draw(t, "at") + nearDays*rapid.IntRange(least, 2).Draw(t, "near"))
	}
	for name := range timeQueues[*int]() {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			q, twin := timeQueues[*int]()[name], timeList{}
			for range rapid.IntRange(1, 3).Draw(t, "rounds") {
				for i := range rapid.IntRange(1, 300).Draw(t, "ops") {
					switch op := rapid.IntRange(0, 3).Draw(t, "op"); {
					case op > 1:
						at := time(t, -2)
						q.Add(at, &i)
						twin = append(twin, timed[*int]{at: at, v: &i})
					case len(twin) > 0 && op == 0:
						x := twin[twin.first()]
						x.at += time(t, 0)
						q.Postpone(x.at)
						twin.drop()
						twin = append(twin, x)
					case len(twin) > 0:
						q.Drop()
						twin.drop()
					}
					checkFirst(t, q, twin)
				}
				if rapid.Bool().Draw(t, "clear") {
					q.Clear()
					twin = nil
				}
				for len(twin) > 0 {
					q.Drop()
					twin.drop()
					checkFirst(t, q, twin)
				}
				checkFirst(t, q, nil)
			}
			for _, v := range roomOf(q) {
				if v != nil {
					t.Fatal("an empty queue holds on to a value")
				}
			}
		}))
	}
}

// roomOf returns the memory of an empty queue.
func roomOf[T any](q TimeQueue[T]) (all []T) {
	switch q := q.(type) {
	case *Heap[T]:
		for _, x := range q.all[:cap(q.all)] {
			all = append(all, x.v)
		}
	case *Calendar[T]:
		for _, p := range q.free {
			all = append(all, p.vals[:cap(p.vals)]...)
		}
	}
	return all
}

// TestTimeQueuesAreBounded: an empty queue keeps little, and adding to it again and again allocates nothing.
func TestTimeQueuesAreBounded(t *testing.T) {
	const n = 1 << 17
	for name, q := range timeQueues[int]() {
		for _, spread := range []int{1, 1000, n} {
			for i := range n {
				q.Add(event.Time(i*7919%spread), i)
			}
			for range n {
				q.Drop()
			}
			if room := len(roomOf(q)); room > mostKept {
				t.Errorf("%s, %d times: room for %d values is kept", name, spread, room)
			}
		}
		at := event.Time(0)
		allocs := testing.AllocsPerRun(1000, func() {
			at++
			q.Add(at, 1)
			q.Postpone(at + 1)
			q.Drop()
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations a value", name, allocs)
		}
	}
	var c Calendar[int]
	c.Add(1, 1)
	c.Drop()
	if c.kept != len(roomOf[int](&c)) {
		t.Errorf("room for %d is counted, and there is %d", c.kept, len(roomOf[int](&c)))
	}
}
