package jobs

import (
	"errors"
	"fmt"
	"strings"

	"github.com/levadaflow/levada/event"
)

// nexEvent is an event of any kind: 'P' a person, 'A' an auction, 'B' a bid. Only the fields of its kind have a meaning.
type nexEvent struct {
	kind byte
	at   int64

	auction, bidder, price                                  int64
	channel, url                                            string
	id, initial, reserve, expires, seller, category         int64
	item, description, name, email, card, city, state, rest string
}

var errNotEvent = errors.New("not a Nexmark event")

// parse reads all fields of a line. Texts are parts of it.
func (e *nexEvent) parse(line string) error {
	if len(line) < 2 {
		return fmt.Errorf("%w: %q", errNotEvent, line)
	}
	f := fields{rest: line[2:]}
	switch e.kind = line[0]; e.kind {
	case 'B':
		e.auction, e.bidder, e.price = f.number(), f.number(), f.number()
		e.channel, e.url = f.text(), f.text()
		e.at = f.number()
	case 'A':
		e.id = f.number()
		e.item, e.description = f.text(), f.text()
		e.initial, e.reserve, e.at, e.expires = f.number(), f.number(), f.number(), f.number()
		e.seller, e.category = f.number(), f.number()
	case 'P':
		e.id = f.number()
		e.name, e.email, e.card, e.city, e.state = f.text(), f.text(), f.text(), f.text(), f.text()
		e.at = f.number()
	default:
		f.bad = true
	}
	e.rest = f.rest
	if f.bad {
		return fmt.Errorf("%w: %q", errNotEvent, line)
	}
	return nil
}

// fields cuts a line into its fields.
type fields struct {
	rest string
	bad  bool // a field is missing
}

func (f *fields) text() string {
	i := strings.IndexByte(f.rest, '|')
	if i < 0 {
		f.bad = true
		return ""
	}
	s := f.rest[:i]
	f.rest = f.rest[i+1:]
	return s
}

func (f *fields) number() int64 {
	var n int64
	for i := range len(f.rest) {
		c := f.rest[i]
		if c == '|' {
			f.rest = f.rest[i+1:]
			return n
		}
		n = n*10 + int64(c-'0')
	}
	f.bad = true
	return 0
}

// eventTime is the time of an event: it has six fields before it, that of a person seven.
func eventTime(line string) (event.Time, bool) {
	f := fields{rest: line}
	for range 6 {
		f.text()
	}
	if line != "" && line[0] == 'P' {
		f.text()
	}
	at := f.number()
	return event.Time(at), !f.bad
}
