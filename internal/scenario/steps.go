package scenario

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/levadaflow/levada/event"
)

// Step is one line of a pipeline block, NAME = OP ARGS.
type Step struct {
	// Line is its line in the file.
	Line int
	// Name is the step's name. Two steps may have the same one here.
	Name string
	// Op is the operation, also one that is not known.
	Op string
	// Inputs has the names of the steps it reads, in order; for side the main input and then the view, for late the step
	// whose late output it is. They need not exist.
	Inputs []string
	// Spec has the operation's other arguments: [Create], [Poll], [Stamp], [Shift], [Windowing], [Key], [Add], [Batch] or
	// [Unknown]. It is nil for script, group, sum, count, min, max, late, flatten, reshuffle, side, expire and sorted.
	Spec Spec
}

// Spec is what an operation is told besides its inputs. The types of this package that implement it are all there are.
type Spec interface{ spec() }

// Element is K V @T: a value with its key and time.
type Element struct {
	Key   string
	Value int64
	// Time is any int64; it need not be a legal event time.
	Time event.Time
}

// Create is what "create" emits, in order. An element without @T has the time min.
type Create struct{ Elements []Element }

// Poll has the calls of the process function of "poll", at least one. Only the last one has Done, or none if it resumes.
type Poll struct{ Calls []Call }

// Call is one call of a poll's process function.
type Call struct {
	// Elements may be empty.
	Elements []Element
	// Watermark is reported at the call's end if Reports is true.
	Watermark event.Time
	Reports   bool
	// Resume is how long after this call the next one comes, in milliseconds of processing time: 0 is at once.
	Resume int64
	// Done ends the source.
	Done bool
}

// Stamp is with-timestamps.
type Stamp struct {
	// Fn is value, shift(D), at(T) or zero.
	Fn Expr
	// Skew is in milliseconds, 0 if it is left out, or Inf. It may be negative, which is an error of the pipeline.
	Skew int64
}

// Shift is shift-watermark.
type Shift struct {
	// By is in milliseconds.
	By int64
	// Fn is value, shift(D), at(T) or zero.
	Fn Expr
}

// Windowing is window. The zero value of an option says that it was left out.
type Windowing struct {
	// Fn is the window function. Its parameters are not checked.
	Fn Expr
	// Lateness is in milliseconds, or Inf. It may be negative, which is an error of the pipeline. It counts only if
	// HasLateness is true.
	Lateness    int64
	HasLateness bool
	// Trigger is the trigger expression. Which triggers there are is not checked.
	Trigger Expr
	// Accumulate is "yes" or "no".
	Accumulate string
	// Closing and OnTime are "always" or "non-empty".
	Closing, OnTime string
	// Time is "earliest", "latest" or "end".
	Time string
	// Unsafe is unsafe=yes.
	Unsafe bool
}

// Key is what key gives to every element.
type Key struct{ Key string }

// Add is what add adds to every value.
type Add struct{ N int64 }

// Batch is batch. A count or delay that makes no sense is an error of the pipeline.
type Batch struct {
	N int64
	// After is in milliseconds.
	After int64
	// Processing says that the domain is processing time, not event time.
	Processing bool
}

// Unknown has the arguments of an operation that is not known: the one who builds the pipeline has to refuse it.
type Unknown struct {
	Args    []Expr
	Options []Option
}

func (Create) spec()    {}
func (Poll) spec()      {}
func (Stamp) spec()     {}
func (Shift) spec()     {}
func (Windowing) spec() {}
func (Key) spec()       {}
func (Add) spec()       {}
func (Batch) spec()     {}
func (Unknown) spec()   {}

// ParsePipeline parses the input of a pipeline block, a step a line. The error is that of the first line that has one.
func ParsePipeline(b *Block) ([]Step, error) {
	if b.Directive != "pipeline" {
		return nil, fmt.Errorf("%s: %s is not a pipeline", b.Pos(), b.Directive)
	}
	steps := make([]Step, 0, len(b.Input))
	for i, line := range b.Input {
		s, err := parseStep(line)
		if err != nil {
			return nil, b.errorf(i, "%v", err)
		}
		s.Line = b.Line + 1 + i
		steps = append(steps, s)
	}
	return steps, nil
}

// shape says how an operation is written: how many inputs (most < 0: as many as wanted), and what follows them.
type shape struct {
	least, most int
	rest        func(*rest) (Spec, error) // nil if nothing follows
}

var shapes = map[string]shape{
	"script":          {0, 0, nil},
	"with-timestamps": {1, 1, stamp},
	"shift-watermark": {1, 1, shift},
	"window":          {1, 1, windowing},
	"group":           {1, 1, nil},
	"sum":             {1, 1, nil},
	"count":           {1, 1, nil},
	"min":             {1, 1, nil},
	"max":             {1, 1, nil},
	"late":            {1, 1, nil},
	"flatten":         {1, -1, nil},
	"reshuffle":       {1, 1, nil},
	"key":             {1, 1, key},
	"add":             {1, 1, add},
	"side":            {2, 2, nil},
	"batch":           {1, 1, batch},
	"expire":          {1, 1, nil},
	"sorted":          {1, 1, nil},
}

