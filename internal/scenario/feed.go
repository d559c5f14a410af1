package scenario

import (
	"fmt"
	"strings"

	"github.com/levadaflow/levada/event"
)

// Kind says what a line of a feed block does.
type Kind uint8

const (
	// Emit: the source emits an element.
	Emit Kind = iota
	// Advance: the source reports a watermark.
	Advance
	// Tick: processing time moves forward.
	Tick
)

// FeedLine is one line of a feed block.
type FeedLine struct {
	// Line is its line in the file.
	Line int
	// Kind says which of the other fields have a meaning.
	Kind Kind
	// Source is the name of the source, of Emit and Advance. It need not exist.
	Source string
	// Element is what is emitted, of Emit.
	Element Element
	// Watermark is what is reported, of Advance. It may be below the present one, or outside of the range of event times.
	Watermark event.Time
	// Step is how far the clock moves, of Tick, in milliseconds. It is not negative.
	Step int64
}

// ParseFeed parses the input of a feed block: SOURCE K V @T, SOURCE watermark T, or clock +D. The error is that of the first
// line that has one.
func ParseFeed(b *Block) ([]FeedLine, error) {
	if b.Directive != "feed" {
		return nil, fmt.Errorf("%s: %s is not a feed", b.Pos(), b.Directive)
	}
	lines := make([]FeedLine, 0, len(b.Input))
	for i, text := range b.Input {
		l, err := parseFeedLine(text)
		if err != nil {
			return nil, b.errorf(i, "%v", err)
		}
		l.Line = b.Line + 1 + i
		lines = append(lines, l)
	}
	return lines, nil
}

func parseFeedLine(text string) (l FeedLine, err error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return l, fmt.Errorf("a blank line")
	}
	if words[0] == "clock" {
		l.Kind = Tick
		l.Step, err = parseTick(words[1:])
		return l, err
	}
	if err := checkName(words[0]); err != nil {
		return l, err
	}
	l.Source = words[0]
	if len(words) > 1 && words[1] == "watermark" {
		l.Kind = Advance
		if len(words) != 3 {
			return l, fmt.Errorf("%q is not SOURCE watermark T", text)
		}
		l.Watermark, err = ParseTime(words[2])
		return l, err
	}
	l.Element, err = parseElement(words[1:], true)
	return l, err
}

// parseTick parses "+D".
func parseTick(words []string) (int64, error) {
	if len(words) != 1 || !strings.HasPrefix(words[0], "+") {
		return 0, fmt.Errorf("clock is followed by +D")
	}
	d, err := ParseDuration(words[0][1:])
	if err == nil && d < 0 {
		err = fmt.Errorf("clock %s: the clock does not go back", words[0])
	}
	return d, err
}
