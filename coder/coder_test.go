package coder_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/levadaflow/levada/coder"
	"github.com/levadaflow/levada/event"
)

// vectors are the cases of Beam's standard_coders.yaml; the file says how they were made.
type vectors struct {
	NotCovered map[string]int `json:"not_covered"`
	Cases      []vector
}

type vector struct {
	Coder      string
	Hex        string
	Value      json.RawMessage
	DecodeOnly bool `json:"decode_only"`
}

// notCovered names the standard coders that the package leaves out, see its doc.
var notCovered = []string{
	"beam:coder:custom_window:v1",
	"beam:coder:param_windowed_value:v1",
	"beam:coder:row:v1",
	"beam:coder:sharded_key:v1",
	"beam:coder:state_backed_iterable:v1",
	"beam:coder:timer:v1",
	"beam:coder:windowed_value:v1",
}

type check func(t *testing.T, v vector, enc []byte)

// suite returns a check of one coder; parse makes the value from the vector's JSON.
func suite[T any](c coder.Coder[T], parse func(*testing.T, json.RawMessage) T) check {
	return func(t *testing.T, v vector, enc []byte) {
		want := parse(t, v.Value)
		got, rest, err := c.Decode(slices.Concat(enc, []byte("tail")))
		if err != nil {
			t.Fatal(err)
		}
		if string(rest) != "tail" {
			t.Errorf("rest = %q", rest)
		}
		if diff := cmp.Diff(want, got, cmp.Comparer(sameBits), cmp.Comparer(sameWindow)); diff != "" {
			t.Errorf("decoded (-want +got):\n%s", diff)
		}
		if v.DecodeOnly {
			return
		}
		if out, err := c.Append([]byte("head"), want); err != nil || string(out) != "head"+string(enc) {
			t.Errorf("Append = %x, %v, want %x", out, err, enc)
		}
		for n := range enc {
			if _, _, err := c.Decode(enc[:n]); !errors.Is(err, coder.ErrCorrupt) {
				t.Errorf("Decode of the first %d bytes: %v", n, err)
			}
		}
	}
}

func sameBits(a, b float64) bool        { return math.Float64bits(a) == math.Float64bits(b) }
func sameWindow(a, b event.Window) bool { return a == b }

