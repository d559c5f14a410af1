package source_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/source"
	"pgregory.net/rapid"
)

type offsets = source.OffsetRange

// claim claims an offset and fails the test if that does not give want.
func claim(t *testing.T, x *source.Offsets, p int64, want bool) {
	t.Helper()
	if ok, err := x.TryClaim(p); ok != want || err != nil {
		t.Errorf("TryClaim(%d) = %v, %v, want %v", p, ok, err, want)
	}
}

// split splits and fails the test if what is kept and given away is not as it should be.
func split(t *testing.T, x *source.Offsets, fraction float64, primary, residual offsets) {
	t.Helper()
	if rest, ok := x.TrySplit(fraction); !ok || rest != residual || x.Restriction() != primary {
		t.Errorf("TrySplit(%v): %v and %v, %v; want %v and %v", fraction, x.Restriction(), rest, ok, primary, residual)
	}
}

func noSplit(t *testing.T, x *source.Offsets, fraction float64) {
	t.Helper()
	if rest, ok := x.TrySplit(fraction); ok {
		t.Errorf("TrySplit(%v) gave %v away", fraction, rest)
	}
}

// TestOffsets follows Beam's OffsetRangeTrackerTest.
func TestOffsets(t *testing.T) {
	x := source.NewOffsets(offsets{From: 100, To: 200})
	claim(t, x, 100, true)
	claim(t, x, 150, true)
	claim(t, x, 199, true)
	claim(t, x, 200, false)
	if err := x.Check(); err != nil {
		t.Error(err)
	}
	split(t, source.NewOffsets(offsets{From: 100, To: 200}), 0, offsets{From: 100, To: 100}, offsets{From: 100, To: 200}) // unstarted
	x = source.NewOffsets(offsets{From: 100, To: 200})
	claim(t, x, 100, true)
	split(t, x, 0, offsets{From: 100, To: 101}, offsets{From: 101, To: 200}) // just started
	noSplit(t, x, 0)                                                         // twice
	x = source.NewOffsets(offsets{From: 100, To: 200})
	claim(t, x, 105, true)
	claim(t, x, 110, true)
	split(t, x, 0, offsets{From: 100, To: 111}, offsets{From: 111, To: 200})
	x = source.NewOffsets(offsets{From: 100, To: 200})
	claim(t, x, 199, true)
	noSplit(t, x, 0) // the last one was claimed
	x = source.NewOffsets(offsets{From: 100, To: 200})
	claim(t, x, 160, true)
	claim(t, x, 240, false)
	noSplit(t, x, 0) // a failed claim
	x = source.NewOffsets(offsets{From: 100, To: 200})
	claim(t, x, 100, true)
	split(t, x, 0.509, offsets{From: 100, To: 150}, offsets{From: 150, To: 200})
	noSplit(t, x, 1)
	for _, empty := range []offsets{{100, 100}, {100, 50}} {
		x = source.NewOffsets(empty)
		noSplit(t, x, 0)
		if done, left := x.Progress(); done != 0 || left != 0 || x.Check() != nil {
			t.Errorf("%v: %v, %v, %v", empty, done, left, x.Check())
		}
	}
}

// TestOffsetsExtremes shows that nothing overflows and that all offsets are exact.
func TestOffsetsExtremes(t *testing.T) {
	x := source.NewOffsets(offsets{From: math.MinInt64, To: math.MaxInt64})
	claim(t, x, math.MinInt64, true)
	if done, left := x.Progress(); done != 1 || left < 1.8e19 {
		t.Errorf("%v, %v", done, left)
	}
	split(t, x, 0.5, offsets{From: math.MinInt64, To: -1}, offsets{From: -1, To: math.MaxInt64})
	const big = 1<<60 + 1
	x = source.NewOffsets(offsets{From: big, To: big + 2})
	claim(t, x, big, true)
	split(t, x, 0, offsets{From: big, To: big + 1}, offsets{From: big + 1, To: big + 2})
	x = source.NewOffsets(offsets{From: math.MaxInt64 - 1, To: math.MaxInt64})
	claim(t, x, math.MaxInt64-1, true)
	claim(t, x, math.MaxInt64, false)
	noSplit(t, x, 0)
	if err := x.Check(); err != nil {
		t.Error(err)
	}
}

