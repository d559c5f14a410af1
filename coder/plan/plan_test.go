package plan_test

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/levadaflow/levada/coder"
	"github.com/levadaflow/levada/coder/plan"
	"github.com/levadaflow/levada/event"
)

type (
	name  string
	flags [3]bool
	inner struct {
		Tag  name
		bits flags
		U8   uint8
		U16  uint16
		U32  uint32
		U64  uint64
		U    uint
	}
	key struct {
		User  string
		Code  int64
		I8    int8
		I16   int16
		I32   int32
		I     int
		OK    bool
		At    event.Time
		In    inner
		Pairs [2]struct{ A, B string }
		Empty struct{}
	}
	value struct {
		Key     key
		F32     float32
		F64     float64
		Raw     []byte
		Lines   []string
		Deep    [][]int16
		ByName  map[name]*inner
		ByKey   map[[2]int8][]string
		To      *string
		ToTo    **int
		At      time.Time
		W       event.Window
		KV      event.KV[string, []float64]
		Addr    netip.Addr
		Blank   [2][]struct{}
		private []url.URL
		_       func()
	}
	embeds struct {
		time.Time
		User string
	}
	node struct{ Next *node }
	loop []loop
)

func keys() *rapid.Generator[key] {
	return rapid.Custom(func(t *rapid.T) (k key) {
		k = rapid.MakeCustom[key](rapid.MakeConfig{}).Draw(t, "key")
		k.In.bits = rapid.Make[flags]().Draw(t, "bits")
		return k
	})
}

func values() *rapid.Generator[value] {
	return rapid.Custom(func(t *rapid.T) value {
		v := value{
			Key: keys().Draw(t, "key"),
			F32: rapid.Float32().Draw(t, "f32"), F64: rapid.Float64().Draw(t, "f64"),
			Raw:    rapid.SliceOfN(rapid.Byte(), 1, 200).Draw(t, "raw"),
			Lines:  rapid.SliceOfN(rapid.String(), 1, 5).Draw(t, "lines"),
			Deep:   [][]int16{nil, {rapid.Int16().Draw(t, "deep")}},
			ByName: map[name]*inner{"": nil, name(rapid.String().Draw(t, "name")): {Tag: "x"}},
			ByKey:  map[[2]int8][]string{{rapid.Int8().Draw(t, "i8"), -1}: {"a", rapid.String().Draw(t, "s")}},
			To:     new(rapid.String().Draw(t, "to")),
			ToTo:   new(new(rapid.Int().Draw(t, "toto"))),
			At:     time.Unix(rapid.Int64Range(-1e12, 1e12).Draw(t, "sec"), rapid.Int64Range(0, 999999999).Draw(t, "ns")).UTC(),
			W:      event.Window{Start: 1, End: 2}.Labelled(rapid.String().Draw(t, "label")),
			KV:     event.KV[string, []float64]{Key: "k", Value: []float64{math.Inf(1), 0}},
			Addr:   netip.AddrFrom4([4]byte{10, 0, 0, rapid.Byte().Draw(t, "addr")}).Unmap(),
			Blank:  [2][]struct{}{make([]struct{}, 3), nil},
		}
		if rapid.Bool().Draw(t, "url") {
			v.private = []url.URL{{Scheme: "http", Host: "h", Path: "/p"}}
		}
		return v
	})
}

// exact compares all fields, unexported ones too.
var exact = cmp.Exporter(func(reflect.Type) bool { return true })

// round checks everything that holds for any value of any plan.
func round[T any](t interface {
	Helper()
	Fatalf(string, ...any)
}, p *plan.Plan[T], v T) {
	t.Helper()
	enc, err := p.Append([]byte("head"), v)
	if err != nil || string(enc[:4]) != "head" {
		t.Fatalf("Append: %q, %v", enc, err)
	}
	enc = enc[4:]
	got, rest, err := p.Decode(append(enc[:len(enc):len(enc)], "tail"...))
	if err != nil || string(rest) != "tail" {
		t.Fatalf("Decode: rest %q, %v", rest, err)
	}
	for what, w := range map[string]T{"Decode": got, "Clone": p.Clone(v)} {
		if diff := cmp.Diff(v, w, exact); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", what, diff)
		}
	}
	if p.Size(v) != len(enc) {
		t.Fatalf("Size = %d, want %d", p.Size(v), len(enc))
	}
	if h := plan.HashBytes(enc); p.Hash(v) != h {
		t.Fatalf("Hash = %x, of its bytes %x", p.Hash(v), h)
	}
	for i := range min(len(enc), 300) {
		if _, _, err := p.Decode(enc[:i]); !errors.Is(err, coder.ErrCorrupt) {
			t.Fatalf("Decode of the first %d bytes: %v", i, err)
		}
	}
}