func plain[T any](t *testing.T, raw json.RawMessage) (v T) {
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func asBytes(t *testing.T, raw json.RawMessage) []byte { return []byte(plain[string](t, raw)) }

func asDouble(t *testing.T, raw json.RawMessage) float64 {
	v, err := strconv.ParseFloat(plain[string](t, raw), 64)
	if err != nil {
		t.Fatal(err)
	}
	if math.IsNaN(v) {
		return math.Float64frombits(0x7ff8 << 48) // Java's; Go's differs in the last bit
	}
	return v
}

func asWindow(t *testing.T, raw json.RawMessage) event.Window {
	v := plain[struct{ End, Span event.Time }](t, raw)
	return event.Window{Start: v.End - v.Span, End: v.End}
}

func asGlobal(*testing.T, json.RawMessage) event.Window { return event.Global() }

func asKV[V any](value func(*testing.T, json.RawMessage) V) func(*testing.T, json.RawMessage) event.KV[[]byte, V] {
	return func(t *testing.T, raw json.RawMessage) event.KV[[]byte, V] {
		v := plain[struct{ Key, Value json.RawMessage }](t, raw)
		return event.KV[[]byte, V]{Key: asBytes(t, v.Key), Value: value(t, v.Value)}
	}
}

func asSlice[T any](elem func(*testing.T, json.RawMessage) T) func(*testing.T, json.RawMessage) []T {
	return func(t *testing.T, raw json.RawMessage) (v []T) {
		for _, e := range plain[[]json.RawMessage](t, raw) {
			v = append(v, elem(t, e))
		}
		return v
	}
}

func asNullable(t *testing.T, raw json.RawMessage) *[]byte {
	if string(raw) == "null" {
		return nil
	}
	v := asBytes(t, raw)
	return &v
}

var suites = map[string]check{
	"bytes":                   suite(coder.Bytes(), asBytes),
	"bool":                    suite(coder.Bool(), plain[bool]),
	"string_utf8":             suite(coder.String(), plain[string]),
	"varint":                  suite(coder.VarInt(), plain[int64]),
	"double":                  suite(coder.Double(), asDouble),
	"interval_window":         suite(coder.IntervalWindow(), asWindow),
	"global_window":           suite(coder.GlobalWindow(), asGlobal),
	"kv[bytes,varint]":        suite(coder.KV(coder.Bytes(), coder.VarInt()), asKV(plain[int64])),
	"kv[bytes,bytes]":         suite(coder.KV(coder.Bytes(), coder.Bytes()), asKV(asBytes)),
	"kv[bytes,bool]":          suite(coder.KV(coder.Bytes(), coder.Bool()), asKV(plain[bool])),
	"iterable[varint]":        suite(coder.Iterable(coder.VarInt()), asSlice(plain[int64])),
	"iterable[bytes]":         suite(coder.Iterable(coder.Bytes()), asSlice(asBytes)),
	"iterable[bool]":          suite(coder.Iterable(coder.Bool()), asSlice(plain[bool])),
	"iterable[global_window]": suite(coder.Iterable(coder.GlobalWindow()), asSlice(asGlobal)),
	"nullable[bytes]":         suite(coder.Nullable(coder.Bytes()), asNullable),
}

func TestStandardCoders(t *testing.T) {
	data, err := os.ReadFile("testdata/standard_coders.json")
	if err != nil {
		t.Fatal(err)
	}
	var file vectors
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(notCovered, slices.Sorted(maps.Keys(file.NotCovered))); diff != "" {
		t.Errorf("coders not covered (-want +got):\n%s", diff)
	}
	used := map[string]bool{}
	for _, v := range file.Cases {
		enc, err := hex.DecodeString(v.Hex)
		if err != nil || suites[v.Coder] == nil {
			t.Fatalf("case %s %s: %v, or no suite for it", v.Coder, v.Hex, err)
		}
		used[v.Coder] = true
		t.Run(v.Coder+"/"+v.Hex[:min(len(v.Hex), 24)], func(t *testing.T) { suites[v.Coder](t, v, enc) })
	}
	if len(used) != len(suites) {
		t.Errorf("%d suites, of which %d have cases", len(suites), len(used))
	}
}

func TestRefused(t *testing.T) {
	decode := func(_ any, _ []byte, err error) error { return err }
	any1 := func(src string) error { v, r, err := coder.Bool().Decode([]byte(src)); return decode(v, r, err) }
	nested := coder.KV(coder.String(), coder.Iterable(coder.Nullable(coder.VarInt())))
	kv := func(src string) error { v, r, err := nested.Decode([]byte(src)); return decode(v, r, err) }
	windows := coder.Iterable(coder.GlobalWindow())
	global := func(src string) error { v, r, err := windows.Decode([]byte(src)); return decode(v, r, err) }
	for _, test := range []struct {
		err  error
		want string
	}{
		{any1("\x02"), "beam:coder:bool:v1: at byte 0: a boolean of 2"},
		{any1(""), "beam:coder:bool:v1: at byte 0: no bytes left"},
		{kv("\x81\x00a"), "beam:coder:string_utf8:v1: at byte 0: a variable-length integer has more bytes than it needs"},
		{kv("\x02a"), "beam:coder:string_utf8:v1: at byte 1: a length of 2 where 1 bytes are left"},
		{kv("\x01\xff"), "beam:coder:string_utf8:v1: at byte 1: text is not valid UTF-8"},
		{kv("\x01a\x7f\xff\xff\xff"), "beam:coder:iterable:v1[beam:coder:nullable:v1[beam:coder:varint:v1]]: at byte 6: " +
			"2147483647 elements where 0 bytes are left"},
		{kv("\x01a\x00\x00\x00\x02\x00\x03"), "beam:coder:nullable:v1[beam:coder:varint:v1]: at byte 7: a null marker of 3"},
		{kv("\x01a\x00\x00\x00\x01\x01\x80"), "beam:coder:varint:v1: at byte 7: " +
			"the bytes end inside of a variable-length integer"},
		{global("\x00\x00\x00\x05"), "beam:coder:iterable:v1[beam:coder:global_window:v1]: at byte 4: " +
			"5 elements where 0 bytes are left"},
		{global("\x00\x00\x00\x05tail"), "beam:coder:iterable:v1[beam:coder:global_window:v1]: at byte 4: " +
			"more elements than bytes"},
	} {
		if test.err == nil || test.err.Error() != test.want || !errors.Is(test.err, coder.ErrCorrupt) {
			t.Errorf("error %v\n want %s", test.err, test.want)
		}
	}
	refuse(t, coder.IntervalWindow(), event.Global())
	refuse(t, coder.GlobalWindow(), event.Window{})
	refuse(t, coder.String(), "\xff")
	refuse(t, coder.Nullable(coder.String()), new("\xff"))
	refuse(t, coder.KV(coder.VarInt(), coder.String()), event.KV[int64, string]{Value: "\xff"})
	refuse(t, coder.Iterable(coder.String()), []string{"a", "\xff"})
	refuse(t, windows, slices.Repeat([]event.Window{event.Global()}, 5))
}

func refuse[T any](t *testing.T, c coder.Coder[T], v T) {
	t.Helper()
	if out, err := c.Append([]byte("dst"), v); err == nil || string(out) != "dst" {
		t.Errorf("%v: Append(%v) = %q, %v", c, v, out, err)
	}
}

func TestShift(t *testing.T) {
	if coder.Shift(nil, 3) != nil {
		t.Error("nil did not stay nil")
	}
	foreign := errors.New("foreign")
	if err := coder.Shift(foreign, 3); !errors.Is(err, foreign) || !strings.Contains(err.Error(), "3") {
		t.Error(err)
	}
}

func TestInjective(t *testing.T) {
	for c, want := range map[interface{ Injective() bool }]bool{
		coder.Bytes(): true, coder.String(): true, coder.Bool(): true, coder.VarInt(): true, coder.Double(): false,
		coder.EventTime(): true, coder.IntervalWindow(): true, coder.GlobalWindow(): true,
		coder.Nullable(coder.Bool()): false, coder.Iterable(coder.Bool()): true, coder.Iterable(coder.Double()): false,
		coder.KV(coder.Bool(), coder.Double()): false, coder.KV(coder.Bool(), coder.String()): true,
	} {
		if c.Injective() != want {
			t.Errorf("%v: Injective is not %v", c, want)
		}
	}
}

func TestEventTimeSorts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := event.Time(rapid.Int64().Draw(t, "a")), event.Time(rapid.Int64().Draw(t, "b"))
		x, _ := coder.EventTime().Append(nil, a)
		y, _ := coder.EventTime().Append(nil, b)
		if (a < b) != (bytes.Compare(x, y) < 0) {
			t.Errorf("%x and %x do not sort as %d and %d", x, y, a, b)
		}
		if v, rest, err := coder.EventTime().Decode(x); v != a || len(rest) != 0 || err != nil {
			t.Errorf("%v, %v, %v", v, rest, err)
		}
	})
}

