package scenario

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// separator stands between the input and the expected output of a block.
const separator = "----"

// Block is one directive with its input and what must come out.
type Block struct {
	// Comment has the comment lines that stand directly above the directive, as they are written, "#" included.
	Comment []string
	// Line is the directive's line in the file, from 1. Input[i] is on line Line+1+i.
	Line int
	// Directive is one of pipeline, feed, finish, drain, restart, watermarks and metrics.
	Directive string
	// Args has the names after watermarks or metrics. The other directives have none.
	Args []string
	// Input has the lines between the directive and "----". Only pipeline and feed have any. None is blank.
	Input []string
	// Expected has the lines between "----" and the first blank line. None is blank.
	Expected []string

	file       string
	start, end int // where the expected output is in the file's bytes
}

// Pos returns the directive's place as "file:line".
func (b *Block) Pos() string { return fmt.Sprintf("%s:%d", b.file, b.Line) }

// errorf returns an error at the line of Input[i].
func (b *Block) errorf(i int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", b.file, b.Line+1+i, fmt.Sprintf(format, args...))
}

// File is a scenario file.
type File struct {
	// Name is what Parse was given: it begins every error.
	Name string
	// Blocks has the blocks in the order of the file.
	Blocks []Block

	data []byte
}

// Parse reads a scenario file. name is used for errors only, which begin with "name:line: ". data is kept and must not be
// changed afterwards. An empty file has no blocks.
func Parse(name string, data []byte) (*File, error) {
	f := &File{Name: name, data: data}
	if i := bytes.IndexByte(data, '\r'); i >= 0 {
		line := 1 + bytes.Count(data[:i], []byte("\n"))
		return nil, fmt.Errorf("%s:%d: a carriage return; lines end with a newline only", name, line)
	}
	r := &reader{file: f}
	var comment []string
	for r.next() {
		switch line := strings.TrimSpace(r.text); {
		case line == "":
			comment = nil
		case line[0] == '#':
			comment = append(comment, line)
		default:
			b, err := r.block(line)
			if err != nil {
				return nil, err
			}
			b.Comment, comment = comment, nil
			f.Blocks = append(f.Blocks, b)
		}
	}
	return f, nil
}

// Rewrite returns the file with other expected outputs: outputs[i] are the lines of the i-th block. Blocks beyond the end
// of outputs keep theirs, and so do blocks whose lines are equal, to the byte. A line must not be blank, begin with "#", be
// "----" or contain a line end, or else the result can't be read again.
func (f *File) Rewrite(outputs [][]string) []byte {
	var out []byte
	done := 0
	for i := range f.Blocks {
		b := &f.Blocks[i]
		if i >= len(outputs) || slices.Equal(outputs[i], b.Expected) {
			continue
		}
		out = append(out, f.data[done:b.start]...)
		if len(out) > 0 && out[len(out)-1] != '\n' { // the file ended with "----"
			out = append(out, '\n')
		}
		for _, line := range outputs[i] {
			out = append(append(out, line...), '\n')
		}
		done = b.end
	}
	return append(out, f.data[done:]...)
}

// arity says what may follow a directive.
type arity struct{ args, input bool }

var directives = map[string]arity{
	"pipeline":   {input: true},
	"feed":       {input: true},
	"finish":     {},
	"drain":      {},
	"restart":    {},
	"watermarks": {args: true},
	"metrics":    {args: true},
}

var argument = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)

// reader goes through a file line by line.
type reader struct {
	file *File
	line int    // number of the present line, from 1
	text string // the present line without its end
	pos  int    // where the next line begins
}

// next goes to the next line. It returns false at the end of the file.
func (r *reader) next() bool {
	rest := r.file.data[r.pos:]
	if len(rest) == 0 {
		return false
	}
	r.line++
	if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		r.text, r.pos = string(rest[:i]), r.pos+i+1
	} else {
		r.text, r.pos = string(rest), len(r.file.data)
	}
	return true
}

func (r *reader) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", r.file.Name, r.line, fmt.Sprintf(format, args...))
}

// block reads the block whose directive is the present line.
func (r *reader) block(directive string) (Block, error) {
	words := strings.Fields(directive)
	b := Block{Line: r.line, Directive: words[0], file: r.file.Name}
	allowed, known := directives[words[0]]
	switch {
	case !known:
		return b, r.errorf("unknown directive %q", words[0])
	case len(words) > 1 && !allowed.args:
		return b, r.errorf("%s takes no arguments", words[0])
	}
	for _, a := range words[1:] {
		if !argument.MatchString(a) {
			return b, r.errorf("%q is not a name", a)
		}
	}
	b.Args = words[1:]
	if err := r.input(&b, allowed); err != nil {
		return b, err
	}
	b.start, b.end = r.pos, r.pos
	for r.next() && strings.TrimSpace(r.text) != "" {
		switch {
		case r.text == separator:
			return b, r.errorf("a second %q", separator)
		case strings.HasPrefix(r.text, "#"):
			return b, r.errorf("a comment in the output of %s: a blank line must end the output", words[0])
		}
		b.Expected = append(b.Expected, r.text)
		b.end = r.pos
	}
	return b, nil
}

// input reads b's input lines up to and including the separator.
func (r *reader) input(b *Block, allowed arity) error {
	for r.next() {
		trimmed := strings.TrimSpace(r.text)
		switch {
		case r.text == separator:
			return nil
		case trimmed == "":
			return r.errorf("a blank line before the %q of %s", separator, b.Directive)
		case trimmed[0] == '#':
			return r.errorf("a comment in the input of %s: comments stand between blocks", b.Directive)
		case !allowed.input:
			return r.errorf("%s takes no input", b.Directive)
		}
		b.Input = append(b.Input, r.text)
	}
	return fmt.Errorf("%s: %s has no %q", b.Pos(), b.Directive, separator)
}
