package plan_test

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/levadaflow/levada/coder/plan"
)

// reference is the hash written down in another way.
func reference(b []byte) uint64 {
	fold := func(a, b uint64) uint64 { hi, lo := bits.Mul64(a, b); return hi ^ lo }
	h := uint64(0x243f6a8885a308d3)
	for chunk := range slices.Chunk(b, 8) {
		var word uint64
		for i, c := range chunk {
			word |= uint64(c) << (8 * i)
		}
		h = fold(h^word, 0x13198a2e03707345)
	}
	return fold(h^uint64(len(b)), 0xa4093822299f31d1)
}

func TestHashReference(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 100 {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		if got, want := plan.HashBytes(b), reference(b); got != want {
			t.Errorf("hash of %d bytes = %x, want %x", n, got, want)
		}
	}
}

// TestHashPinned holds the hash for ever: state is placed by it. Never change a number here.
func TestHashPinned(t *testing.T) {
	for _, test := range []struct {
		what      string
		got, want uint64
	}{
		{"no bytes", plan.HashBytes(nil), 0xbf6565d77ed04d03},
		{"empty string", mustKey[string](t).Hash(""), 0xe4013cb1b3885d03},
		{"a", mustKey[string](t).Hash("a"), 0xec69deaa3f16fb1d},
		{"seven", mustKey[string](t).Hash("1234567"), 0xf5a586887547f64d},
		{"user-0000001", mustKey[string](t).Hash("user-0000001"), 0xf1faa45e5688deb3},
		{"int 0", mustKey[int](t).Hash(0), 0xe4013cb1b3885d03},
		{"int -1", mustKey[int](t).Hash(-1), 0x780d072cd183ecdd},
		{"uint32 70000", mustKey[uint32](t).Hash(70000), 0x0a6ea9457b16f393},
		{"true", mustKey[bool](t).Hash(true), 0x40d91e22976dbe05},
		{"struct", mustKey[userPath](t).Hash(userPath{"user-0000001", 404}), 0x8d8a21053c2216c1},
		{"array", mustKey[[2]string](t).Hash([2]string{"a", "b"}), 0x8b67d0492f65c208},
	} {
		if test.got != test.want {
			t.Errorf("%s: %#x, want %#x", test.what, test.got, test.want)
		}
	}
	if g := plan.KeyGroup(1 << 63); g != 512 {
		t.Errorf("key group %d", g)
	}
}

// TestSpread looks at how even key groups and the low bits, which tables use, are for keys that are much alike.
func TestSpread(t *testing.T) {
	users, ints, structs := mustKey[string](t), mustKey[int](t), mustKey[userPath](t)
	var buf []byte
	for what, hash := range map[string]func(i int) uint64{
		"user": func(i int) uint64 {
			buf = fmt.Appendf(buf[:0], "user-%d", i)
			return users.Hash(string(buf))
		},
		"int":        ints.Hash,
		"million":    func(i int) uint64 { return ints.Hash(i * 1000000) },
		"power of 2": func(i int) uint64 { return ints.Hash(i << 32) },
		"struct":     func(i int) uint64 { return structs.Hash(userPath{"a", int64(i)}) },
		"same ends":  func(i int) uint64 { return users.Hash(string(fmt.Appendf(nil, "https://h/%d/index.html", i))) },
	} {
		n, most := 1<<18, 350 // 1.37 times the mean, 5.9 standard deviations
		if what == "user" {
			n, most = 1<<20, 1280 // 1.25 times the mean, 8 standard deviations
		}
		var high, low [plan.KeyGroups]int
		seen := make([]uint64, 0, n)
		for i := range n {
			h := hash(i)
			high[plan.KeyGroup(h)]++
			low[h%plan.KeyGroups]++
			seen = append(seen, h)
		}
		if top := max(slices.Max(high[:]), slices.Max(low[:])); top > most {
			t.Errorf("%s: a group of %d, the mean is %d", what, top, n/plan.KeyGroups)
		}
		slices.Sort(seen)
		if unique := len(slices.Compact(seen)); unique != n {
			t.Errorf("%s: %d hashes of %d keys", what, unique, n)
		}
	}
}

// TestAvalanche checks that each bit of the bytes changes each bit of the hash about half of the time.
func TestAvalanche(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const rounds = 2000
	for _, size := range []int{2, 8, 9, 20} {
		b := make([]byte, size)
		for bit := range 8 * size {
			var flips [64]int
			for range rounds {
				for i := range b {
					b[i] = byte(r.Uint32())
				}
				h := plan.HashBytes(b)
				b[bit/8] ^= 1 << (bit % 8)
				for x := h ^ plan.HashBytes(b); x != 0; x &= x - 1 {
					flips[bits.TrailingZeros64(x)]++
				}
			}
			if lo, hi := slices.Min(flips[:]), slices.Max(flips[:]); lo < rounds*2/5 || hi > rounds*3/5 {
				t.Errorf("%d bytes, bit %d: flips of a bit between %d and %d of %d", size, bit, lo, hi, rounds)
			}
		}
	}
}
