package jobs

import (
	"hash/fnv"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/io/textio"
	"github.com/levadaflow/levada/window"
)

// joined is a person or an auction, as query 3 joins them by the seller.
type joined struct {
	name, city, state string // of a person
	auction           int64  // of an auction; 0 for a person
}

// wanted reports whether query 3 wants a person of the state.
func wanted(state string) bool { return state == "OR" || state == "ID" || state == "CA" }

// wantedCategory is that of query 3's auctions.
const wantedCategory = 10

// textField is the number of a text in a row: FNV-1a.
func textField(s string) int64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return int64(h.Sum64())
}

func (t *tally) sale(p joined, auction int64) {
	t.row(textField(p.name), textField(p.city), textField(p.state), auction)
}

// query3 joins auctions with their sellers, whichever comes first, with state that is kept for ever.
func query3(p *levada.Pipeline, a Args, sum *checksum) {
	lines := textio.Read(p, "read", textio.ReadFiles{Glob: a.Input, Time: eventTime, InOrder: &textio.InOrder{}})
	sides := levada.ParDo(lines, "parse", func(_ *levada.Setup, out *levada.Out[levada.KV[int64, joined]]) levada.Process[string] {
		var e nexEvent
		return func(c *levada.Ctx, line string) error {
			if err := e.parse(line); err != nil {
				return err
			}
			switch {
			case e.kind == 'P' && wanted(e.state):
				out.Emit(c, levada.KV[int64, joined]{Key: e.id, Value: joined{name: e.name, city: e.city, state: e.state}})
			case e.kind == 'A' && e.category == wantedCategory:
				out.Emit(c, levada.KV[int64, joined]{Key: e.seller, Value: joined{auction: e.id}})
			}
			return nil
		}
	})
	sales := levada.ParDoKeyed(sides, "join", joinSales)
	levada.ForEach(sales, "sum", of(sum, func(_ *levada.Ctx, t *tally, s joined) { t.sale(s, s.auction) }))
}

// joinSales keeps a seller, and the auctions that have come before it.
func joinSales(s *levada.Keyed[int64], out *levada.Out[joined]) levada.Process[levada.KV[int64, joined]] {
	seller, waiting := levada.ValueState[joined](s, "seller"), levada.BagState[int64](s, "waiting")
	emit := func(c *levada.Ctx, p joined, auction int64) {
		p.auction = auction
		out.Emit(c, p)
	}
	return func(c *levada.Ctx, kv levada.KV[int64, joined]) error {
		if kv.Value.auction != 0 {
			if p, ok := seller.Read(c); ok {
				emit(c, p, kv.Value.auction)
			} else {
				waiting.Add(c, kv.Value.auction)
			}
			return nil
		}
		seller.Write(c, kv.Value)
		for auction := range waiting.All(c) {
			emit(c, kv.Value, auction)
		}
		waiting.Clear(c)
		return nil
	}
}

func hand3(next func() *nexEvent, t *tally) {
	sellers := map[int64]joined{}
	waiting := map[int64][]int64{}
	for e := next(); e != nil; e = next() {
		switch {
		case e.kind == 'P' && wanted(e.state):
			p := joined{name: e.name, city: e.city, state: e.state}
			sellers[e.id] = p
			for _, auction := range waiting[e.id] {
				t.sale(p, auction)
			}
			delete(waiting, e.id)
		case e.kind == 'A' && e.category == wantedCategory:
			if p, ok := sellers[e.seller]; ok {
				t.sale(p, e.id)
			} else {
				waiting[e.seller] = append(waiting[e.seller], e.id)
			}
		}
	}
}

// query8 finds the persons who opened an auction in the ten seconds of their registration.
func query8(p *levada.Pipeline, a Args, sum *checksum) {
	lines := textio.Read(p, "read", textio.ReadFiles{Glob: a.Input, Time: eventTime, InOrder: &textio.InOrder{}})
	type side[V any] = levada.KV[int64, V] // by the person
	persons, sellers := levada.ParDo2(lines, "parse",
		func(_ *levada.Setup, persons *levada.Out[side[string]], sellers *levada.Out[side[struct{}]]) levada.Process[string] {
			var e nexEvent
			return func(c *levada.Ctx, line string) error {
				if err := e.parse(line); err != nil {
					return err
				}
				switch e.kind {
				case 'P':
					persons.Emit(c, side[string]{Key: e.id, Value: e.name})
				case 'A':
					sellers.Emit(c, side[struct{}]{Key: e.seller})
				}
				return nil
			}
		})
	windows := levada.Windowing{Windows: window.Fixed(nexWindow)}
	both := levada.CoGroup2("join", levada.WindowInto(persons, "windows of persons", windows),
		levada.WindowInto(sellers, "windows of sellers", windows))
	levada.ForEach(both, "sum", of(sum, func(_ *levada.Ctx, t *tally, kv side[levada.Grouped2[string, struct{}]]) {
		if kv.Value.B.Len() > 0 {
			for name := range kv.Value.A.All() {
				t.row(kv.Key, textField(name))
			}
		}
	}))
}

func hand8(next func() *nexEvent, t *tally) {
	names := map[int64]string{} // of the persons of the present window
	sold := map[int64]bool{}
	emit := func() {
		for id, name := range names {
			if sold[id] {
				t.row(id, textField(name))
			}
		}
		clear(names)
		clear(sold)
	}
	var current int64
	for e := next(); e != nil; e = next() {
		if w := e.at / nexWindow.Milliseconds(); w != current {
			emit()
			current = w
		}
		switch e.kind {
		case 'P':
			names[e.id] = e.name
		case 'A':
			sold[e.seller] = true
		}
	}
	emit()
}
