package jobs

import (
	"bufio"
	"errors"
	"os"
)

// handQuery runs a query that is written by hand. It makes a string of every line, of which the fields are parts: that is
// what a program must do which hands events on.
func handQuery(a Args, name string, query func(next func() *nexEvent, t *tally)) error {
	f, err := os.Open(a.Input)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 64<<10), 1<<20)
	var e nexEvent
	var bad error
	next := func() *nexEvent {
		if bad != nil || !lines.Scan() {
			return nil
		}
		if bad = e.parse(lines.Text()); bad != nil {
			return nil
		}
		return &e
	}
	var t tally
	query(next, &t)
	if err := errors.Join(bad, lines.Err(), f.Close()); err != nil {
		return err
	}
	return t.write(a, name)
}

func hand0(next func() *nexEvent, t *tally) {
	for e := next(); e != nil; e = next() {
		if e.kind == 'B' {
			t.row(e.auction, e.bidder, e.price, e.at)
		}
	}
}

func hand1(next func() *nexEvent, t *tally) {
	for e := next(); e != nil; e = next() {
		if e.kind == 'B' {
			t.row(e.auction, e.bidder, e.price*908/1000, e.at)
		}
	}
}

func hand2(next func() *nexEvent, t *tally) {
	for e := next(); e != nil; e = next() {
		if e.kind == 'B' && e.auction%123 == 0 {
			t.row(e.auction, e.price)
		}
	}
}

// hand5 counts in a map for each period and adds five of them up when a window ends.
func hand5(next func() *nexEvent, t *tally) {
	window, period := nexWindow.Milliseconds(), nexPeriod.Milliseconds()
	counts := map[int64]map[int64]int64{} // by the beginning of the period
	whole := map[int64]int64{}
	emit := func(end int64) {
		clear(whole)
		for at := end - window; at < end; at += period {
			for auction, n := range counts[at] {
				whole[auction] += n
			}
		}
		greatest := int64(0)
		for _, n := range whole {
			greatest = max(greatest, n)
		}
		for auction, n := range whole {
			if n == greatest {
				t.row(end, auction, n)
			}
		}
		delete(counts, end-window)
	}
	current := int64(-1)
	var present map[int64]int64
	for e := next(); e != nil; e = next() {
		if at := e.at / period * period; at != current {
			for ; current >= 0 && current < at; current += period {
				emit(current + period)
			}
			current = at
			present = map[int64]int64{}
			counts[at] = present
		}
		if e.kind == 'B' {
			present[e.auction]++
		}
	}
	for end := current + period; current >= 0 && end <= current+window; end += period {
		emit(end)
	}
}

func hand7(next func() *nexEvent, t *tally) {
	var highest []bid
	var current int64
	emit := func() {
		for _, b := range highest {
			t.row(b.auction, b.bidder, b.price, b.at)
		}
		highest = highest[:0]
	}
	for e := next(); e != nil; e = next() {
		if w := e.at / nexWindow.Milliseconds(); w != current {
			emit()
			current = w
		}
		if e.kind != 'B' || len(highest) > 0 && e.price < highest[0].price {
			continue
		}
		if len(highest) > 0 && e.price > highest[0].price {
			highest = highest[:0]
		}
		highest = append(highest, bid{e.auction, e.bidder, e.price, e.at})
	}
	emit()
}

// hand11 looks for sessions that are over once in a second of event time.
func hand11(next func() *nexEvent, t *tally) {
	type session struct{ count, start, last int64 }
	gap := nexWindow.Milliseconds()
	open := map[int64]*session{}
	emit := func(bidder int64, s *session) { t.row(bidder, s.count, s.start, s.last+gap) }
	var swept int64
	for e := next(); e != nil; e = next() {
		if e.kind == 'B' {
			s := open[e.bidder]
			if s != nil && e.at-s.last >= gap {
				emit(e.bidder, s)
				s = nil
			}
			if s == nil {
				s = &session{start: e.at}
				open[e.bidder] = s
			}
			s.count++
			s.last = e.at
		}
		if e.at-swept < 1000 {
			continue
		}
		swept = e.at
		for bidder, s := range open {
			if e.at-s.last >= gap {
				emit(bidder, s)
				delete(open, bidder)
			}
		}
	}
	for bidder, s := range open {
		emit(bidder, s)
	}
}