func rounds[T any](t *testing.T, p *plan.Plan[T], gen *rapid.Generator[T]) {
	t.Run(p.String(), func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) { round(t, p, gen.Draw(t, "v")) })
	})
}

func TestRoundTrip(t *testing.T) {
	rounds(t, mustKey[string](t), rapid.StringN(0, 300, -1))
	rounds(t, mustKey[int](t), rapid.Int())
	rounds(t, mustKey[int8](t), rapid.Int8())
	rounds(t, mustKey[int32](t), rapid.Int32())
	rounds(t, mustKey[uint16](t), rapid.Uint16())
	rounds(t, mustKey[uint64](t), rapid.Uint64())
	rounds(t, mustKey[bool](t), rapid.Bool())
	rounds(t, mustKey[event.Time](t), rapid.Map(rapid.Int64(), func(i int64) event.Time { return event.Time(i) }))
	rounds(t, mustKey[userPath](t), rapid.Make[userPath]())
	rounds(t, mustKey[key](t), keys())
	rounds(t, mustFor[float64](t), rapid.Float64())
	rounds(t, mustFor[value](t), values())
	rounds(t, plan.WithCoder(coder.String()), rapid.String())
	round(t, mustFor[value](t), value{})
	round(t, mustFor[embeds](t), embeds{time.Unix(1, 2).UTC(), "u"})
	round(t, mustFor[time.Time](t), time.Time{})
	round(t, mustKey[struct{}](t), struct{}{})
	round(t, mustKey[[0]string](t), [0]string{})
	for n := range 20 { // each length of a string's last word, and each length of a length
		round(t, mustKey[string](t), strings.Repeat("x", n))
		round(t, mustKey[string](t), strings.Repeat("x", 120+n))
		round(t, mustKey[userPath](t), userPath{strings.Repeat("y", n), 1 << (3 * n)})
	}
	round(t, mustKey[string](t), strings.Repeat("x", 70000))
}

func TestEncoding(t *testing.T) {
	two := 2
	for _, test := range []struct {
		got  []byte
		want string
	}{
		{encoded(t, -1), "ff ff ff ff ff ff ff ff ff 01"},
		{encoded(t, int8(-1)), "ff ff ff ff ff ff ff ff ff 01"},
		{encoded(t, uint16(300)), "ac 02"},
		{encoded(t, true), "01"},
		{encoded(t, float32(1)), "3f 80 00 00"},
		{encoded(t, 0.1), "3f b9 99 99 99 99 99 9a"},
		{encoded(t, "ab"), "02 61 62"},
		{encoded(t, []byte("ab")), "02 61 62"},
		{encoded(t, []string{"a", ""}), "00 00 00 02 01 61 00"},
		{encoded(t, [2]bool{true, false}), "00 00 00 02 01 00"},
		{encoded(t, event.Time(1000)), "80 00 00 00 00 00 03 e8"},
		{encoded(t, time.Unix(3, 4)), "03 04"},
		{encoded(t, map[string]int{"b": 1, "a": 2}), "00 00 00 02 01 61 02 01 62 01"},
		{encoded(t, (*int)(nil)), "00"},
		{encoded(t, &two), "01 02"},
		{encoded(t, struct{}{}), "00 00"},
		{encoded(t, event.KV[string, int]{Key: "a", Value: 1}), "02 00 01 61 01"},
		{encoded(t, userPath{"ab", 1}), "02 00 02 61 62 01"},
		{encoded(t, event.Window{Start: 0, End: 1}), "03 00 80 00 00 00 00 00 00 00 80 00 00 00 00 00 00 01 00"},
	} {
		if got := fmt.Sprintf("% x", test.got); got != test.want {
			t.Errorf("encoding %s, want %s", got, test.want)
		}
	}
}

