package exec

import (
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/store"
)

// The hit rate, over sample lookups, at which pre-combining is switched on and off.
const (
	preSample = 64 << 10
	preOn     = 0.7
	preOff    = 0.5
	preRetry  = 16   // while it is off, one sample in so many is taken to see whether it would pay
	preLimit  = 8192 // entries, at which it is flushed
)

// precombiner combines elements of a key and window before they are sent. What it holds never outlives a bundle, so the
// bundle's watermark, which leaves after it, is hold enough. Windows that may have ended for the receiver are not taken: there each
// element is late, or fires by itself.
type precombiner[K comparable, V, A, R any] struct {
	w       *keyedWriter[K, V, A, R]
	wins    []preWindow[K, A]
	last    int // the window that was used last
	entries int
	pool    store.Pool[K, A]
	tries   int               // lookups in this sample
	fresh   int               // of these, the ones that made an entry
	off     int               // samples to wait before one is taken; 0 if it is on
	trial   bool              // this sample is taken to see whether it would pay again
	grid    *slicer           // nil if elements bring their windows
	open    []*accBatch[K, A] // by receiver
	_       Apart
}

// preWindow is a window, or a slice of several.
type preWindow[K comparable, A any] struct {
	w event.Window
	t *store.Table[K, A]
}

func newPrecombiner[K comparable, V, A, R any](w *keyedWriter[K, V, A, R]) *precombiner[K, V, A, R] {
	p := &precombiner[K, V, A, R]{w: w, open: make([]*accBatch[K, A], len(w.open))}
	if w.bare {
		p.grid = new(newSlicer(w.g.Lazy))
	}
	return p
}

// take adds an element to its entry; false says that it must be sent as it is.
func (p *precombiner[K, V, A, R]) take(e *Elem, hash uint64, k K, v V) bool {
	if p.tries++; p.tries >= preSample {
		p.decide()
	}
	if p.off > 0 {
		return false
	}
	t := p.table(e)
	if t == nil {
		return false
	}
	e.Enter(p.w.head)
	x, fresh := t.At(hash, k)
	if fresh {
		p.fresh++
		p.entries++
		x.Val = p.w.g.Fn.Zero()
	}
	p.w.g.Fn.Add(&x.Val, v)
	if p.entries >= preLimit {
		p.flush(e)
	}
	return true
}

// decide looks at a sample that is full.
func (p *precombiner[K, V, A, R]) decide() {
	rate, least := 1-float64(p.fresh)/float64(p.tries), preOff
	if p.trial {
		least = preOn
	}
	switch {
	case p.off > 0:
		p.off--
		p.trial = p.off == 0
	case rate < least:
		p.off, p.trial = preRetry, false
	default:
		p.trial = false
	}
	p.tries, p.fresh = 0, 0
}

// table returns the entries of the element's window, nil if it may have ended already.
func (p *precombiner[K, V, A, R]) table(e *Elem) *store.Table[K, A] {
	if p.last < len(p.wins) && p.in(&p.wins[p.last].w, e) {
		return p.wins[p.last].t
	}
	for i := range p.wins {
		if p.in(&p.wins[i].w, e) {
			p.last = i
			return p.wins[i].t
		}
	}
	var w event.Window
	switch {
	case p.grid != nil:
		if e.Time > event.EndOfGlobal {
			return nil
		}
		w = p.grid.slice(e.Time)
		if p.grid.overlapping() && w.Start < p.w.out.Mark() {
			return nil
		}
	case len(e.Win) == 1:
		w = e.Win[0]
	default:
		return nil
	}
	if w.Last() < p.w.out.Mark() {
		return nil
	}
	p.last = len(p.wins)
	// The keys live as long as the bundle and are not cloned.
	p.wins = append(p.wins, preWindow[K, A]{w, store.NewTable(func(k K) K { return k }, &p.pool)})
	return p.wins[p.last].t
}

func (p *precombiner[K, V, A, R]) in(w *event.Window, e *Elem) bool {
	if p.grid != nil {
		return w.Start <= e.Time && e.Time < w.End
	}
	return len(e.Win) == 1 && e.Win[0] == *w
}

// flush sends what there is: a batch for each window and receiver.
func (p *precombiner[K, V, A, R]) flush(e *Elem) {
	for i := range p.wins {
		x := &p.wins[i]
		x.t.Each(func(s *store.Entry[K, A], hash uint64) bool {
			to := p.w.receiver(hash)
			b := p.open[to]
			if b == nil {
				if b = p.batch(e, to, x.w); b == nil {
					return false
				}
			}
			b.hash = append(b.hash, hash)
			b.keys = append(b.keys, s.Key)
			b.accs = append(b.accs, s.Val)
			if len(b.keys) >= BatchSize {
				p.open[to] = nil
				p.w.out.Send(to, b)
			}
			return true
		})
		x.t.Reset()
		sendOpen(p.w.out, p.open)
	}
	clear(p.wins)
	p.wins, p.last, p.entries = p.wins[:0], 0, 0
}

func (p *precombiner[K, V, A, R]) batch(e *Elem, to int, w event.Window) *accBatch[K, A] {
	back, ok := p.w.out.Take(to)
	if !ok {
		e.Err = ErrStopped
		return nil
	}
	b, _ := back.(*accBatch[K, A])
	if b == nil {
		b = &accBatch[K, A]{}
	}
	b.w = w
	p.open[to] = b
	return b
}

// accBatch is partial results of one window on their way.
type accBatch[K comparable, A any] struct {
	w    event.Window
	keys []K
	accs []A
	hash []uint64
}

// Len implements [Payload].
func (b *accBatch[K, A]) Len() int { return len(b.keys) }

// Reset implements [Payload].
func (b *accBatch[K, A]) Reset() {
	clear(b.keys)
	clear(b.accs)
	b.keys, b.accs, b.hash = b.keys[:0], b.accs[:0], b.hash[:0]
}
