package transcripts

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/levadatest"
)

// difference is a transcript that asks for something else than the rules.
type difference struct {
	fails string // how, as a regular expression
	rule  string // that it breaks
}

// differences are those of the file, by name; the second one of a name is NAME_2.
var differences = map[string]difference{
	"timestamp_combiner_custom_timestamping_earliest_2": {
		`^Unmatched output: \{window: \[0 9\], values: \[1 2 3\], timestamp: 101\}`,
		"beam-semantics 1.9: a pane's time is the earliest or latest of its elements' or its window's last instant, and never" +
			" after that. No window function has a say in it: OUTPUT_AT_EARLIEST_TRANSFORMED is Python's alone",
	},
	"garbage_collection": {
		`^Unmatched state: window \[0 9\] is tombstone, not absent$`,
		"beam-semantics 3.4 and 3.5: a window whose trigger has finished is remembered until it expires, and the watermark" +
			" has not moved here. Python never compares this line",
	},
}

// boundaries are transcripts of what Python does where its rule and ours differ, and next to that, where they do not. The
// window [0, 10s) has expired there when the watermark is greater than 20 s, and here when it is at 20 s.
const boundaries = `
name: a_second_before_expiry
window_fn: FixedWindows(10)
allowed_lateness: 10
transcript:
  - watermark: 19
  - input: [5]
  - expect: [{window: [0, 9], values: [5], late: true, index: 0}]
---
name: at_expiry
window_fn: FixedWindows(10)
allowed_lateness: 10
transcript:
  - watermark: 20
  - input: [5]
  - expect: [{window: [0, 9], values: [5], late: true, index: 0}]
---
name: a_second_after_expiry
window_fn: FixedWindows(10)
allowed_lateness: 10
transcript:
  - watermark: 21
  - input: [5]
---
name: a_second_before_the_end
window_fn: FixedWindows(10)
trigger_fn: AfterWatermark(early=AfterCount(1))
transcript:
  - watermark: 9
  - input: [5]
  - expect: [{window: [0, 9], values: [5], early: true, late: false, index: 0, nonspeculative_index: -1}]
---
name: at_the_end
window_fn: FixedWindows(10)
transcript:
  - input: [5]
  - watermark: 10
  - expect: [{window: [0, 9], values: [5], early: false, late: false, index: 0, nonspeculative_index: 0}]
`

var boundaryDifferences = map[string]difference{
	"at_expiry": {`^Unmatched output: \{window: \[0 9\], values: \[5\]`,
		"beam-semantics 3.4: a window takes elements up to its last instant + lateness, which is 19.999 s"},
}

var modes = []levada.Embedded{
	{Parallelism: 1}, {Parallelism: 2}, {Parallelism: 1, GeneralPath: true}, {Parallelism: 2, GeneralPath: true, MaxBundle: 1},
}