func encoded[T any](t *testing.T, v T) []byte {
	t.Helper()
	enc, err := mustFor[T](t).Append(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	return enc
}

func TestRefusedTypes(t *testing.T) {
	forKey := func(_ any, err error) (error, error) { return err, plan.ErrKeyType }
	forValue := func(_ any, err error) (error, error) { return err, plan.ErrValueType }
	check := func(err, base error) func(want string) {
		return func(want string) {
			t.Helper()
			if !errors.Is(err, base) || err.Error() != base.Error()+": "+want {
				t.Errorf("error %v\n want %v: %s", err, base, want)
			}
		}
	}
	const self = "the type contains itself; give a coder"
	const float = "0 == -0 and NaN != NaN; use an integer of a fixed unit"
	check(forKey(plan.ForKey[struct{ At time.Time }]()))("struct { At time.Time }.At: time.Time; " +
		"use event.Time or int64 milliseconds")
	check(forKey(plan.ForKey[float64]()))("float64; " + float)
	check(forKey(plan.ForKey[event.KV[string, [2]float32]]()))("event.KV[string,[2]float32].Value[]: float32; " + float)
	check(forKey(plan.ForKey[any]()))("interface {}; use a concrete type, or give a coder")
	check(forKey(plan.ForKey[*int]()))("*int; == compares addresses; use the value")
	check(forKey(plan.ForKey[chan int]()))("chan int; channels cannot be encoded: leave it out")
	check(forKey(plan.ForKey[complex128]()))("complex128; use two floats, or give a coder")
	check(forKey(plan.ForKey[struct{ _ int }]()))("struct { _ int }._: int; == ignores blank fields; leave it out")
	check(forValue(plan.For[node]()))("(*plan_test.node.Next): plan_test.node; " + self)
	check(forValue(plan.For[loop]()))("plan_test.loop[]: plan_test.loop; " + self)
	check(forValue(plan.For[error]()))("error; use a concrete type, or give a coder")
	check(forValue(plan.For[[]func()]()))("[]func()[]: func(); functions cannot be encoded: leave it out")
	check(forValue(plan.For[map[float64]int]()))("type cannot be a key: map[float64]int[key]: float64; " + float)
}

func TestDecodeErrors(t *testing.T) {
	p := mustFor[[]userPath](t)
	lists := mustFor[map[string][][]int8](t)
	for _, test := range []struct {
		err  error
		want string
	}{
		{decodeErr(p, "\x7f\xff\xff\xff"),
			"[]plan_test.userPath: at byte 0: a count of more elements than the bytes can hold"},
		{decodeErr(p, "\x00\x00\x00\x01\x02\x00\x7fabc"), "[]plan_test.userPath: at byte 7: the bytes end too early"},
		{decodeErr(p, "\x00\x00\x00\x01\x03\x00\x00\x00"),
			"[]plan_test.userPath: at byte 4: the number of fields or elements is another"},
		{decodeErr(lists, "\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
			"map[string][][]int8: at byte 9: a key of a map comes twice"},
		{decodeErr(lists, "\x00\x00\x00\x01\x00\x00\x00\x00\x01\x00\x00\x00\x01\x80\x01"),
			"map[string][][]int8: at byte 13: an integer exceeds its type"},
		{decodeErr(mustFor[bool](t), "\x02"), "bool: at byte 0: an integer exceeds its type"},
		{decodeErr(mustFor[*bool](t), "\x02"), "*bool: at byte 0: an integer exceeds its type"},
		{decodeErr(mustFor[time.Time](t), "\x00\x80\x94\xeb\xdc\x03"),
			"time.Time: at byte 6: a time of more than 999,999,999 nanoseconds"},
	} {
		if test.err == nil || test.err.Error() != test.want || !errors.Is(test.err, coder.ErrCorrupt) {
			t.Errorf("error %v\n want %s", test.err, test.want)
		}
	}
	err := decodeErr(mustFor[netip.Addr](t), "\x01a")
	if err == nil || !strings.HasPrefix(err.Error(), "netip.Addr: at byte 0: unexpected slice size") {
		t.Error(err)
	}
}

func decodeErr[T any](p *plan.Plan[T], src string) error {
	_, _, err := p.Decode([]byte(src))
	return err
}

func TestClone(t *testing.T) {
	s := strings.Repeat("x", 20)
	if c := mustKey[string](t).Clone(s); c != s || unsafe.StringData(c) == unsafe.StringData(s) {
		t.Error("a string shares memory with its clone")
	}
	v := value{Lines: []string{s}, To: &s, ByName: map[name]*inner{name(s): {Tag: name(s)}}, Raw: []byte(s), At: time.Now()}
	c := mustFor[value](t).Clone(v)
	if c.At != v.At {
		t.Error("a time is not the same")
	}
	same := unsafe.StringData(c.Lines[0]) == unsafe.StringData(s) || unsafe.StringData(*c.To) == unsafe.StringData(s)
	for k, in := range c.ByName {
		same = same || unsafe.StringData(string(k)) == unsafe.StringData(s) ||
			unsafe.StringData(string(in.Tag)) == unsafe.StringData(s)
	}
	c.Raw[0], c.Lines[0], *c.To = 'y', "y", "y"
	if same || v.Raw[0] != 'x' || v.Lines[0] != s || *v.To == "y" {
		t.Error("a value shares memory with its clone")
	}
	for what, got := range map[string]bool{
		"string": mustFor[string](t).Fixed(), "[]int": mustFor[[]int](t).Fixed(), "window": mustFor[event.Window](t).Fixed(),
		"time": mustFor[time.Time](t).Fixed(), "coder": plan.WithCoder(coder.String()).Fixed(),
		"not int": !mustFor[int](t).Fixed(), "not array": !mustFor[[2]struct{ A float64 }](t).Fixed(),
		"not event.Time": !mustKey[event.Time](t).Fixed(), "not coder": !plan.WithCoder(coder.VarInt()).Fixed(),
	} {
		if got {
			t.Errorf("Fixed of %s is wrong", what)
		}
	}
}

func TestInjective(t *testing.T) {
	for what, ok := range map[string]bool{
		"key": mustKey[key](t).Injective(), "value plan of a key": mustFor[key](t).Injective(),
		"coder": plan.WithCoder(coder.VarInt()).Injective(), "no coder": !plan.WithCoder(coder.Double()).Injective(),
		"float": !mustFor[[2]float64](t).Injective(), "time": !mustFor[struct{ At time.Time }](t).Injective(),
		"marshaler": !mustFor[netip.Addr](t).Injective(), "pointer": !mustFor[*int](t).Injective(),
	} {
		if !ok {
			t.Errorf("Injective of %s is wrong", what)
		}
	}
	p := mustKey[userPath](t)
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.Custom(func(t *rapid.T) userPath {
			return userPath{rapid.StringN(0, 2, -1).Draw(t, "u"), rapid.Int64Range(0, 2).Draw(t, "c")}
		})
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		x, _ := p.Append(nil, a)
		y, _ := p.Append(nil, b)
		if (a == b) != (string(x) == string(y)) {
			t.Errorf("%v and %v as %x and %x", a, b, x, y)
		}
	})
}

