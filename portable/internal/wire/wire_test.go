package wire_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/levadaflow/levada/coder"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/portable/internal/wire"
)

// vectors are Beam's own.
type vectors struct {
	Headers []struct {
		Windows   string
		Hex       string
		Timestamp int64
		Pane      struct {
			First  bool   `json:"is_first"`
			Last   bool   `json:"is_last"`
			Timing string `json:"timing"`
			Index  int64  `json:"index"`
			OnTime int64  `json:"on_time_index"`
		}
		In json.RawMessage
	}
	Iterables []struct {
		Hex    string
		Values []string
	}
}

func load(t *testing.T) (v vectors) {
	t.Helper()
	text, err := os.ReadFile("testdata/standard_coders.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func bytesOf(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var windowCoders = map[string]coder.Coder[event.Window]{
	"global_window": coder.GlobalWindow(), "interval_window": coder.IntervalWindow(),
}

var sameWindows = cmp.Comparer(func(a, b event.Window) bool { return a == b })

var timings = map[string]event.Timing{"EARLY": event.Early, "ON_TIME": event.OnTime, "LATE": event.Late, "UNKNOWN": event.Unknown}

// windowsOf reads a vector's windows: "global", or end and span.
func windowsOf(t *testing.T, kind string, text json.RawMessage) (all []event.Window) {
	t.Helper()
	if kind == "global_window" {
		return []event.Window{event.Global()}
	}
	var spans []struct{ End, Span int64 }
	if err := json.Unmarshal(text, &spans); err != nil {
		t.Fatal(err)
	}
	for _, s := range spans {
		all = append(all, event.Window{Start: event.Time(s.End - s.Span), End: event.Time(s.End)})
	}
	return all
}

// TestHeaderVectors shows that headers are read and written as in Beam's vectors.
func TestHeaderVectors(t *testing.T) {
	for _, v := range load(t).Headers {
		data := bytesOf(t, v.Hex)
		w := windowCoders[v.Windows]
		want := wire.Header{
			Time: event.Time(v.Timestamp), Windows: windowsOf(t, v.Windows, v.In),
			Pane: event.Pane{
				Timing: timings[v.Pane.Timing], First: v.Pane.First, Last: v.Pane.Last, Index: v.Pane.Index, OnTimeIndex: v.Pane.OnTime,
			},
		}
		var got wire.Header
		rest, err := got.Read(append(slices.Clone(data), 7), w)
		if err != nil || len(rest) != 1 {
			t.Errorf("%s: %v, and %d bytes are left", v.Hex, err, len(rest))
		}
		if diff := cmp.Diff(want, got, sameWindows); diff != "" {
			t.Errorf("%s (-want +got):\n%s", v.Hex, diff)
		}
		if out, err := wire.AppendHeader(nil, &want, w); err != nil || !slices.Equal(out, data) {
			t.Errorf("%+v is written as %x, %v, and not as %s", want, out, err, v.Hex)
		}
		for n := range data {
			if _, err := new(wire.Header).Read(data[:n:n], w); err == nil {
				t.Errorf("%s: the first %d bytes are a header too", v.Hex, n)
			}
		}
	}
}

// TestPanes shows the three forms of a pane and that each is read as what was written.
func TestPanes(t *testing.T) {
	for text, p := range map[string]event.Pane{
		"0f":     event.NoPane,
		"07":     {Timing: event.OnTime, First: true, Last: true},
		"1100":   {Timing: event.Early, First: true, OnTimeIndex: -1},
		"10ac02": {Timing: event.Early, Index: 300, OnTimeIndex: -1},
		"1403":   {Timing: event.OnTime, Index: 3, OnTimeIndex: 3},
		"240300": {Timing: event.OnTime, Index: 3},
		"2a0502": {Timing: event.Late, Last: true, Index: 5, OnTimeIndex: 2},
	} {
		if got := wire.AppendPane(nil, p); hex.EncodeToString(got) != text {
			t.Errorf("%v is written as %x and not as %s", p, got, text)
		}
		got, rest, err := wire.ReadPane(bytesOf(t, text))
		if err != nil || len(rest) > 0 || got != p {
			t.Errorf("%s is read as %v, %v, and not as %v", text, got, err, p)
		}
	}
	// Nobody writes an early pane without an index, but Beam reads it.
	if p, _, err := wire.ReadPane([]byte{1}); err != nil || p.OnTimeIndex != -1 {
		t.Errorf("a bare early pane is read as %v, %v", p, err)
	}
	if _, err := new(wire.Header).Read(bytesOf(t, "8000000000000000000000000f"), coder.GlobalWindow()); !errors.Is(err, coder.ErrCorrupt) {
		t.Errorf("an element without windows: %v", err)
	}
	for _, bad := range []string{"", "8f", "30", "11", "2400", "7f"} {
		if p, _, err := wire.ReadPane(bytesOf(t, bad)); !errors.Is(err, coder.ErrCorrupt) {
			t.Errorf("%q is read as %v, %v", bad, p, err)
		}
	}
}

// all reads an iterable.
func all(data []byte) (values []string, rest []byte, err error) {
	it, err := wire.ReadIterable(data)
	if err != nil {
		return nil, nil, err
	}
	for v, err := range it.Values() {
		if err != nil {
			return nil, nil, err
		}
		values = append(values, string(v))
	}
	return values, it.Rest(), nil
}

// TestIterableVectors shows that iterables are read as in Beam's vectors, in both forms.
func TestIterableVectors(t *testing.T) {
	for _, v := range load(t).Iterables {
		data := bytesOf(t, v.Hex)
		got, rest, err := all(append(slices.Clone(data), 7))
		if err != nil || len(rest) != 1 || !slices.Equal(got, v.Values) {
			t.Errorf("%s is read as %q, %v, and %d bytes are left", v.Hex, got, err, len(rest))
		}
		for n := range data {
			if got, _, err := all(data[:n:n]); err == nil {
				t.Errorf("%s: the first %d bytes are an iterable too: %q", v.Hex, n, got)
			}
		}
	}
}

// TestIterableBad shows what is refused.
func TestIterableBad(t *testing.T) {
	for text, want := range map[string]error{
		"000000020161":                       coder.ErrCorrupt, // one of two
		"0000000105616263":                   coder.ErrCorrupt, // a value that is cut
		"7fffffff0161":                       coder.ErrCorrupt, // a count that nobody can hold
		"ffffffff010161":                     coder.ErrCorrupt, // no last block
		"fffffffffeffffffffffffffff01":       coder.ErrCorrupt, // a block of -2
		"ffffffff010161ffffffffffffffffff01": wire.ErrStateBacked,
	} {
		if got, _, err := all(bytesOf(t, text)); !errors.Is(err, want) {
			t.Errorf("%s is read as %q, %v", text, got, err)
		}
	}
}

// FuzzRead shows that nothing that comes makes the reader panic, and that what it reads it can write.
func FuzzRead(f *testing.F) {
	f.Add([]byte("\x80\x00\x00\x00\x00\x00\x03\xe8\x00\x00\x00\x01\x80\x00\x00\x00\x00\x00\x00\x14\x0a\x26\x1e\x28\x00\x00\x00\x01\x03abc"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var h wire.Header
		rest, err := h.Read(data, coder.IntervalWindow())
		if err != nil {
			return
		}
		if h.Pane.Timing == event.Unknown {
			h.Pane.Index, h.Pane.OnTimeIndex = 0, 0 // there is no place for them
		}
		out, err := wire.AppendHeader(nil, &h, coder.IntervalWindow())
		if err != nil {
			t.Fatalf("%+v: %v", h, err)
		}
		var again wire.Header
		if end, err := again.Read(out, coder.IntervalWindow()); err != nil || len(end) > 0 || !cmp.Equal(h, again, sameWindows) {
			t.Errorf("%+v is read again as %+v, %v", h, again, err)
		}
		if _, end, err := all(rest); err == nil && len(end) > len(rest) {
			t.Errorf("%d bytes are left of %d", len(end), len(rest))
		}
	})
}
