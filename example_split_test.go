package levada_test

import (
	"context"
	"fmt"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/combine"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/source"
	"github.com/levadaflow/levada/trigger"
	"github.com/levadaflow/levada/window"
)

// Files are read in ranges of records, which may be split while they are read.
func ExampleParDoSplit() {
	records := map[string][]string{"a": {"a0", "a1", "a2"}, "b": {"b0"}}
	p := levada.New()
	files := levada.Create(p, "files", "a", "b")
	ranges := source.OffsetRanges(func(_ context.Context, file string) (source.OffsetRange, error) {
		return source.OffsetRange{To: int64(len(records[file]))}, nil
	})
	type process = levada.ProcessSplit[string, source.OffsetRange, int64]
	all := levada.ParDoSplit(files, "read", ranges, func(_ *levada.Splitting, out *levada.Out[string]) process {
		return func(c *levada.Ctx, file string, claim *levada.Claim[source.OffsetRange, int64]) (levada.Resume, error) {
			for i := claim.Restriction().From; claim.TryClaim(i); i++ {
				out.Emit(c, records[file][i])
			}
			return levada.Done, nil
		}
	})
	printEach(all)
	mustRun(p)
	// Unordered output:
	// a0
	// a1
	// a2
	// b0
}

func ExampleParDoSplit2() {
	p := levada.New()
	ranges := source.OffsetRanges(func(_ context.Context, n int64) (source.OffsetRange, error) { return source.OffsetRange{To: n}, nil })
	type process = levada.ProcessSplit[int64, source.OffsetRange, int64]
	even, odd := levada.ParDoSplit2(levada.Create[int64](p, "up-to", 4), "count", ranges,
		func(_ *levada.Splitting, even, odd *levada.Out[string]) process {
			return func(c *levada.Ctx, _ int64, claim *levada.Claim[source.OffsetRange, int64]) (levada.Resume, error) {
				for i := claim.Restriction().From; claim.TryClaim(i); i++ {
					if i%2 == 0 {
						even.Emit(c, fmt.Sprint(i, " is even"))
					} else {
						odd.Emit(c, fmt.Sprint(i, " is odd"))
					}
				}
				return levada.Done, nil
			}
		})
	printEach(levada.Flatten("both", even, odd))
	mustRun(p)
	// Output:
	// 0 is even
	// 1 is odd
	// 2 is even
	// 3 is odd
}

// A source that is called again and again, says how far it is complete, and holds nobody up when nothing comes.
func ExampleManualWatermark() {
	p := levada.New()
	ranges := source.OffsetRanges(func(context.Context, []byte) (source.OffsetRange, error) { return source.OffsetRange{To: 4}, nil })
	type process = levada.ProcessSplit[[]byte, source.OffsetRange, int64]
	ticks := levada.ParDoSplit(levada.Impulse(p, "impulse"), "ticks", ranges, func(s *levada.Splitting, out *levada.Out[int64]) process {
		wm := levada.ManualWatermark(s, levada.IdleAfter(time.Second))
		return func(c *levada.Ctx, _ []byte, claim *levada.Claim[source.OffsetRange, int64]) (levada.Resume, error) {
			i := claim.Restriction().From
			if !claim.TryClaim(i) {
				return levada.Done, nil
			}
			at := event.Time(i * 600)
			out.EmitAt(c, i, at)
			wm.Advance(at)
			return levada.ResumeAfter(time.Millisecond), nil
		}
	})
	seconds := levada.WindowInto(ticks, "seconds", levada.Windowing{Windows: window.Fixed(time.Second)})
	printEach(levada.CombineGlobally(seconds, "sum", combine.Sum[int64]()))
	mustRun(p)
	// Output:
	// 1
	// 5
}

// An estimator that needs only to know how far times may be out of order.
func ExampleBoundedWatermark() {
	times := []event.Time{1000, 3000, 2000, 9000}
	p := levada.New()
	ranges := source.OffsetRanges(func(context.Context, []byte) (source.OffsetRange, error) {
		return source.OffsetRange{To: int64(len(times))}, nil
	})
	type process = levada.ProcessSplit[[]byte, source.OffsetRange, int64]
	out := levada.ParDoSplit(levada.Impulse(p, "impulse"), "read", ranges, func(s *levada.Splitting, out *levada.Out[string]) process {
		levada.BoundedWatermark(s, time.Second, levada.AnyFuture)
		return func(c *levada.Ctx, _ []byte, claim *levada.Claim[source.OffsetRange, int64]) (levada.Resume, error) {
			for i := claim.Restriction().From; claim.TryClaim(i); i++ {
				out.EmitAt(c, "x", times[i])
			}
			return levada.Done, nil
		}
	}, levada.MaxDrift(time.Minute))
	levada.Do(out, "print", func(c *levada.Ctx, _ string) error {
		fmt.Println(c.Time().Millis())
		return nil
	})
	fmt.Println(mustRun(p).Counter("read", "emitted_late"), "are late")
	// Output:
	// 1000
	// 3000
	// 2000
	// 9000
	// 0 are late
}

// numbersTo is a source of the numbers below n.
type numbersTo int

func (n numbersTo) Split(context.Context, int) ([]source.Bounded[int], error) {
	return []source.Bounded[int]{n}, nil
}

func (n numbersTo) Open(context.Context) (source.BoundedReader[int], error) {
	return &numberReader{end: int(n)}, nil
}

type numberReader struct{ next, end int }

func (r *numberReader) Next(context.Context) (rec source.Record[int], ok bool, err error) {
	if r.next == r.end {
		return rec, false, nil
	}
	r.next++
	return source.Record[int]{Value: r.next - 1, Time: event.Min}, true, nil
}

