package gen

import (
	"io"
	"math"
	"math/rand/v2"
	"strconv"
)

// Of fifty events the first is a person, the next three are auctions and the rest are bids.
const (
	eventGroup  = 50
	perGroup    = 3 // auctions
	hotEvery    = 100
	active      = 1000 // persons that still do something
	inFlight    = 100  // auctions that still get bids
	ahead       = 10   // ids that may not have come yet
	firstID     = 1000
	eventMicros = 100
	nexStart    = 1767225600000 // 2026-01-01T00:00:00Z
)

var (
	states = []string{"AZ", "CA", "ID", "OR", "WA", "WY"}
	cities = []string{"Bend", "Boise", "Cheyenne", "Kent", "Los Angeles", "Phoenix", "Portland", "Redmond", "San Francisco",
		"Seattle"}
	first    = []string{"Deiter", "John", "Julie", "Kate", "Luke", "Paul", "Peter", "Sarah", "Saul", "Vicky", "Walter"}
	last     = []string{"Abrams", "Bartels", "Jones", "Noris", "Shultz", "Smith", "Spencer", "Walton", "White"}
	channels = []string{"Apple", "Baidu", "Facebook", "Google"}
)

// writeNexmark writes n events, one every 100 microseconds of event time, in order:
//
//	P|id|name|email|card|city|state|time|extra
//	A|id|item|description|initial bid|reserve|time|expires|seller|category|extra
//	B|auction|bidder|price|channel|url|time|extra
//
// Times are milliseconds since the epoch. Half of the bids are for a hot auction, three in four by a hot bidder, and three
// in four auctions are a hot seller's, as in the Nexmark suite.
func writeNexmark(w io.Writer, n int64) error {
	g := nexmark{Rand: rand.New(rand.NewPCG(1, 20260101))}
	for i := range n {
		g.line, g.event = g.line[:0], i
		at := nexStart + i*eventMicros/1000
		size := 100
		switch o := i % eventGroup; {
		case o == 0:
			size = 200
			g.person(at)
		case o <= perGroup:
			size = 500
			g.auction(at)
		default:
			g.bid(at)
		}
		g.letters(size - 1 - len(g.line))
		if _, err := w.Write(append(g.line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// nexmark is the state of a generator.
type nexmark struct {
	*rand.Rand
	event int64
	line  []byte
}

func (g *nexmark) person(at int64) {
	g.text("P")
	g.number(firstID + g.lastPerson())
	g.text(g.pick(first) + " " + g.pick(last))
	g.letters(7)
	g.line = append(g.line, '@')
	g.letters(5)
	g.text(".com")
	g.number(1e15 + g.Int64N(9e15))
	g.text(g.pick(cities))
	g.text(g.pick(states))
	g.number(at)
}

func (g *nexmark) auction(at int64) {
	g.text("A")
	g.number(firstID + g.lastAuction())
	g.letters(20)
	g.text("")
	g.letters(100)
	g.text("")
	initial := g.price()
	g.number(initial)
	g.number(initial + g.price())
	g.number(at)
	g.number(at + 1000 + g.Int64N(20_000))
	seller := g.lastPerson() / hotEvery * hotEvery
	if g.IntN(4) == 0 {
		seller = g.somePerson()
	}
	g.number(firstID + seller)
	g.number(10 + g.Int64N(5))
}

func (g *nexmark) bid(at int64) {
	auction := g.lastAuction() / hotEvery * hotEvery
	if g.IntN(2) == 0 {
		auction = g.someAuction()
	}
	bidder := g.lastPerson()/hotEvery*hotEvery + 1
	if g.IntN(4) == 0 {
		bidder = g.somePerson()
	}
	g.text("B")
	g.number(firstID + auction)
	g.number(firstID + bidder)
	g.number(g.price())
	g.text(g.pick(channels))
	g.line = append(g.line, "https://www.nexmark.com/"...)
	g.letters(5)
	g.text("/item.htm?q=1")
	g.number(at)
}

// lastPerson is the newest person.
func (g *nexmark) lastPerson() int64 { return g.event / eventGroup }

// lastAuction is the newest auction, 0 if there is none yet.
func (g *nexmark) lastAuction() int64 {
	group, o := g.event/eventGroup, g.event%eventGroup
	return max(group*perGroup+min(o, perGroup)-1, 0)
}

func (g *nexmark) somePerson() int64 {
	n := g.lastPerson() + 1
	a := min(n, active)
	return n - a + g.Int64N(a+ahead)
}

func (g *nexmark) someAuction() int64 {
	newest := g.lastAuction()
	oldest := max(newest-inFlight, 0)
	return oldest + g.Int64N(newest-oldest+1+ahead)
}

// price is between 100 and 10^8, evenly in its logarithm.
func (g *nexmark) price() int64 { return int64(math.Round(math.Pow(10, g.Float64()*6) * 100)) }

func (g *nexmark) pick(of []string) string { return of[g.IntN(len(of))] }

func (g *nexmark) number(v int64) { g.line = append(strconv.AppendInt(g.line, v, 10), '|') }

func (g *nexmark) text(s string) { g.line = append(append(g.line, s...), '|') }

// letters appends n letters or spaces.
func (g *nexmark) letters(n int) {
	const all = "abcdefghijklmnopqrstuvwxyz "
	for n > 0 {
		z := g.Uint64()
		for range min(n, 12) {
			g.line = append(g.line, all[z%27])
			z /= 27
		}
		n -= 12
	}
}
