package jobs

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/bench/internal/gen"
	"github.com/levadaflow/levada/io/textio"
	"github.com/levadaflow/levada/window"
)

const (
	nexWindow = 10 * time.Second // of queries 5 and 7, and the gap of query 11
	nexPeriod = 2 * time.Second  // of query 5
)

// bid is what the queries need of a bid. Times are milliseconds since the epoch.
type bid struct{ auction, bidder, price, at int64 }

// nexmarkJobs are queries of the Nexmark suite. A result is the number of its rows and their checksum.
func nexmarkJobs() []*Job {
	queries := []struct {
		name  string
		build func(p *levada.Pipeline, a Args, sum *checksum)
		hand  func(next func() *nexEvent, t *tally)
	}{
		{"q0", ofBids(query0), hand0},
		{"q1", ofBids(query1), hand1},
		{"q2", ofBids(query2), hand2},
		{"q3", query3, hand3},
		{"q5", ofBids(query5), hand5},
		{"q7", ofBids(query7), hand7},
		{"q8", query8, hand8},
		{"q11", ofBids(query11), hand11},
	}
	var all []*Job
	for _, q := range queries {
		var sum checksum
		all = append(all, &Job{
			Name: "nexmark-" + q.name, Input: gen.Nexmark,
			build: func(p *levada.Pipeline, a Args) { q.build(p, a, &sum) },
			ready: func(a Args) error { return sum.total().write(a, q.name) },
			hand:  func(a Args) error { return handQuery(a, q.name, q.hand) },
		})
	}
	return all
}

// ofBids is a query that reads nothing but the bids.
func ofBids(query func(levada.PCollection[bid], *checksum)) func(*levada.Pipeline, Args, *checksum) {
	return func(p *levada.Pipeline, a Args, sum *checksum) { query(readBids(p, a), sum) }
}

// tally is the number of rows and their checksum, which does not depend on their order.
type tally struct{ count, sum uint64 }

// row counts a row of numbers.
func (t *tally) row(fields ...int64) {
	h := uint64(0x1234567)
	for _, v := range fields {
		h = (h ^ uint64(v)) * 0x9E3779B97F4A7C15
		h ^= h >> 29
	}
	t.count++
	t.sum += h
}

func (t tally) write(a Args, query string) error {
	return a.writeResult("%s count %d checksum %016x", query, t.count, t.sum)
}

// checksum adds up the tallies of all tasks.
type checksum struct{ count, sum atomic.Uint64 }

func (c *checksum) total() tally { return tally{c.count.Load(), c.sum.Load()} }

// of returns a DoFn that counts the rows which fn makes of its elements.
func of[T any](total *checksum, fn func(c *levada.Ctx, t *tally, v T)) func(*levada.Setup) levada.Process[T] {
	return func(s *levada.Setup) levada.Process[T] {
		var own tally
		s.OnClose(func() error {
			total.count.Add(own.count)
			total.sum.Add(own.sum)
			return nil
		})
		return func(c *levada.Ctx, v T) error {
			fn(c, &own, v)
			return nil
		}
	}
}

// readBids reads the events, all their fields, and gives the bids.
func readBids(p *levada.Pipeline, a Args) levada.PCollection[bid] {
	lines := textio.Read(p, "read", textio.ReadFiles{Glob: a.Input, Time: eventTime, InOrder: &textio.InOrder{}})
	return levada.ParDo(lines, "parse", func(_ *levada.Setup, out *levada.Out[bid]) levada.Process[string] {
		var e nexEvent
		return func(c *levada.Ctx, line string) error {
			if err := e.parse(line); err != nil {
				return err
			}
			if e.kind == 'B' {
				out.Emit(c, bid{auction: e.auction, bidder: e.bidder, price: e.price, at: e.at})
			}
			return nil
		}
	})
}

// query0 passes on the bids.
func query0(in levada.PCollection[bid], sum *checksum) {
	levada.ForEach(in, "sum", of(sum, func(_ *levada.Ctx, t *tally, b bid) { t.row(b.auction, b.bidder, b.price, b.at) }))
}

// query1 changes the currency of the bids.
func query1(in levada.PCollection[bid], sum *checksum) {
	euros := levada.Map(in, "euros", func(b bid) bid {
		b.price = b.price * 908 / 1000
		return b
	})
	query0(euros, sum)
}

// query2 selects bids for some auctions.
func query2(in levada.PCollection[bid], sum *checksum) {
	some := levada.Filter(in, "some", func(b bid) bool { return b.auction%123 == 0 })
	levada.ForEach(some, "sum", of(sum, func(_ *levada.Ctx, t *tally, b bid) { t.row(b.auction, b.price) }))
}

// query5 finds the auctions with the most bids in the last ten seconds, every two seconds; all of those that are equal.
func query5(in levada.PCollection[bid], sum *checksum) {
	windows := levada.WindowInto(in, "windows", levada.Windowing{Windows: window.Sliding(nexWindow, nexPeriod)})
	counts := levada.CountPerKey(levada.KeyBy(windows, "by auction", func(b bid) int64 { return b.auction }), "count")
	hottest := levada.CombineGlobally(counts, "hottest",
		best[levada.KV[int64, int64]]{func(kv levada.KV[int64, int64]) int64 { return kv.Value }})
	levada.ForEach(hottest, "sum", of(sum, func(c *levada.Ctx, t *tally, all []levada.KV[int64, int64]) {
		for _, kv := range all {
			t.row(c.Window().End.Millis(), kv.Key, kv.Value)
		}
	}))
}

// best keeps those with the greatest value.
type best[T any] struct{ value func(T) int64 }

func (best[T]) Zero() []T { return nil }
func (b best[T]) Add(acc *[]T, v T) {
	if len(*acc) > 0 {
		switch present, next := b.value((*acc)[0]), b.value(v); {
		case next < present:
			return
		case next > present:
			*acc = (*acc)[:0]
		}
	}
	*acc = append(*acc, v)
}
func (b best[T]) Merge(acc *[]T, o []T) {
	for _, v := range o {
		b.Add(acc, v)
	}
}
func (best[T]) Result(acc []T) []T { return slices.Clone(acc) }

// query7 finds the highest bids of every ten seconds.
func query7(in levada.PCollection[bid], sum *checksum) {
	windows := levada.WindowInto(in, "windows", levada.Windowing{Windows: window.Fixed(nexWindow)})
	highest := levada.CombineGlobally(windows, "highest", best[bid]{func(b bid) int64 { return b.price }})
	levada.ForEach(highest, "sum", of(sum, func(_ *levada.Ctx, t *tally, all []bid) {
		for _, b := range all {
			t.row(b.auction, b.bidder, b.price, b.at)
		}
	}))
}

// query11 counts the bids of a bidder's session.
func query11(in levada.PCollection[bid], sum *checksum) {
	windows := levada.WindowInto(in, "windows", levada.Windowing{Windows: window.Sessions(nexWindow)})
	counts := levada.CountPerKey(levada.KeyBy(windows, "by bidder", func(b bid) int64 { return b.bidder }), "count")
	levada.ForEach(counts, "sum", of(sum, func(c *levada.Ctx, t *tally, kv levada.KV[int64, int64]) {
		t.row(kv.Key, kv.Value, c.Window().Start.Millis(), c.Window().End.Millis())
	}))
}
