package levada_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log"
	"slices"
	"strconv"
	"strings"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
)

// printEach prints the elements of a collection, each in a line.
func printEach[T any](in levada.PCollection[T]) {
	levada.ForEach(in, "print", func(*levada.Setup) levada.Process[T] {
		return func(_ *levada.Ctx, v T) error {
			fmt.Println(v)
			return nil
		}
	})
}

// mustRun runs a pipeline in one task, so that what is created in an order is printed in that order.
func mustRun(p *levada.Pipeline) *levada.Result {
	r, err := p.Run(context.Background(), levada.Embedded{Parallelism: 1})
	if err != nil {
		log.Fatal(err)
	}
	return r
}

// must ends the program after an error.
func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A whole program: words are counted.
func Example() {
	p := levada.New()
	lines := levada.Create(p, "lines", "the water runs", "the levada carries the water")
	words := levada.FlatMap(lines, "split", func(line string) iter.Seq[string] { return strings.FieldsSeq(line) })
	byWord := levada.KeyBy(words, "by-word", func(word string) string { return word })
	counts := levada.CountPerKey(byWord, "count")
	levada.ForEach(counts, "print", func(*levada.Setup) levada.Process[levada.KV[string, int64]] {
		return func(_ *levada.Ctx, kv levada.KV[string, int64]) error {
			fmt.Println(kv.Key, kv.Value)
			return nil
		}
	})
	if _, err := p.Run(context.Background(), levada.Embedded{Parallelism: 1}); err != nil {
		log.Fatal(err)
	}
	// Unordered output:
	// the 3
	// water 2
	// runs 1
	// levada 1
	// carries 1
}

func ExampleNew() {
	p := levada.New()
	levada.Create(p, "numbers", 1, 2, 3)
	r, err := p.Run(context.Background(), levada.Embedded{})
	fmt.Println(len(r.Steps), err)
	// Output: 1 <nil>
}

func ExampleCreate() {
	p := levada.New()
	levada.ForEach(levada.Create(p, "numbers", 1, 2), "print", func(*levada.Setup) levada.Process[int] {
		return func(c *levada.Ctx, v int) error {
			fmt.Println(v, c.Time(), c.Window())
			return nil
		}
	})
	mustRun(p)
	// Output:
	// 1 -290308-12-21T19:59:05.225Z (min) global
	// 2 -290308-12-21T19:59:05.225Z (min) global
}

func ExampleCreateTimed() {
	p := levada.New()
	readings := levada.CreateTimed(p, "readings",
		levada.Timed[float64]{Value: 17.5, Time: 1000}, // milliseconds since 1970
		levada.Timed[float64]{Value: 17.7, Time: 2000},
	)
	levada.ForEach(readings, "print", func(*levada.Setup) levada.Process[float64] {
		return func(c *levada.Ctx, v float64) error {
			fmt.Println(v, c.Time())
			return nil
		}
	})
	mustRun(p)
	// Output:
	// 17.5 1970-01-01T00:00:01.000Z
	// 17.7 1970-01-01T00:00:02.000Z
}

// Whatever a pipeline begins with can be made of the one element of an Impulse.
func ExampleImpulse() {
	p := levada.New()
	numbers := levada.FlatMap(levada.Impulse(p, "go"), "numbers", func([]byte) iter.Seq[int] {
		return func(yield func(int) bool) {
			for i := 0; i < 3 && yield(i); i++ {
			}
		}
	})
	printEach(numbers)
	mustRun(p)
	// Output:
	// 0
	// 1
	// 2
}

func ExampleMap() {
	p := levada.New()
	words := levada.Create(p, "words", "water", "runs", "down")
	lengths := levada.Map(words, "length", func(w string) int { return len(w) })
	printEach(lengths)
	mustRun(p)
	// Output:
	// 5
	// 4
	// 4
}

// Without FailedTo the first error fails the run.
func ExampleTryMap() {
	p := levada.New()
	texts := levada.Create(p, "texts", "1", "two", "3")
	levada.TryMap(texts, "parse", strconv.Atoi)
	_, err := p.Run(context.Background(), levada.Embedded{Parallelism: 1})
	fmt.Println(errors.Is(err, strconv.ErrSyntax))
	// Output: true
}

