package engine

import (
	"sync/atomic"

	"github.com/levadaflow/levada/internal/exec"
)

// keeper implements [exec.Keeper] for a step of a task.
type keeper struct {
	t, owner *task // the owner is the one in whose goroutine t runs
	collect  func(e *exec.Elem)
	told     atomic.Bool // a message to the owner says that there is something to collect
}

// holding reports whether watermarks are to wait: under a virtual clock they move in one step, not with each of the calls that return.
func (t *task) holding() bool {
	for t.parent != nil {
		t = t.parent
	}
	return t.job.virtual && t.away > 0
}

// keeper tells a task that one of its steps has work done elsewhere, whose results collect emits.
func (t *task) keeper(collect func(e *exec.Elem)) exec.Keeper {
	k := &keeper{t: t, owner: t, collect: collect}
	for k.owner.calling = true; k.owner.parent != nil; k.owner.calling = true {
		k.owner = k.owner.parent
	}
	return k
}

// Begin implements [exec.Keeper].
func (k *keeper) Begin() {
	k.t.job.inflight.Add(1)
	k.t.kept++
	k.owner.away++
}

// End implements [exec.Keeper].
func (k *keeper) End() {
	k.owner.taken++ // it is settled with the bundle
	k.t.kept--
	k.owner.away--
}

// Wake implements [exec.Keeper]. A root may run for long without reading its inbox, and collect on the way: there is one message at most.
func (k *keeper) Wake() {
	if k.told.CompareAndSwap(false, true) {
		k.t.job.put(k.owner, message{kind: msgCall, call: k.woken})
	}
}

func (k *keeper) woken(e *exec.Elem) {
	k.told.Store(false) // before, so that what comes meanwhile is told again
	k.collect(e)
}

// Flush implements [exec.Keeper].
func (k *keeper) Flush() { k.owner.each(func(t *task) { t.bound.Flush() }) }

// collect runs what has been put into the inbox to be run, and leaves the rest there.
func (t *task) collect() {
	calls := t.inbox.takeCalls()
	if len(calls) == 0 {
		return
	}
	if t.beginBundle(); t.elem.Err == nil {
		for i := range calls {
			t.handle(&calls[i])
		}
	}
	if t.elem.Err == nil {
		t.endBundle()
	}
}

// takeCalls takes the messages out that say what to run.
func (b *inbox) takeCalls() (calls []message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	rest := b.queue[:0]
	for _, m := range b.queue {
		if m.kind == msgCall {
			calls = append(calls, m)
		} else {
			rest = append(rest, m)
		}
	}
	clear(b.queue[len(rest):])
	b.queue = rest
	return calls
}
