package transcripts

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
)

// transcript is one document of the file. What it may say is all here: anything else is an error.
type transcript struct {
	Name              string   `yaml:"name"`
	Error             string   `yaml:"error"` // the checker must fail with it
	BrokenOn          []string `yaml:"broken_on"`
	WindowFn          string   `yaml:"window_fn"`
	MisspeltWindowFn  string   `yaml:"windowfn"` // in bad_output, which passes over it
	TriggerFn         string   `yaml:"trigger_fn"`
	TimestampCombiner string   `yaml:"timestamp_combiner"`
	AllowedLateness   seconds  `yaml:"allowed_lateness"`
	AccumulationMode  string   `yaml:"accumulation_mode"`
	Transcript        []action `yaml:"transcript"`
}

// action is one line of a transcript. One field is set.
type action struct {
	Input     []seconds `yaml:"input"` // elements, each of which is its own time
	Watermark *seconds  `yaml:"watermark"`
	Expect    []pane    `yaml:"expect"` // all that the last action caused, in any order
	State     *state    `yaml:"state"`
}

// pane is an expected pane. What is nil is not compared.
type pane struct {
	Window              *span      `yaml:"window"`
	Values              *[]seconds `yaml:"values"` // sorted
	Timestamp           *seconds   `yaml:"timestamp"`
	Early               *bool      `yaml:"early"`
	Late                *bool      `yaml:"late"`
	Final               *bool      `yaml:"final"`
	Index               *int64     `yaml:"index"`
	NonspeculativeIndex *int64     `yaml:"nonspeculative_index"`
}

// state says what must be left of windows.
type state struct {
	Present   []span `yaml:"present"`
	Absent    []span `yaml:"absent"`
	Tombstone []span `yaml:"tombstone"`
}

// check returns an error if it is not one action.
func (a *action) check() error {
	n := 0
	for _, set := range []bool{len(a.Input) > 0, a.Watermark != nil, len(a.Expect) > 0, a.State != nil} {
		if set {
			n++
		}
	}
	if n != 1 {
		return fmt.Errorf("%+v is not one action", *a)
	}
	return nil
}

func read(r io.Reader) ([]*transcript, error) {
	var all []*transcript
	names := map[string]int{}
	for d := yaml.NewDecoder(r, yaml.Strict()); ; {
		s := &transcript{}
		if err := d.Decode(s); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		if names[s.Name]++; names[s.Name] > 1 {
			s.Name = fmt.Sprintf("%s_%d", s.Name, names[s.Name])
		}
		for i := range s.Transcript {
			if err := s.Transcript[i].check(); err != nil {
				return nil, fmt.Errorf("%s: %w", s.Name, err)
			}
		}
		all = append(all, s)
	}
}

func readFile(name string) ([]*transcript, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return read(f)
}

func (p pane) String() string {
	var parts []string
	show(&parts, "window", p.Window)
	show(&parts, "values", p.Values)
	show(&parts, "timestamp", p.Timestamp)
	show(&parts, "early", p.Early)
	show(&parts, "late", p.Late)
	show(&parts, "final", p.Final)
	show(&parts, "index", p.Index)
	show(&parts, "nonspeculative_index", p.NonspeculativeIndex)
	return "{" + strings.Join(parts, ", ") + "}"
}

func show[T any](parts *[]string, name string, v *T) {
	if v != nil {
		*parts = append(*parts, fmt.Sprintf("%s: %v", name, *v))
	}
}