// With FailedTo the run goes on, and what has failed is a collection like any other.
func ExampleFailedTo() {
	p := levada.New()
	texts := levada.Create(p, "texts", "1", "two", "3")
	var bad levada.FailedOf[string]
	numbers := levada.TryMap(texts, "parse", strconv.Atoi, levada.FailedTo(&bad))
	levada.Scope(p, "good", func() bool { printEach(numbers); return true })
	levada.Scope(p, "bad", func() bool { printEach(bad); return true })
	mustRun(p)
	// Unordered output:
	// 1
	// {two strconv.Atoi: parsing "two": invalid syntax}
	// 3
}

func ExampleFilter() {
	p := levada.New()
	numbers := levada.Create(p, "numbers", 1, 2, 3, 4)
	printEach(levada.Filter(numbers, "even", func(n int) bool { return n%2 == 0 }))
	mustRun(p)
	// Output:
	// 2
	// 4
}

// Any sequence will do: strings.SplitSeq, slices.Values, maps.Keys, or one of your own.
func ExampleFlatMap() {
	p := levada.New()
	lines := levada.Create(p, "lines", "a,b", "c")
	fields := levada.FlatMap(lines, "split", func(line string) iter.Seq[string] { return strings.SplitSeq(line, ",") })
	printEach(fields)
	mustRun(p)
	// Output:
	// a
	// b
	// c
}

func ExampleKeyBy() {
	p := levada.New()
	words := levada.Create(p, "words", "water", "runs")
	printEach(levada.KeyBy(words, "by-length", func(w string) int { return len(w) }))
	mustRun(p)
	// Output:
	// 5: water
	// 4: runs
}

func ExampleKeyValue() {
	p := levada.New()
	lines := levada.Create(p, "lines", "anna=3", "ben=5")
	pairs := levada.KeyValue(lines, "pair", func(line string) (string, int) {
		name, text, _ := strings.Cut(line, "=")
		n, _ := strconv.Atoi(text)
		return name, n
	})
	printEach(pairs)
	mustRun(p)
	// Output:
	// anna: 3
	// ben: 5
}

