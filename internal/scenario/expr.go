package scenario

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/levadaflow/levada/event"
)

// maxDepth bounds the nesting of expressions, so that no input can exhaust the stack.
const maxDepth = 100

// Expr is a word ("10s", "global", "Europe/Berlin") or a call ("fixed(1h,15m)", "after-watermark(early=after-count(2))").
// The zero value is no expression at all.
type Expr struct {
	// Name is the word, or what is called. It is empty only in the zero value.
	Name string
	// Call says that there were parentheses, also if nothing was in them.
	Call bool
	// Args has the positional arguments, in order.
	Args []Expr
	// Named has the arguments with a key, in order. No key occurs twice.
	Named []Option
}

// Option is KEY=VALUE.
type Option struct {
	Key   string
	Value Expr
}

// IsZero reports whether there is no expression.
func (e Expr) IsZero() bool { return e.Name == "" }

// IsWord reports whether e is a word, not a call.
func (e Expr) IsWord() bool { return e.Name != "" && !e.Call }

// Lookup returns the named argument, or the zero Expr and false if there is none.
func (e Expr) Lookup(key string) (Expr, bool) { return lookup(e.Named, key) }

func lookup(options []Option, key string) (Expr, bool) {
	for _, o := range options {
		if o.Key == key {
			return o.Value, true
		}
	}
	return Expr{}, false
}

// Time returns the time that the word e stands for.
func (e Expr) Time() (event.Time, error) {
	if e.Call {
		return 0, fmt.Errorf("%v is not a time", e)
	}
	return ParseTime(e.Name)
}

// Duration returns the duration that the word e stands for, in milliseconds.
func (e Expr) Duration() (int64, error) {
	if e.Call {
		return 0, fmt.Errorf("%v is not a duration", e)
	}
	return ParseDuration(e.Name)
}

// Bound returns the duration that the word e stands for, in milliseconds, or [Inf].
func (e Expr) Bound() (int64, error) {
	if e.Call {
		return 0, fmt.Errorf("%v is not a duration", e)
	}
	return ParseBound(e.Name)
}

// Int returns the integer that the word e stands for.
func (e Expr) Int() (int64, error) {
	n, err := strconv.ParseInt(e.Name, 10, 64)
	if err != nil || e.Call {
		return 0, fmt.Errorf("%v is not an integer", e)
	}
	return n, nil
}

// String returns e as it is written, without spaces; the named arguments come after the positional ones.
func (e Expr) String() string {
	var b strings.Builder
	e.write(&b)
	return b.String()
}

func (e Expr) write(b *strings.Builder) {
	b.WriteString(e.Name)
	if !e.Call {
		return
	}
	comma := ""
	b.WriteByte('(')
	for _, a := range e.Args {
		b.WriteString(comma)
		a.write(b)
		comma = ","
	}
	for _, o := range e.Named {
		b.WriteString(comma + o.Key + "=")
		o.Value.write(b)
		comma = ","
	}
	b.WriteByte(')')
}

// ParseExpr parses one expression. Spaces may stand around what is in parentheses, nowhere else.
func ParseExpr(s string) (Expr, error) {
	args, err := parseArgs(s)
	if err != nil {
		return Expr{}, err
	}
	if len(args.words) != 1 || len(args.options) != 0 {
		return Expr{}, fmt.Errorf("%q is not one expression", s)
	}
	return args.words[0], nil
}

// args is what follows an operation: positional expressions and options, separated by spaces.
type args struct {
	words   []Expr
	options []Option
}

// parseArgs parses expressions and options that are separated by spaces.
func parseArgs(s string) (args, error) {
	var a args
	p := &exprParser{text: s}
	for {
		p.spaces()
		if p.pos == len(p.text) {
			return a, nil
		}
		o, err := p.option(0)
		if err != nil {
			return args{}, err
		}
		if c := p.peek(); p.pos < len(s) && c != ' ' && c != '\t' {
			return args{}, fmt.Errorf("unexpected %q in %q", string(rune(c)), s)
		}
		if a.words, a.options, err = place(a.words, a.options, o); err != nil {
			return args{}, err
		}
	}
}

// place appends o to the options if it has a key, or else to the words.
func place(words []Expr, options []Option, o Option) ([]Expr, []Option, error) {
	if o.Key == "" {
		return append(words, o.Value), options, nil
	}
	if _, twice := lookup(options, o.Key); twice {
		return nil, nil, fmt.Errorf("%s= is given twice", o.Key)
	}
	return words, append(options, o), nil
}

// exprParser is a recursive descent over one line.
type exprParser struct {
	text string
	pos  int
}

// peek returns the next byte, or 0 at the end.
func (p *exprParser) peek() byte {
	if p.pos == len(p.text) {
		return 0
	}
	return p.text[p.pos]
}

func (p *exprParser) spaces() {
	for p.peek() == ' ' || p.peek() == '\t' {
		p.pos++
	}
}

// word reads up to the next character that has a meaning of its own.
func (p *exprParser) word() string {
	rest := p.text[p.pos:]
	if i := strings.IndexAny(rest, " \t(),=;"); i >= 0 {
		rest = rest[:i]
	}
	p.pos += len(rest)
	return rest
}

// option reads EXPR or KEY=EXPR; without a key, the key is empty.
func (p *exprParser) option(depth int) (Option, error) {
	name := p.word()
	if p.peek() != '=' {
		e, err := p.call(name, depth)
		return Option{Value: e}, err
	}
	if !argument.MatchString(name) {
		return Option{}, fmt.Errorf("%q is not the name of an option in %q", name, p.text)
	}
	p.pos++
	e, err := p.call(p.word(), depth)
	return Option{Key: name, Value: e}, err
}

// call reads the arguments of name, if there are any.
func (p *exprParser) call(name string, depth int) (Expr, error) {
	e := Expr{Name: name}
	switch {
	case name == "" && p.peek() == 0:
		return e, fmt.Errorf("something is missing at the end of %q", p.text)
	case name == "":
		return e, fmt.Errorf("unexpected %q in %q", string(rune(p.peek())), p.text)
	case p.peek() != '(':
		return e, nil
	case depth == maxDepth:
		return e, fmt.Errorf("more than %d nested calls", maxDepth)
	}
	e.Call = true
	p.pos++
	p.spaces()
	if p.peek() == ')' {
		p.pos++
		return e, nil
	}
	for {
		p.spaces()
		o, err := p.option(depth + 1)
		if err != nil {
			return e, err
		}
		if e.Args, e.Named, err = place(e.Args, e.Named, o); err != nil {
			return e, err
		}
		p.spaces()
		switch c := p.peek(); c {
		case ',':
			p.pos++
		case ')':
			p.pos++
			return e, nil
		case 0:
			return e, fmt.Errorf("a ) is missing in %q", p.text)
		default:
			return e, fmt.Errorf("unexpected %q in %q", string(rune(c)), p.text)
		}
	}
}
