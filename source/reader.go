package source

import (
	"context"

	"github.com/levadaflow/levada/event"
)

// Unbounded is a source of elements T that may have no end: a queue, a topic, a folder that grows. It is read in parts, by levada.ReadUnbounded.
// M is how far a reader has come: a small comparable value of a type that can be encoded, such as an offset. (Beam's UnboundedSource.)
//
// A connector's author runs levadatest.CheckUnbounded against it.
type Unbounded[T any, M comparable] interface {
	// Split returns the parts, about as many as desired, which have nothing in common; itself if it cannot be divided up. It is called once in a run,
	// and must give the same parts in the same order each time.
	Split(ctx context.Context, desired int) ([]Unbounded[T, M], error)
	// Open returns a reader of what comes after mark, or of all if begun is false. It may be called again and again, for any mark that a reader
	// of this part has returned, also for an older one than the last. Two readers of a part are never used at a time.
	Open(ctx context.Context, mark M, begun bool) (UnboundedReader[T, M], error)
}

// Record is an element with its event time, event.Min if it has none.
type Record[T any] struct {
	Value T
	Time  event.Time
}

// UnboundedReader reads a part of an [Unbounded] source. It is used by one goroutine at a time.
type UnboundedReader[T any, M comparable] interface {
	// Next returns the next element; ok is false if there is none for now. It must not wait for long. An error fails the run.
	Next(ctx context.Context) (r Record[T], ok bool, err error)
	// Mark returns how far Next has come.
	Mark() M
	// Watermark returns a time before which Next will return nothing, or if it does, it is late. event.Max says that the part has ended. It may
	// go back, which has no effect.
	Watermark() event.Time
	// Finalize is told that all up to mark has gone through the steps behind the source that need no grouping, or that a run has ended well: a
	// queue can be told that it is done with. It is not called for every mark. An error fails the run.
	Finalize(mark M) error
	// Close ends the reader.
	Close() error
}

// Bounded is a source of elements T with an end. It is read in parts, by levada.ReadBounded. (Beam's BoundedSource.)
//
// A connector's author runs levadatest.CheckBounded against it.
type Bounded[T any] interface {
	// Split returns the parts, about as many as desired, which have nothing in common; itself if it cannot be divided up. It must give the same
	// parts in the same order each time.
	Split(ctx context.Context, desired int) ([]Bounded[T], error)
	// Open returns a reader from the part's beginning. It must give the same elements in the same order each time.
	Open(ctx context.Context) (BoundedReader[T], error)
}

// BoundedReader reads a part of a [Bounded] source. It is used by one goroutine at a time.
type BoundedReader[T any] interface {
	// Next returns the next element; ok is false at the end. An error fails the run.
	Next(ctx context.Context) (r Record[T], ok bool, err error)
	// Close ends the reader.
	Close() error
}

// AsUnbounded returns a bounded source as one whose marks are numbers of elements and whose watermark goes from event.Min to event.Max at
// the end.
func AsUnbounded[T any](src Bounded[T]) Unbounded[T, int64] { return counted[T]{src} }

// counted is a bounded source that counts what has been read.
type counted[T any] struct{ src Bounded[T] }

func (c counted[T]) Split(ctx context.Context, desired int) ([]Unbounded[T, int64], error) {
	parts, err := c.src.Split(ctx, desired)
	all := make([]Unbounded[T, int64], len(parts))
	for i, p := range parts {
		all[i] = counted[T]{p}
	}
	return all, err
}

func (c counted[T]) Open(ctx context.Context, mark int64, _ bool) (UnboundedReader[T, int64], error) {
	r, err := c.src.Open(ctx)
	if err != nil {
		return nil, err
	}
	x := &countedReader[T]{r: r}
	for x.n < mark && !x.ended { // it is the only way to where it was
		if _, _, err := x.Next(ctx); err != nil {
			_ = r.Close()
			return nil, err
		}
	}
	return x, nil
}

type countedReader[T any] struct {
	r     BoundedReader[T]
	n     int64
	ended bool
}

func (x *countedReader[T]) Next(ctx context.Context) (Record[T], bool, error) {
	r, ok, err := x.r.Next(ctx)
	if ok {
		x.n++
	} else if err == nil {
		x.ended = true
	}
	return r, ok, err
}

func (x *countedReader[T]) Mark() int64 { return x.n }

func (x *countedReader[T]) Watermark() event.Time {
	if x.ended {
		return event.Max
	}
	return event.Min
}

func (x *countedReader[T]) Finalize(int64) error { return nil }
func (x *countedReader[T]) Close() error         { return x.r.Close() }
