package store

import "github.com/levadaflow/levada/event"

// Queue is numbers in the order of times; of one time, in that of their sequence numbers. Each number is in it once at most, and
// may be moved or removed. The zero value is empty and ready.
type Queue struct {
	heap []queued // four children each
	pos  []*[posChunk]uint32
	made int // chunks of pos
}

// queued is an entry. Its place is remembered in pos, plus one.
type queued struct {
	at  event.Time
	seq uint32
	n   uint32
}

const posChunk = 1024

// keptChunks is how many chunks an empty queue keeps, so that one which is often empty does not make them anew each time.
const keptChunks = 4

// before compares sequence numbers as distances, so that they may wrap around.
func (a queued) before(b queued) bool { return a.at < b.at || a.at == b.at && int32(a.seq-b.seq) < 0 }

// Len returns the number of entries.
func (q *Queue) Len() int { return len(q.heap) }

func (q *Queue) find(n uint32) (place int, ok bool) {
	if c := int(n / posChunk); c < len(q.pos) && q.pos[c] != nil {
		p := q.pos[c][n%posChunk]
		return int(p) - 1, p != 0
	}
	return 0, false
}

func (q *Queue) place(e queued, i int) {
	q.heap[i] = e
	q.pos[e.n/posChunk][e.n%posChunk] = uint32(i) + 1
}

// At returns the time of number n; ok is false if it is not in the queue.
func (q *Queue) At(n uint32) (at event.Time, ok bool) {
	i, ok := q.find(n)
	if !ok {
		return 0, false
	}
	return q.heap[i].at, true
}

// Set puts number n at a time, or moves it there.
func (q *Queue) Set(n uint32, at event.Time, seq uint32) {
	e := queued{at, seq, n}
	i, ok := q.find(n)
	if !ok {
		c := int(n / posChunk)
		for c >= len(q.pos) {
			q.pos = append(q.pos, nil)
		}
		if q.pos[c] == nil {
			q.pos[c] = new([posChunk]uint32)
			q.made++
		}
		q.heap = append(q.heap, e)
		i = len(q.heap) - 1
	}
	q.settle(e, i)
}

// settle puts e where it belongs, given that place i is free.
func (q *Queue) settle(e queued, i int) {
	for i > 0 {
		up := (i - 1) / 4
		if !e.before(q.heap[up]) {
			break
		}
		q.place(q.heap[up], i)
		i = up
	}
	for {
		least := 4*i + 1
		if least >= len(q.heap) {
			break
		}
		for c := least + 1; c < min(4*i+5, len(q.heap)); c++ {
			if q.heap[c].before(q.heap[least]) {
				least = c
			}
		}
		if !q.heap[least].before(e) {
			break
		}
		q.place(q.heap[least], i)
		i = least
	}
	q.place(e, i)
}

// Remove takes number n out and reports whether it was there.
func (q *Queue) Remove(n uint32) bool {
	i, ok := q.find(n)
	if !ok {
		return false
	}
	q.pos[n/posChunk][n%posChunk] = 0
	last := len(q.heap) - 1
	e := q.heap[last]
	q.heap = q.heap[:last]
	if i != last {
		q.settle(e, i)
	}
	switch {
	case last == 0 && (q.made > keptChunks || cap(q.heap) > posChunk):
		*q = Queue{}
	case last > 1024 && 4*last < cap(q.heap):
		q.heap = append(make([]queued, 0, 2*last), q.heap...)
	}
	return true
}

// First returns the earliest entry; ok is false if there is none.
func (q *Queue) First() (n uint32, at event.Time, ok bool) {
	if len(q.heap) == 0 {
		return 0, 0, false
	}
	return q.heap[0].n, q.heap[0].at, true
}

// Before reports whether the first entry of q comes before that of o. An empty queue comes last.
func (q *Queue) Before(o *Queue) bool {
	return len(q.heap) > 0 && (len(o.heap) == 0 || q.heap[0].before(o.heap[0]))
}