var stepName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

func checkName(s string) error {
	if !stepName.MatchString(s) {
		return fmt.Errorf("%q is not a step's name", s)
	}
	return checkReserved(s)
}

func checkReserved(s string) error {
	if s == "clock" || s == "watermark" {
		return fmt.Errorf("%s is reserved", s)
	}
	return nil
}

func parseStep(line string) (Step, error) {
	name, def, found := strings.Cut(line, "=")
	if !found {
		return Step{}, fmt.Errorf("%q is not NAME = OP ARGS", line)
	}
	s := Step{Name: strings.TrimSpace(name)}
	if err := checkName(s.Name); err != nil {
		return s, err
	}
	def = strings.TrimSpace(def)
	var text string
	if i := strings.IndexAny(def, " \t"); i >= 0 {
		def, text = def[:i], strings.TrimSpace(def[i:])
	}
	if s.Op = def; !stepName.MatchString(s.Op) {
		return s, fmt.Errorf("%q is not an operation's name", s.Op)
	}
	var err error
	switch s.Op {
	case "create":
		s.Spec, err = parseCreate(text)
	case "poll":
		s.Spec, err = parsePoll(text)
	default:
		err = s.parseRest(text)
	}
	if err != nil {
		return s, fmt.Errorf("%s: %w", s.Op, err)
	}
	return s, nil
}

// parseRest parses what follows an operation that is written with expressions.
func (s *Step) parseRest(text string) error {
	a, err := parseArgs(text)
	if err != nil {
		return err
	}
	sh, known := shapes[s.Op]
	if !known {
		s.Spec = Unknown{Args: a.words, Options: a.options}
		return nil
	}
	n := len(a.words)
	switch {
	case n < sh.least:
		return fmt.Errorf("want %d inputs, not %d", sh.least, n)
	case sh.most >= 0:
		n = sh.most
	}
	for _, w := range a.words[:n] {
		if !w.IsWord() {
			return fmt.Errorf("%v is not a step's name", w)
		}
		if err := checkName(w.Name); err != nil {
			return err
		}
		s.Inputs = append(s.Inputs, w.Name)
	}
	r := &rest{words: a.words[n:], options: a.options}
	if sh.rest != nil {
		if s.Spec, err = sh.rest(r); err != nil {
			return err
		}
	}
	return r.end()
}

// rest is what follows the inputs. Its methods take from it; the first error stays, and end reports it.
type rest struct {
	words   []Expr
	options []Option
	err     error
}

func (r *rest) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// end returns the first error; that something is left is one.
func (r *rest) end() error {
	switch {
	case r.err != nil:
	case len(r.words) > 0:
		r.fail("unexpected %v", r.words[0])
	case len(r.options) > 0:
		r.fail("unexpected %s=", r.options[0].Key)
	}
	return r.err
}

// word takes the next positional expression, which is there for what.
func (r *rest) word(what string) Expr {
	if len(r.words) == 0 {
		r.fail("the %s is missing", what)
		return Expr{}
	}
	e := r.words[0]
	r.words = r.words[1:]
	return e
}

// option takes an option; the zero Expr says that it is not there.
func (r *rest) option(key string) Expr {
	e, found := lookup(r.options, key)
	if found {
		r.options = slices.DeleteFunc(slices.Clone(r.options), func(o Option) bool { return o.Key == key })
	}
	return e
}

// required takes an option that must be there.
func (r *rest) required(key string) Expr {
	e := r.option(key)
	if e.IsZero() {
		r.fail("%s= is missing", key)
	}
	return e
}

// choice takes an option that has one of the given values; "" says that it is not there.
func (r *rest) choice(key string, values ...string) string {
	e := r.option(key)
	if !e.IsZero() && (e.Call || !slices.Contains(values, e.Name)) {
		r.fail("%s=%v: want one of %s", key, e, strings.Join(values, ", "))
	}
	return e.Name
}

// number evaluates e with f, unless e is not there.
func (r *rest) number(e Expr, f func(Expr) (int64, error)) int64 {
	if e.IsZero() {
		return 0
	}
	n, err := f(e)
	if err != nil {
		r.fail("%v", err)
	}
	return n
}

// timeFn takes the function that with-timestamps and shift-watermark have.
func (r *rest) timeFn() Expr {
	e := r.word("function")
	if e.IsZero() {
		return e
	}
	bare := len(e.Args) == 0 && !e.Call
	unary := len(e.Args) == 1 && len(e.Named) == 0
	var err error
	switch {
	case bare && (e.Name == "value" || e.Name == "zero"):
	case unary && e.Name == "shift":
		_, err = e.Args[0].Duration()
	case unary && e.Name == "at":
		_, err = e.Args[0].Time()
	default:
		err = fmt.Errorf("%v: want value, shift(D), at(T) or zero", e)
	}
	if err != nil {
		r.fail("%v", err)
	}
	return e
}

