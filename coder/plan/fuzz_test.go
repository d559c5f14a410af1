package plan_test

import (
	"bytes"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/levadaflow/levada/coder"
	"github.com/levadaflow/levada/coder/plan"
	"github.com/levadaflow/levada/event"
)

// fuzzDecode checks that Decode neither panics nor allocates out of proportion, and that what it takes encodes to what it
// was read from, unless loose, and decodes again.
func fuzzDecode[T any](f *testing.F, p *plan.Plan[T], loose bool, seeds ...T) {
	for _, v := range seeds {
		enc, err := p.Append(nil, v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(enc)
		f.Add(enc[:len(enc)/2])
	}
	f.Add([]byte("\x7f\xff\xff\xff"))
	f.Add([]byte("\xff\xff\xff\xff\x0f"))
	f.Fuzz(func(t *testing.T, src []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		v, rest, err := p.Decode(src)
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
		enc, err := p.Append(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		if !loose && !bytes.Equal(enc, src[:len(src)-len(rest)]) {
			t.Fatalf("decoded from %x, encoded as %x", src, enc)
		}
		again, rest, err := p.Decode(enc)
		if err != nil || len(rest) != 0 {
			t.Fatalf("rest %x, %v", rest, err)
		}
		if twice, err := p.Append(nil, again); err != nil || !bytes.Equal(twice, enc) {
			t.Fatalf("encoded as %x, then as %x, %v", enc, twice, err)
		}
		if p.Size(v) != len(enc) || p.Hash(v) != plan.HashBytes(enc) {
			t.Fatalf("size %d, %d bytes", p.Size(v), len(enc))
		}
	})
}

func FuzzKey(f *testing.F) {
	fuzzDecode(f, mustKey[key](f), false, key{}, key{User: "u", Code: -1, At: 5, Pairs: [2]struct{ A, B string }{{"a", "b"}}})
}

func FuzzString(f *testing.F) { fuzzDecode(f, mustKey[string](f), false, "", "abc") }

func FuzzSlices(f *testing.F) {
	fuzzDecode(f, mustFor[[][]struct{}](f), false, [][]struct{}{nil, make([]struct{}, 3)})
}

func FuzzPointers(f *testing.F) {
	fuzzDecode(f, mustFor[[]*[]time.Time](f), false, []*[]time.Time{nil, {time.Unix(1, 2)}})
}

func FuzzMap(f *testing.F) {
	fuzzDecode(f, mustFor[map[string][]event.Time](f), true, map[string][]event.Time{"a": {1}, "b": nil})
}

func FuzzValue(f *testing.F) {
	fuzzDecode(f, mustFor[value](f), true, value{}, value{Lines: []string{"a"}, Raw: []byte("b"), At: time.Unix(1, 2)})
}
