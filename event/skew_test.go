package event_test

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/levadaflow/levada/event"
)

// slowMove is the rule in unbounded integers.
func slowMove(from, to event.Time, skew int64) *event.MoveError {
	lower := new(big.Int).Sub(bigInt(from.Millis()), bigInt(skew))
	if skew == event.AnySkew || lower.Cmp(bigInt(event.Min.Millis())) < 0 {
		lower = bigInt(event.Min.Millis())
	}
	move := &event.MoveError{From: from, To: to, Lower: event.Time(lower.Int64()), Skew: skew}
	switch at := bigInt(to.Millis()); {
	case at.Cmp(bigInt(event.Min.Millis())) < 0, at.Cmp(bigInt(event.Max.Millis())) > 0:
		move.Err = event.ErrOutOfRange
	case at.Cmp(lower) < 0:
		move.Err = event.ErrSkew
	default:
		return nil
	}
	return move
}

func TestCheckMoveAsInUnboundedIntegers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to := anyTime().Draw(t, "from"), anyTime().Draw(t, "to")
		skew := rapid.OneOf(rapid.Int64Range(0, 5000), rapid.Int64Range(0, math.MaxInt64), rapid.Just(event.AnySkew),
			rapid.Just(event.AnySkew-1)).Draw(t, "skew")
		if rapid.Bool().Draw(t, "close") {
			to = from.AddMillis(-skew).AddMillis(rapid.Int64Range(-2, 2).Draw(t, "by"))
		}
		var got *event.MoveError
		if err := event.CheckMove(from, to, skew); err != nil && !errors.As(err, &got) {
			t.Fatal(err)
		}
		if diff := cmp.Diff(slowMove(from, to, skew), got, cmp.Comparer(sameMove)); diff != "" {
			t.Errorf("CheckMove(%d, %d, %d) (-want +got):\n%s", from, to, skew, diff)
		}
	})
}

func sameMove(a, b event.MoveError) bool { return a == b }

func TestCheckMove(t *testing.T) {
	for _, c := range []struct {
		name     string
		from, to event.Time
		skew     int64
		want     error
	}{
		{"the same time", 1000, 1000, 0, nil},
		{"back without skew", 1000, 999, 0, event.ErrSkew},
		{"back by the skew", 1000, 500, 500, nil},
		{"back by more", 1000, 499, 500, event.ErrSkew},
		{"forward", 1000, event.Max, 0, nil},
		{"beyond max", 1000, event.Max + 1, 0, event.ErrOutOfRange},
		{"below min goes before skew", 1000, event.Min - 1, 0, event.ErrOutOfRange},
		{"min with any skew", 1000, event.Min, event.AnySkew, nil},
		{"min from max with any skew", event.Max, event.Min, event.AnySkew, nil},
		{"below min with any skew", 1000, event.Min - 1, event.AnySkew, event.ErrOutOfRange},
		{"below min with any skew, from before the epoch", -2, event.Min - 1, event.AnySkew, event.ErrOutOfRange},
		{"at min, skew below it", event.Min, event.Min, 1000, nil},
		{"the ends of int64", math.MaxInt64, math.MinInt64, event.AnySkew, event.ErrOutOfRange},
		{"from beyond max, to max", event.Max + 1, event.Max, 0, event.ErrSkew},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := event.CheckMove(c.from, c.to, c.skew)
			if c.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var move *event.MoveError
			if !errors.Is(err, c.want) || !errors.As(err, &move) {
				t.Fatalf("got %v, want a MoveError for %v", err, c.want)
			}
			for _, part := range []string{c.from.String(), c.to.String(), move.Lower.String(), event.Max.String(), c.want.Error()} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not name %q", err, part)
				}
			}
			if skew := c.want == event.ErrSkew; strings.Contains(err.Error(), "AllowedSkew") != skew {
				t.Errorf("%q: AllowedSkew is a remedy for skew only", err)
			}
		})
	}
}