// TestOffsetsMisuse shows the errors.
func TestOffsetsMisuse(t *testing.T) {
	x := source.NewOffsets(offsets{From: 100, To: 200})
	if _, err := x.TryClaim(99); !errors.Is(err, source.ErrClaimOrder) {
		t.Error(err)
	}
	if err := x.Check(); !errors.Is(err, source.ErrUnclaimed) {
		t.Error(err)
	}
	claim(t, x, 110, true)
	for _, p := range []int64{110, 109} {
		if _, err := x.TryClaim(p); !errors.Is(err, source.ErrClaimOrder) {
			t.Error(err)
		}
	}
	if err := x.Check(); !errors.Is(err, source.ErrUnclaimed) || err.Error() != "a part of the range was not claimed: [111, 200), the last was 110" {
		t.Error(err)
	}
}

// TestGrowing follows Beam's GrowableOffsetRangeTrackerTest.
func TestGrowing(t *testing.T) {
	end := int64(10)
	open := func(from int64) *source.Offsets {
		return source.NewGrowing(offsets{From: from, To: math.MaxInt64}, func() int64 { return end })
	}
	x := open(0)
	claim(t, x, 0, true)
	claim(t, x, 5, true)
	split(t, x, 0, offsets{From: 0, To: 6}, offsets{From: 6, To: math.MaxInt64})
	noSplit(t, x, 0)
	x, end = open(0), 16
	claim(t, x, 0, true)
	split(t, x, 0.5, offsets{From: 0, To: 8}, offsets{From: 8, To: math.MaxInt64})
	split(t, x, 0.5, offsets{From: 0, To: 4}, offsets{From: 4, To: 8}) // it is finite now
	x = open(0)
	if done, left := x.Progress(); done != 0 || left != 16 {
		t.Errorf("unstarted: %v, %v", done, left)
	}
	claim(t, x, 5, true)
	if done, left := x.Progress(); done != 6 || left != 10 {
		t.Errorf("%v, %v", done, left)
	}
	end = 2 // less than there was
	if done, left := x.Progress(); done != 2 || left != 0 {
		t.Errorf("an end behind the claims: %v, %v", done, left)
	}
	split(t, x, 0.9, offsets{From: 0, To: 6}, offsets{From: 6, To: math.MaxInt64})
	x, end = open(0), math.MaxInt64
	claim(t, x, 1, true)
	split(t, x, 0, offsets{From: 0, To: 2}, offsets{From: 2, To: math.MaxInt64})
}

// TestOffsetsAreDividedUp claims and splits at random: the parts are the whole, in order, and claims are never given away.
func TestOffsetsAreDividedUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := offsets{From: rapid.Int64Range(-100, 100).Draw(t, "from"), To: rapid.Int64Range(-100, 200).Draw(t, "to")}
		x := source.NewOffsets(r)
		to, last := r.To, r.From-1
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "claim") {
				p := last + rapid.Int64Range(1, 20).Draw(t, "by")
				if ok, err := x.TryClaim(p); err != nil || ok != (p < to) {
					t.Fatalf("TryClaim(%d) of %v = %v, %v", p, x.Restriction(), ok, err)
				}
				last = p
				continue
			}
			f := rapid.Float64Range(0, 1).Draw(t, "fraction")
			before, rest := x.Restriction(), offsets{}
			want, would := x.Rest()
			rest, ok := x.TrySplit(f)
			if f == 0 && (ok != would || rest != want) {
				t.Fatalf("Rest() = %v, %v and TrySplit(0) = %v, %v", want, would, rest, ok)
			}
			after := x.Restriction()
			if !ok && after != before || ok && (rest.To != before.To || after.From != before.From || after.To != rest.From || rest.From <= last || rest.From >= rest.To) {
				t.Fatalf("%v, last %d, split at %v: %v and %v", before, last, f, after, rest)
			}
			to = after.To
		}
		if want := r.From >= to || last >= to-1; (x.Check() == nil) != want {
			t.Fatalf("Check() = %v of %v, last %d", x.Check(), x.Restriction(), last)
		}
	})
}

