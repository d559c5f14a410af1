package engine

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/internal/graph"
)

// view is the contents of a side input. Reading takes no lock: a change makes a new map.
type view struct {
	wins atomic.Pointer[map[event.Window]any]
	mu   sync.Mutex
	asks map[*exec.Inst]event.Time // of all tasks of all steps that have it as a side input
}

// Get implements [exec.View].
func (v *view) Get(w event.Window) (any, bool) {
	c, ok := (*v.wins.Load())[w]
	return c, ok
}

// Put implements [exec.View].
func (v *view) Put(w event.Window, content any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	next := maps.Clone(*v.wins.Load())
	next[w] = content
	v.wins.Store(&next)
}

// Ask implements [exec.View].
func (v *view) Ask(st *exec.Inst, mark event.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asks[st] = mark
	for _, t := range v.asks {
		mark = min(mark, t)
	}
	all := *v.wins.Load()
	gone := false
	for w := range all {
		gone = gone || w.Last() < mark
	}
	if gone {
		next := maps.Clone(all)
		maps.DeleteFunc(next, func(w event.Window, _ any) bool { return w.Last() < mark })
		v.wins.Store(&next)
	}
}

// view returns the contents of the view that a step makes. It is called while the job is bound, by one goroutine.
func (j *Job) view(s *graph.Step) *view {
	v := j.views[s]
	if v == nil {
		v = &view{asks: map[*exec.Inst]event.Time{}}
		v.wins.Store(&map[event.Window]any{})
		j.views[s] = v
	}
	return v
}
