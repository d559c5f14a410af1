package levada

import (
	"fmt"
	"slices"
	"time"

	"github.com/levadaflow/levada/coder/plan"
	"github.com/levadaflow/levada/combine"
	"github.com/levadaflow/levada/event"
)

// Batches says when a batch of a key's values is complete: with whichever of its limits is reached first. At least one of Count and
// Bytes must be set. What is left when the window expires is a batch, too.
type Batches[V any] struct {
	// Count is the number of values; 0 is no limit.
	Count int
	// Bytes is the size of the values, by Size: the value that reaches it is the batch's last. 0 is no limit.
	Bytes int64
	// Size returns a value's size in bytes; nil is the length of its encoding.
	Size func(V) int
	// MaxDelay is how long, in processing time, the first value of a batch waits at most; 0 is no limit.
	MaxDelay time.Duration
}

// GroupIntoBatches collects the values of each key and window into batches, in the order in which they come. A batch has the time of its
// earliest element, at which it holds the watermark while it waits; so it is never late. In the global window of an unbounded input set
// MaxDelay, or a key with few values holds the watermark for ever. (Beam's GroupIntoBatches.)
func GroupIntoBatches[K comparable, V any](in PCollection[KV[K, V]], name string, b Batches[V],
	opts ...GroupOption[K, V]) PCollection[KV[K, []V]] {
	p := in.owner(name)
	if b.Count < 0 || b.Bytes < 0 || b.MaxDelay < 0 || b.Count == 0 && b.Bytes == 0 {
		p.problem(p.path(name), fmt.Errorf("%w: %d values, %d bytes, %v", ErrBadBatch, b.Count, b.Bytes, b.MaxDelay))
	}
	if b.Size == nil {
		if values, err := plan.For[V](); err == nil {
			b.Size = values.Size
		}
	}
	return ParDoKeyed(in, name, batching[K](b, in.windowing.latenessMs), opts...)
}

// batching is the setup of the step, given the allowed lateness of its windows.
func batching[K comparable, V any](b Batches[V], latenessMs int64) DoFnKeyed[K, V, KV[K, []V]] {
	return func(s *Keyed[K], out *Out[KV[K, []V]]) Process[KV[K, V]] {
		s.AllowSkew(AnySkew) // to the time at which the batch holds the watermark
		values := BagState[V](s, "values")
		first := ValueState[event.Time](s, "earliest")
		bytes := CombiningState(s, "bytes", combine.Sum[int64]())
		end := EventTimer(s, "end")
		delay := ProcessingTimer(s, "delay")
		flush := func(c *Ctx, k K) error {
			end.Clear(c)
			delay.Clear(c)
			at, _ := first.Read(c)
			out.EmitAt(c, KV[K, []V]{Key: k, Value: slices.Collect(values.All(c))}, at)
			values.Clear(c)
			first.Clear(c)
			bytes.Clear(c)
			return nil
		}
		end.OnFire(flush)
		delay.OnFire(flush)
		return func(c *Ctx, kv KV[K, V]) error {
			expiry := c.Window().Expiry(latenessMs)
			now := min(c.Time(), expiry) // an element may be ahead of its window
			if at, ok := first.Read(c); !ok || now < at {
				first.Write(c, now)
				end.SetOutput(c, expiry, now)
			}
			values.Add(c, kv.Value)
			if n := values.Len(c); n == 1 && b.MaxDelay > 0 {
				delay.SetAfter(c, b.MaxDelay)
			}
			if b.Bytes > 0 {
				bytes.Add(c, int64(b.Size(kv.Value)))
			}
			size, _ := bytes.Read(c)
			if b.Count > 0 && values.Len(c) >= b.Count || b.Bytes > 0 && size >= b.Bytes {
				return flush(c, kv.Key)
			}
			return nil
		}
	}
}