func stamp(r *rest) (Spec, error) {
	s := Stamp{Fn: r.timeFn(), Skew: r.number(r.option("skew"), Expr.Bound)}
	return s, r.err
}

func shift(r *rest) (Spec, error) {
	s := Shift{By: r.number(r.required("by"), Expr.Duration), Fn: r.timeFn()}
	return s, r.err
}

func windowing(r *rest) (Spec, error) {
	w := Windowing{Fn: r.word("window function")}
	lateness := r.option("lateness")
	w.HasLateness = !lateness.IsZero()
	w.Lateness = r.number(lateness, Expr.Bound)
	w.Trigger = r.option("trigger")
	w.Accumulate = r.choice("accumulate", "yes", "no")
	w.Closing = r.choice("closing", "always", "non-empty")
	w.OnTime = r.choice("on-time", "always", "non-empty")
	w.Time = r.choice("time", "earliest", "latest", "end")
	w.Unsafe = r.choice("unsafe", "yes") == "yes"
	return w, r.err
}

func key(r *rest) (Spec, error) {
	e := r.word("key")
	if e.Call {
		r.fail("%v is not a key", e)
	}
	if err := checkReserved(e.Name); err != nil {
		r.fail("%v", err)
	}
	return Key{e.Name}, r.err
}

func add(r *rest) (Spec, error) {
	return Add{r.number(r.word("number"), Expr.Int)}, r.err
}

func batch(r *rest) (Spec, error) {
	b := Batch{N: r.number(r.required("n"), Expr.Int), After: r.number(r.required("after"), Expr.Duration)}
	b.Processing = r.choice("domain", "event", "processing") == "processing"
	return b, r.err
}

// parseCreate parses "K V [@T], ...".
func parseCreate(text string) (Spec, error) {
	elements, err := parseElements(text, false)
	if err != nil {
		return nil, err
	}
	return Create{elements}, nil
}

// parsePoll parses "STEP; STEP; ...".
func parsePoll(text string) (Spec, error) {
	var p Poll
	texts := strings.Split(text, ";")
	for i, t := range texts {
		c, resumes, err := parseCall(t)
		if err != nil {
			return nil, err
		}
		last := i == len(texts)-1
		switch {
		case c.Done && !last:
			return nil, fmt.Errorf("done is for the last step, not for %q", strings.TrimSpace(t))
		case last && !resumes:
			c.Done = true
		}
		p.Calls = append(p.Calls, c)
	}
	return p, nil
}

// parseCall parses one step of poll: elements, then wm=T, then resume=D or done, each of which may be left out. resumes says
// whether resume= was there.
func parseCall(text string) (c Call, resumes bool, err error) {
	words := strings.Fields(text)
	take := func(prefix string) (string, bool) {
		if len(words) == 0 || !strings.HasPrefix(words[len(words)-1], prefix) {
			return "", false
		}
		w := words[len(words)-1]
		words = words[:len(words)-1]
		return w[len(prefix):], true
	}
	if n := len(words); n > 0 && words[n-1] == "done" {
		c.Done, words = true, words[:n-1]
	} else if d, found := take("resume="); found {
		resumes = true
		if c.Resume, err = ParseDuration(d); err != nil {
			return c, resumes, err
		}
		if c.Resume < 0 {
			return c, resumes, fmt.Errorf("resume=%s is negative", d)
		}
	}
	if t, found := take("wm="); found {
		c.Reports = true
		if c.Watermark, err = ParseTime(t); err != nil {
			return c, resumes, err
		}
	}
	if len(words) > 0 {
		c.Elements, err = parseElements(strings.Join(words, " "), true)
	}
	return c, resumes, err
}

// parseElements parses elements that are separated by commas; whether each must have a time is said by timed.
func parseElements(text string, timed bool) ([]Element, error) {
	var elements []Element
	for part := range strings.SplitSeq(text, ",") {
		e, err := parseElement(strings.Fields(part), timed)
		if err != nil {
			return nil, err
		}
		elements = append(elements, e)
	}
	return elements, nil
}

// parseElement parses K V @T. Without a time, which must be there if timed is true, it is min.
func parseElement(words []string, timed bool) (Element, error) {
	e := Element{Time: event.Min}
	switch {
	case len(words) != 3 && (timed || len(words) != 2):
		if timed {
			return e, fmt.Errorf("%q is not K V @T", strings.Join(words, " "))
		}
		return e, fmt.Errorf("%q is not K V or K V @T", strings.Join(words, " "))
	case strings.ContainsAny(words[0], "(),;=@"):
		return e, fmt.Errorf("%q is not a key", words[0])
	}
	e.Key = words[0]
	if err := checkReserved(e.Key); err != nil {
		return e, err
	}
	var err error
	if e.Value, err = strconv.ParseInt(words[1], 10, 64); err != nil {
		return e, fmt.Errorf("%q is not an integer", words[1])
	}
	if len(words) == 3 {
		t, found := strings.CutPrefix(words[2], "@")
		if !found {
			return e, fmt.Errorf("%q is not a time: it begins with @", words[2])
		}
		e.Time, err = ParseTime(t)
	}
	return e, err
}
