package engine

import (
	"sync"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/exec"
)

type kind uint8

const (
	msgStart     kind = iota // the task's first message
	msgBatch                 // elements
	msgWatermark             // a sender's watermark
	msgCall                  // something to run in the task
	msgAdvance               // take the watermarks that have been deferred
	msgTick                  // a virtual clock has moved
	msgWake                  // the ledger has moved: end a bundle
)

// message is what tasks send each other.
type message struct {
	kind   kind
	idle   bool       // with msgWatermark
	sender int        // the sender's number at the receiver, among those of the input
	side   int        // 0 for a main input; else the number of the side input, plus one
	mark   event.Time // with msgWatermark
	batch  exec.Payload
	link   *link // of the batch, for its way back
	call   func(e *exec.Elem)
}

// inbox is the queue of a task. Batches are bounded by their senders' credit, watermarks by coalescing.
type inbox struct {
	mu     sync.Mutex
	queue  []message
	signal chan struct{} // has a token when the queue may have become non-empty
}

func newInbox() *inbox { return &inbox{signal: make(chan struct{}, 1)} }

// put appends m and reports whether that is a message more: a watermark replaces one of the same sender at the queue's end.
func (b *inbox) put(m message) bool {
	b.mu.Lock()
	added := true
	if n := len(b.queue); n > 0 && b.queue[n-1].kind == m.kind && b.queue[n-1].sender == m.sender && b.queue[n-1].side == m.side {
		switch m.kind {
		case msgWatermark:
			b.queue[n-1].mark, b.queue[n-1].idle = m.mark, m.idle
			added = false
		case msgWake:
			added = false
		}
	}
	if added {
		b.queue = append(b.queue, m)
	}
	b.mu.Unlock()
	select {
	case b.signal <- struct{}{}:
	default:
	}
	return added
}

// take swaps the queue with an empty slice that the caller no longer needs.
func (b *inbox) take(empty []message) []message {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.queue
	b.queue = empty[:0]
	return q
}

// credit is how many batches a sender may have on the way to one receiver.
const credit = 4

// link is the way of batches from one task to another. Its free list is the credit: who takes an entry may send a batch.
type link struct {
	to     *task
	sender int // this sender's number at the receiver
	side   int // as in a message
	free   chan exec.Payload
}

func newLink(to *task, sender, side int) *link {
	l := &link{to: to, sender: sender, side: side, free: make(chan exec.Payload, credit)}
	for range credit {
		l.free <- nil
	}
	return l
}

// port is a task's end of an edge: a link for each receiver.
type port struct {
	from  *task
	st    *exec.Inst // whose output it carries
	links []*link
	mark  event.Time // the last watermark that was sent
	most  event.Time // the greatest
	idle  bool
}

// Receivers implements [exec.Output].
func (p *port) Receivers() int { return len(p.links) }

// Mark implements [exec.Output].
func (p *port) Mark() event.Time { return p.most }

// Take implements [exec.Output].
func (p *port) Take(to int) (exec.Payload, bool) {
	select {
	case b := <-p.links[to].free:
		return b, true
	default:
	}
	select {
	case b := <-p.links[to].free:
		return b, true
	case <-p.from.job.done:
		return nil, false
	}
}

// Send implements [exec.Output].
func (p *port) Send(to int, b exec.Payload) {
	l := p.links[to]
	p.from.job.put(l.to, message{kind: msgBatch, sender: l.sender, side: l.side, batch: b, link: l})
}

// release gives an empty batch, and with it the credit, back to its sender.
func (l *link) release(b exec.Payload) {
	b.Reset()
	l.free <- b
}