func TestFailingCoder(t *testing.T) {
	p := plan.WithCoder(coder.String())
	if out, err := p.Append([]byte("dst"), "\xff"); err == nil || string(out) != "dst" {
		t.Errorf("Append = %q, %v", out, err)
	}
	if p.Size("\xff") != 0 || p.Hash("\xff") != plan.HashBytes(nil) || p.Clone("\xff") != "\xff" {
		t.Error("a failing coder does not give what the doc says")
	}
}

func TestAllocations(t *testing.T) {
	free := func(what string, want float64, f func()) {
		t.Helper()
		if got := testing.AllocsPerRun(100, f); got != want {
			t.Errorf("%s: %v allocations, want %v", what, got, want)
		}
	}
	s, i, k := mustKey[string](t), mustKey[int64](t), mustKey[userPath](t)
	long := strings.Repeat("x", 5000)
	big, buf := mustKey[key](t), make([]byte, 0, 1000)
	v := key{User: long[:100], Code: -1}
	free("hash string", 0, func() { sink += s.Hash(long) })
	free("hash int64", 0, func() { sink += i.Hash(-5) })
	free("hash struct", 0, func() { sink += k.Hash(userPath{long, 7}) })
	free("hash large struct", 0, func() { sink += big.Hash(v) })
	free("size", 0, func() { sink += uint64(big.Size(v)) })
	free("append", 0, func() { buf, _ = big.Append(buf[:0], v) })
	enc, _ := i.Append(nil, 77)
	free("decode int64", 0, func() { n, _, _ := i.Decode(enc); sink += uint64(n) })
	enc2, _ := s.Append(nil, long)
	free("decode string", 1, func() { n, _, _ := s.Decode(enc2); sink += uint64(len(n)) })
}