func (r *numberReader) Close() error { return nil }

func ExampleReadBounded() {
	p := levada.New()
	printEach(levada.ReadBounded(p, "numbers", numbersTo(3), levada.ReadOptions{}))
	mustRun(p)
	// Output:
	// 0
	// 1
	// 2
}

func ExampleReadUnbounded() {
	p := levada.New()
	printEach(levada.ReadUnbounded(p, "numbers", source.AsUnbounded[int](numbersTo(2)), levada.ReadOptions{PollEvery: time.Second}))
	mustRun(p)
	// Output:
	// 0
	// 1
}

func ExampleAsSingleton() {
	p := levada.New()
	rate := levada.AsSingleton(levada.Create(p, "rates", 1.1), "rate")
	euros := levada.ParDo(levada.Create(p, "euros", 10, 20), "dollars", func(s *levada.Setup, out *levada.Out[string]) levada.Process[int] {
		rate := levada.Side(s, rate)
		return func(c *levada.Ctx, euro int) error {
			out.Emit(c, fmt.Sprintf("%.1f dollars", float64(euro)*rate.Get(c)))
			return nil
		}
	})
	printEach(euros)
	mustRun(p)
	// Output:
	// 11.0 dollars
	// 22.0 dollars
}

func ExampleAsIter() {
	p := levada.New()
	stop := levada.AsIter(levada.Create(p, "stop-words", "the", "a"), "stop")
	words := levada.ParDo(levada.Create(p, "words", "the", "water"), "keep", func(s *levada.Setup, out *levada.Out[string]) levada.Process[string] {
		stop := levada.Side(s, stop)
		return func(c *levada.Ctx, word string) error {
			for w := range stop.All(c) {
				if w == word {
					return nil
				}
			}
			out.Emit(c, word)
			return nil
		}
	})
	printEach(words)
	mustRun(p)
	// Output: water
}

func ExampleAsMap() {
	p := levada.New()
	names := levada.AsMap(levada.Create(p, "users", levada.KV[int, string]{Key: 1, Value: "anna"}), "names")
	out := levada.ParDo(levada.Create(p, "visits", 1, 2), "name", func(s *levada.Setup, out *levada.Out[string]) levada.Process[int] {
		names := levada.Side(s, names)
		return func(c *levada.Ctx, id int) error {
			name, ok := names.Get(c, id)
			out.Emit(c, fmt.Sprint(id, " ", name, ok))
			return nil
		}
	})
	printEach(out)
	mustRun(p)
	// Output:
	// 1 annatrue
	// 2 false
}

func ExampleAsMultimap() {
	p := levada.New()
	roles := levada.AsMultimap(levada.Create(p, "roles", levada.KV[string, string]{Key: "anna", Value: "admin"}), "by-user")
	out := levada.ParDo(levada.Create(p, "users", "anna", "bert"), "roles-of", func(s *levada.Setup, out *levada.Out[string]) levada.Process[string] {
		roles := levada.Side(s, roles)
		return func(c *levada.Ctx, user string) error {
			for role := range roles.Get(c, user) {
				out.Emit(c, user+" is "+role)
			}
			return nil
		}
	})
	printEach(out)
	mustRun(p)
	// Output: anna is admin
}

// A side input that changes: the latest pane of a trigger that fires for each element.
func ExampleSide() {
	p := levada.New()
	latest := levada.WindowInto(levada.Create(p, "settings", "on"), "latest", levada.Windowing{
		Trigger: trigger.Repeat{Trigger: trigger.AfterCount(1)}, Accumulation: levada.Discarding,
	})
	setting := levada.AsSingleton(latest, "setting", "off")
	out := levada.ParDo(levada.Create(p, "lamps", "kitchen"), "switch", func(s *levada.Setup, out *levada.Out[string]) levada.Process[string] {
		setting := levada.Side(s, setting)
		return func(c *levada.Ctx, lamp string) error {
			out.Emit(c, lamp+" is "+setting.Get(c))
			return nil
		}
	})
	printEach(out)
	mustRun(p)
	// Output: kitchen is on
}

// A run is drained: the source ends, and what is open comes out.
func ExampleEmbedded_drain() {
	drain := make(chan struct{})
	p := levada.New()
	ranges := source.OffsetRanges(func(context.Context, []byte) (source.OffsetRange, error) { return source.OffsetRange{To: 1 << 40}, nil })
	ranges.Unbounded = true
	type process = levada.ProcessSplit[[]byte, source.OffsetRange, int64]
	ones := levada.ParDoSplit(levada.Impulse(p, "impulse"), "tail", ranges, func(_ *levada.Splitting, out *levada.Out[int]) process {
		return func(c *levada.Ctx, _ []byte, claim *levada.Claim[source.OffsetRange, int64]) (levada.Resume, error) {
			for i := claim.Restriction().From; i < 3; i++ {
				if claim.TryClaim(i) {
					out.EmitAt(c, 1, event.Time(i))
				}
			}
			return levada.Done, claim.Block(func(ctx context.Context) error { // wait for more
				close(drain)
				<-ctx.Done()
				return ctx.Err()
			})
		}
	})
	hours := levada.WindowInto(ones, "hours", levada.Windowing{Windows: window.Fixed(time.Hour)})
	printEach(levada.CombineGlobally(hours, "sum", combine.Sum[int]()))
	_, err := p.Run(context.Background(), levada.Embedded{Parallelism: 1, Drain: drain})
	fmt.Println(err)
	// Output:
	// 3
	// <nil>
}