// TestTranscripts runs every transcript of Beam's.
func TestTranscripts(t *testing.T) {
	all, err := readFile("testdata/trigger_transcripts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	panes := 0
	for _, s := range all {
		for _, a := range s.Transcript {
			panes += len(a.Expect)
		}
	}
	if len(all) != 18 || panes != 41 {
		t.Errorf("%d transcripts with %d panes, not 18 with 41: the file is not all there", len(all), panes)
	}
	playAll(t, all, differences)
}

// TestBoundaries shows how far apart the rules for expiry and for the window's end are.
func TestBoundaries(t *testing.T) {
	all, err := read(strings.NewReader(boundaries))
	if err != nil {
		t.Fatal(err)
	}
	playAll(t, all, boundaryDifferences)
}

func playAll(t *testing.T, all []*transcript, differs map[string]difference) {
	for name := range differs {
		if !slices.ContainsFunc(all, func(s *transcript) bool { return s.Name == name }) {
			t.Errorf("there is no transcript %s", name)
		}
	}
	for _, s := range all {
		t.Run(s.Name, func(t *testing.T) {
			for _, mode := range modes {
				err := s.play(mode)
				want, rule := cmp.Or(s.Error, differs[s.Name].fails), differs[s.Name].rule
				switch {
				case want == "" && err != nil:
					t.Errorf("%+v: %v", mode, err)
				case want != "" && err == nil:
					t.Errorf("%+v: passes, although it must fail with %q. %s", mode, want, rule)
				case want != "" && !regexp.MustCompile(want).MatchString(err.Error()):
					t.Errorf("%+v: fails with\n%v\nnot with %q. %s", mode, err, want, rule)
				}
			}
		})
	}
}

// keyed is an element: a key and its own time.
type keyed = levada.KV[string, seconds]

// run is a pipeline that goes through a transcript: each key's elements, grouped and combined.
type run struct {
	d    *levadatest.Driver
	src  *levadatest.Script[keyed]
	outs map[string]*levadatest.Collected[levada.KV[string, []seconds]]
}

var keys = []string{"key1", "key2"}

func (s *transcript) start(mode levada.Embedded) (*run, error) {
	w, err := s.windowing()
	if err != nil {
		return nil, err
	}
	d := levadatest.NewDriver()
	d.Run = mode
	r := &run{d: d, src: levadatest.AddScript[keyed](d, "src")}
	windows := levada.WindowInto(r.src.Out, "window", w)
	grouped := levada.Map(levada.GroupByKey(windows, "group"), "list",
		func(kv levada.KV[string, levada.Values[seconds]]) levada.KV[string, []seconds] {
			return levada.KV[string, []seconds]{Key: kv.Key, Value: slices.Collect(kv.Value.All())}
		})
	combined := levada.CombinePerKey(windows, "combine", concat{})
	r.outs = map[string]*levadatest.Collected[levada.KV[string, []seconds]]{
		"group": levadatest.Gather(grouped, "grouped"), "combine": levadatest.Gather(combined, "combined"),
	}
	return r, d.Start()
}

// concat combines values to the list of them.
type concat struct{}

func (concat) Zero() []seconds                   { return nil }
func (concat) Add(acc *[]seconds, v seconds)     { *acc = append(*acc, v) }
func (concat) Merge(acc *[]seconds, o []seconds) { *acc = append(slices.Clone(*acc), o...) }
func (concat) Result(acc []seconds) []seconds    { return slices.Clone(acc) }

// output is what one step had for one key.
type output struct{ step, key string }

// take returns what has come, of every step and key.
func (r *run) take() map[output][]pane {
	all := map[output][]pane{}
	for step, out := range r.outs {
		for _, key := range keys {
			all[output{step, key}] = nil
		}
		for _, e := range out.Take() {
			o := output{step, e.Value.Key}
			all[o] = append(all[o], paneOf(e))
		}
	}
	return all
}

// paneOf returns all that can be said of a pane.
func paneOf(e levadatest.Element[levada.KV[string, []seconds]]) pane {
	values := append([]seconds{}, e.Value.Value...)
	slices.Sort(values)
	return pane{
		Window: new(spanOf(e.Window)), Values: &values, Timestamp: new(secondOf(e.Time)),
		Early: new(e.Pane.Timing == event.Early), Late: new(e.Pane.Timing == event.Late), Final: new(e.Pane.Last),
		Index: new(e.Pane.Index), NonspeculativeIndex: new(e.Pane.OnTimeIndex),
	}
}

// act does what an action says that is no expectation.
func (r *run) act(a *action) error {
	for _, key := range keys {
		for _, v := range a.Input {
			if err := r.src.Add(v.time(), keyed{Key: key, Value: v}); err != nil {
				return err
			}
		}
	}
	if a.Watermark != nil {
		return r.src.Watermark(a.Watermark.time())
	}
	return nil
}

// play goes through the transcript in one mode and returns the first thing that is not as it says.
func (s *transcript) play(mode levada.Embedded) error {
	r, err := s.start(mode)
	if err != nil {
		return err
	}
	defer r.d.Stop()
	for i := range s.Transcript {
		a := &s.Transcript[i]
		switch {
		case a.Expect != nil:
			err = match(r.take(), a.Expect)
		case a.State != nil:
			err = s.states(mode, i)
		default:
			if err = match(r.take(), nil); err == nil {
				err = r.act(a)
			}
		}
		if err != nil {
			return err
		}
	}
	return match(r.take(), nil)
}

// mismatch is an error in the words of Python's checker, which the transcripts ask for.
type mismatch string

func (m mismatch) Error() string { return string(m) }

// match compares what has come with what is expected, for each step and key.
func match(got map[output][]pane, want []pane) error {
	for o, rest := range got {
		for _, w := range want {
			i := slices.IndexFunc(rest, w.matches)
			if i < 0 {
				return mismatch(fmt.Sprintf("Unmatched output: %v is not among %v of %+v", w, rest, o))
			}
			rest = slices.Delete(rest, i, i+1)
		}
		if len(rest) > 0 {
			return mismatch(fmt.Sprintf("Unexpected output: %v of %+v", rest, o))
		}
	}
	return nil
}

// matches reports whether got is all that p says.
func (p pane) matches(got pane) bool {
	return same(p.Window, got.Window) && same(p.Timestamp, got.Timestamp) && same(p.Early, got.Early) && same(p.Late, got.Late) &&
		same(p.Final, got.Final) && same(p.Index, got.Index) && same(p.NonspeculativeIndex, got.NonspeculativeIndex) &&
		(p.Values == nil || slices.Equal(*p.Values, *got.Values))
}

func same[T comparable](want, got *T) bool { return want == nil || *want == *got }

// states compares what is left of windows after the first n actions, by what becomes of one more element in each.
func (s *transcript) states(mode levada.Embedded, n int) error {
	var wrong []string
	st := s.Transcript[n].State
	for want, windows := range map[string][]span{"present": st.Present, "absent": st.Absent, "tombstone": st.Tombstone} {
		for _, w := range windows {
			got, err := s.state(mode, n, w)
			if err != nil {
				return err
			}
			if got != want {
				wrong = append(wrong, fmt.Sprintf("window %v is %s, not %s", w, got, want))
			}
		}
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return mismatch("Unmatched state: " + strings.Join(wrong, ", "))
	}
	return nil
}

// state finds out what is left of a window after the first n actions: another element of it is dropped because the trigger has
// finished, or is the first that the window has, or is not.
func (s *transcript) state(mode levada.Embedded, n int, w span) (string, error) {
	r, err := s.start(mode)
	if err != nil {
		return "", err
	}
	defer r.d.Stop()
	for i := range n {
		if err := r.act(&s.Transcript[i]); err != nil {
			return "", err
		}
	}
	r.take()
	before := r.d.Result()
	if err := r.src.Add(w[0].time(), keyed{Key: keys[0], Value: w[0]}); err != nil {
		return "", err
	}
	after := r.d.Result()
	more := func(counter string) bool { return after.Counter("group", counter) > before.Counter("group", counter) }
	switch {
	case more("dropped_closed"):
		return "tombstone", nil
	case more("dropped_late"):
		return "absent", nil
	}
	if err := r.d.Finish(); err != nil {
		return "", err
	}
	fresh := pane{Window: &w, Values: &[]seconds{w[0]}, Index: new(int64(0))}
	if slices.ContainsFunc(r.take()[output{"group", keys[0]}], fresh.matches) {
		return "absent", nil
	}
	return "present", nil
}
