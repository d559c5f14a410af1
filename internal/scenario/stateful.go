package scenario

import (
	"fmt"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/combine"
)

// pairs is the setup of a stateful step.
type pairs = levada.DoFnKeyed[string, value, pair]

// stateful returns the setup of batch, expire or sorted.
func stateful(s Step) (pairs, error) {
	switch s.Op {
	case "batch":
		spec := s.Spec.(Batch)
		if spec.N < 1 || spec.After < 0 {
			return nil, fmt.Errorf("%w: n=%d after=%d", errBadArgument, spec.N, spec.After)
		}
		return batches(spec), nil
	case "expire":
		return expire, nil
	}
	return sorted, nil
}

// emit gives a pair the call's time and window, and no pane.
func emit(c *levada.Ctx, out *levada.Out[pair], key string, n int64) {
	out.EmitIn(c, pair{Key: key, Value: number(n)}, c.Time(), c.Window())
}

// batches is batch.
func batches(spec Batch) pairs {
	after := time.Duration(spec.After) * time.Millisecond
	return func(s *levada.Keyed[string], out *levada.Out[pair]) levada.Process[pair] {
		sum := levada.CombiningState(s, "sum", combine.Sum[int64]())
		count := levada.CombiningState(s, "count", combine.Count[int64]())
		newTimer := levada.EventTimer[string]
		if spec.Processing {
			newTimer = levada.ProcessingTimer[string]
		}
		timer := newTimer(s, "delay")
		flush := func(c *levada.Ctx, key string) error {
			if n, ok := sum.Read(c); ok {
				emit(c, out, key, n)
			}
			sum.Clear(c)
			count.Clear(c)
			return nil
		}
		timer.OnFire(flush)
		if spec.Processing {
			s.OnWindowExpiration(flush) // an event timer is never set for later
		}
		return func(c *levada.Ctx, kv pair) error {
			sum.Add(c, kv.Value.N)
			count.Add(c, kv.Value.N)
			n, _ := count.Read(c)
			if n == 1 {
				timer.SetAfter(c, after)
			}
			if n < spec.N {
				return nil
			}
			timer.Clear(c)
			return flush(c, kv.Key)
		}
	}
}

// expire is the setup of expire.
func expire(s *levada.Keyed[string], out *levada.Out[pair]) levada.Process[pair] {
	sum := levada.CombiningState(s, "sum", combine.Sum[int64]())
	s.OnWindowExpiration(func(c *levada.Ctx, key string) error {
		n, _ := sum.Read(c)
		emit(c, out, key, n)
		return nil
	})
	return func(c *levada.Ctx, kv pair) error {
		sum.Add(c, kv.Value.N)
		return nil
	}
}

// sorted is the setup of sorted.
func sorted(s *levada.Keyed[string], out *levada.Out[pair]) levada.Process[pair] {
	s.SortByTime()
	return func(c *levada.Ctx, kv pair) error {
		emit(c, out, kv.Key, kv.Value.N)
		return nil
	}
}