// fuzzDecode checks that c.Decode neither panics nor allocates out of proportion, and that what it takes is what Append
// writes, unless loose.
func fuzzDecode[T any](f *testing.F, c coder.Coder[T], loose bool, seeds ...string) {
	for _, s := range append(seeds, "", "\x00", "\xff\xff\xff\xff\x0f", "\x7f\xff\xff\xff\x00", "\xff\xff\xff\xff\x00") {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		v, rest, err := c.Decode(src)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20+uint64(len(src))*256 {
			t.Fatalf("%d bytes allocated for %d", used, len(src))
		}
		if err != nil {
			var place *coder.DecodeError
			if !errors.As(err, &place) || place.Offset < 0 || place.Offset > len(src) {
				t.Fatalf("error without a place: %v", err)
			}
			return
		}
		enc, err := c.Append(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		if !loose && !bytes.Equal(enc, src[:len(src)-len(rest)]) {
			t.Fatalf("decoded from %x, encoded as %x", src, enc)
		}
		again, rest, err := c.Decode(enc)
		if err != nil || len(rest) != 0 || !cmp.Equal(v, again, cmp.Comparer(sameBits), cmp.Comparer(sameWindow)) {
			t.Fatalf("%v, then %v, rest %x, %v", v, again, rest, err)
		}
	})
}

func FuzzBytes(f *testing.F)  { fuzzDecode(f, coder.Bytes(), false, "\x03abc") }
func FuzzString(f *testing.F) { fuzzDecode(f, coder.String(), false, "\x03abc") }
func FuzzBool(f *testing.F)   { fuzzDecode(f, coder.Bool(), false, "\x01") }
func FuzzVarInt(f *testing.F) { fuzzDecode(f, coder.VarInt(), false, "\xc8\x01", "\x80\x00") }
func FuzzDouble(f *testing.F) {
	fuzzDecode(f, coder.Double(), false, "\x3f\xb9\x99\x99\x99\x99\x99\x9a")
}
func FuzzEventTime(f *testing.F) {
	fuzzDecode(f, coder.EventTime(), false, "\x80\x00\x00\x00\x00\x00\x03\xe8")
}
func FuzzGlobalWindow(f *testing.F) {
	fuzzDecode(f, coder.Iterable(coder.GlobalWindow()), true, "\x00\x00\x00\x01")
}
func FuzzIntervalWindow(f *testing.F) {
	fuzzDecode(f, coder.IntervalWindow(), false, "\x80\x00\x00\x00\x00\x00\x00\x14\x0a")
}
func FuzzComposite(f *testing.F) {
	c := coder.KV(coder.Nullable(coder.String()), coder.Iterable(coder.Iterable(coder.VarInt())))
	fuzzDecode(f, c, true, "\x01\x01a\x00\x00\x00\x01\x00\x00\x00\x01\x05", "\x00\xff\xff\xff\xff\x01\x00\x00\x00\x01\x05\x00")
}