// The DoFn's setup runs for every task, and what it declares there, here a counter and a buffer, belongs to that task alone.
// The buffer is written at the bundle's end, when there is no element at hand: hence EmitIn.
func ExampleParDo() {
	inThrees := func(s *levada.Setup, out *levada.Out[[]int]) levada.Process[int] {
		batches := s.Counter("batches")
		var buffer []int
		s.OnBundleStart(func(*levada.Ctx) error { buffer = nil; return nil })
		write := func(emit func(batch []int)) {
			batches.Inc(1)
			emit(buffer)
			buffer = nil // what was emitted is no longer ours
		}
		s.OnBundleFinish(func(c *levada.Ctx) error {
			if len(buffer) > 0 {
				write(func(batch []int) { out.EmitIn(c, batch, event.Min, event.Global()) })
			}
			return nil
		})
		return func(c *levada.Ctx, v int) error {
			if buffer = append(buffer, v); len(buffer) == 3 {
				write(func(batch []int) { out.Emit(c, batch) })
			}
			return nil
		}
	}

	p := levada.New()
	numbers := levada.Create(p, "numbers", 1, 2, 3, 4)
	printEach(levada.ParDo(numbers, "in-threes", inThrees))
	r, err := p.Run(context.Background(), levada.Embedded{Parallelism: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Counter("in-threes", "batches"), "batches")
	// Output:
	// [1 2 3]
	// [4]
	// 2 batches
}

func ExampleParDo2() {
	p := levada.New()
	lines := levada.Create(p, "lines", "17", "warm", "18")
	numbers, rest := levada.ParDo2(lines, "parse",
		func(s *levada.Setup, numbers *levada.Out[int], rest *levada.Out[string]) levada.Process[string] {
			malformed := s.Counter("malformed")
			return func(c *levada.Ctx, line string) error {
				n, err := strconv.Atoi(line)
				if err != nil {
					malformed.Inc(1)
					rest.Emit(c, line)
					return nil
				}
				numbers.Emit(c, n)
				return nil
			}
		})
	printEach(levada.Map(numbers, "double", func(n int) int { return 2 * n }))
	levada.Scope(p, "rest", func() bool { printEach(rest); return true })
	r := mustRun(p)
	fmt.Println(r.Counter("parse", "malformed"), "malformed")
	// Unordered output:
	// 34
	// warm
	// 36
	// 1 malformed
}

func ExampleForEach() {
	p := levada.New()
	words := levada.Create(p, "words", "water", "runs")
	levada.ForEach(words, "print", func(*levada.Setup) levada.Process[string] {
		return func(_ *levada.Ctx, word string) error {
			fmt.Println(word)
			return nil
		}
	})
	mustRun(p)
	// Output:
	// water
	// runs
}

// A setup declares what an instance has, and when it is called. It runs once more while the pipeline is built, so whatever
// touches the world goes into OnStart and OnClose.
func ExampleSetup() {
	p := levada.New()
	words := levada.Create(p, "words", "water", "runs")
	levada.ForEach(words, "store", func(s *levada.Setup) levada.Process[string] {
		lengths := s.Distribution("lengths")
		s.OnStart(func(context.Context) error { fmt.Println("connect"); return nil })
		s.OnClose(func() error { fmt.Println("disconnect"); return nil })
		return func(_ *levada.Ctx, word string) error {
			lengths.Update(int64(len(word)))
			fmt.Println("store", word)
			return nil
		}
	})
	d := mustRun(p).Distribution("store", "lengths")
	fmt.Println(d.Count, "words of", d.Min, "to", d.Max, "bytes")
	// Output:
	// connect
	// store water
	// store runs
	// disconnect
	// 2 words of 4 to 5 bytes
}

// Ctx says what is known of the element at hand.
func ExampleCtx() {
	p := levada.New()
	in := levada.CreateTimed(p, "in", levada.Timed[string]{Value: "a", Time: 1500})
	levada.ForEach(in, "look", func(*levada.Setup) levada.Process[string] {
		return func(c *levada.Ctx, v string) error {
			fmt.Printf("%s at %d ms in window %v, pane %v\n", v, c.Time().Millis(), c.Window(), c.Pane())
			return c.Context().Err() // whatever waits should use the context
		}
	})
	mustRun(p)
	// Output: a at 1500 ms in window global, pane none
}

// Scopes put a name before those of their steps, so that a part of a pipeline can be used twice.
func ExampleScope() {
	double := func(p *levada.Pipeline, in levada.PCollection[int]) levada.PCollection[int] {
		return levada.Map(in, "double", func(n int) int { return 2 * n })
	}
	p := levada.New()
	n := levada.Create(p, "n", 5)
	twice := levada.Scope(p, "once", func() levada.PCollection[int] { return double(p, n) })
	levada.Scope(p, "again", func() levada.PCollection[int] { return double(p, twice) })
	for _, s := range mustRun(p).Steps {
		fmt.Println(s.Name)
	}
	// Output:
	// n
	// once/double
	// again/double
}

// The inputs are read at the same time: their elements come in no order.
func ExampleFlatten() {
	p := levada.New()
	a := levada.Create(p, "a", 1, 2)
	b := levada.Create(p, "b", 3)
	printEach(levada.Flatten("both", a, b))
	mustRun(p)
	// Unordered output:
	// 1
	// 2
	// 3
}

// Create emits from one task; behind a Reshuffle all tasks have work.
func ExampleReshuffle() {
	p := levada.New()
	urls := levada.Create(p, "urls", "/a", "/b", "/c")
	spread := levada.Reshuffle(urls, "spread")
	printEach(levada.Map(spread, "fetch", func(url string) string { return "contents of " + url }))
	if _, err := p.Run(context.Background(), levada.Embedded{Parallelism: 3}); err != nil {
		log.Fatal(err)
	}
	// Unordered output:
	// contents of /a
	// contents of /b
	// contents of /c
}

// Pipelines of the same steps and connections have the same fingerprint, whatever their functions do.
func ExamplePipeline_Fingerprint() {
	build := func(name string) *levada.Pipeline {
		p := levada.New()
		levada.Filter(levada.Create(p, "in", 1), name, func(int) bool { return true })
		return p
	}
	first, again, other := build("a"), build("a"), build("b")
	fmt.Println(first.Fingerprint() == again.Fingerprint(), first.Fingerprint() == other.Fingerprint())
	// Output: true false
}

// The values may be walked any number of times, but only during the call.
func ExampleValues() {
	p := levada.New()
	words := levada.KeyBy(levada.Create(p, "words", "runs", "water", "down"), "by-length", func(w string) int { return len(w) })
	grouped := levada.GroupByKey(words, "group")
	printEach(levada.Map(grouped, "sort", func(kv levada.KV[int, levada.Values[string]]) string {
		return fmt.Sprint(kv.Key, " letters, ", kv.Value.Len(), " words: ", slices.Sorted(kv.Value.All()))
	}))
	mustRun(p)
	// Unordered output:
	// 4 letters, 2 words: [down runs]
	// 5 letters, 1 words: [water]
}