// TestEstimators follows Beam's WatermarkEstimatorsTest and the contract of beam-semantics 2.5.
func TestEstimators(t *testing.T) {
	var m source.ManualEstimator
	m.Begin(event.Min)
	for _, c := range []struct{ set, want event.Time }{{event.Min, event.Min}, {7200, 7200}, {3600, 7200}, {event.Max, event.Max}} {
		if err := m.Set(c.set); err != nil || m.Current(0) != c.want {
			t.Errorf("manual, %v: %v, want %v, %v", c.set, m.Current(0), c.want, err)
		}
	}
	if err := m.Set(event.Max + 1); err == nil {
		t.Error("beyond the end of time")
	}
	m.Begin(5)
	_, _ = m.Set(100), m.Set(50) // the last counts, if nobody has looked
	if m.Current(0) != 50 {
		t.Errorf("manual: %v", m.Current(0))
	}
	var mono source.MonotonicEstimator
	mono.Begin(event.Min)
	mono.Observe(100, 0)
	mono.Observe(50, 0)
	if mono.Current(0) != 50 {
		t.Errorf("monotonic follows the last one: %v", mono.Current(0))
	}
	mono.Observe(40, 0)
	if mono.Current(0) != 50 {
		t.Errorf("monotonic does not go back: %v", mono.Current(0))
	}
	var wall source.WallTimeEstimator
	wall.Begin(10)
	for _, c := range []struct{ now, want event.Time }{{5, 10}, {20, 20}, {15, 20}} {
		if wall.Current(c.now) != c.want {
			t.Errorf("wall time at %d: %v, want %v", c.now, wall.Current(c.now), c.want)
		}
	}
	ignored := 0
	b := source.BoundedEstimator{OutOfOrder: 10, MaxFuture: 100, Ignored: func() { ignored++ }}
	b.Begin(event.Min)
	if b.Current(0) != event.Min {
		t.Errorf("bounded, without outputs: %v", b.Current(0))
	}
	for _, c := range []struct{ t, want event.Time }{{50, 40}, {45, 40}, {1100, 1090}, {1101, 1090}} {
		if b.Observe(c.t, 1000); b.Current(1000) != c.want {
			t.Errorf("bounded after %d: %v, want %v", c.t, b.Current(1000), c.want)
		}
	}
	b.MaxFuture = -1
	if b.Observe(event.Max, 0); b.Current(0) != event.Max-10 || ignored != 1 {
		t.Errorf("bounded, any future: %v, %d ignored", b.Current(0), ignored)
	}
	b.Begin(70)
	if b.Current(0) != 70 {
		t.Errorf("bounded, of a rest: %v", b.Current(0))
	}
}

func ExampleOffsets() {
	x := source.NewOffsets(source.OffsetRange{From: 0, To: 10})
	for _, p := range []int64{0, 1, 2} {
		if _, err := x.TryClaim(p); err != nil {
			fmt.Println(err)
		}
	}
	rest, ok := x.TrySplit(0.5)
	fmt.Println(x.Restriction(), rest, ok)
	// Output: [0, 6) [6, 10) true
}

func ExampleOffsetRanges() {
	lines := map[string]int64{"a.log": 100}
	r := source.OffsetRanges(func(_ context.Context, file string) (source.OffsetRange, error) {
		return source.OffsetRange{To: lines[file]}, nil
	})
	all, err := r.Initial(context.Background(), "a.log")
	fmt.Println(all, r.SizeOf("a.log", all), err)
	// Output: [0, 100) 100 <nil>
}
