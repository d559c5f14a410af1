// Package wire holds the primitives that coder and coder/plan share. Variable-length integers have one form only: what is
// longer than needed is refused, so that equal bytes and equal values are the same thing.
package wire

import (
	"encoding/binary"
	"math/bits"
)

// Uvarint reads a LEB128 number from the front of src and returns it with the number of its bytes. If there is none, n is 0
// and bad says why, else bad is "".
func Uvarint(src []byte) (v uint64, n int, bad string) {
	v, n = binary.Uvarint(src)
	switch {
	case n == 0:
		return 0, 0, "the bytes end inside of a variable-length integer"
	case n < 0:
		return 0, 0, "a variable-length integer exceeds 64 bits"
	case n > 1 && src[n-1] == 0:
		return 0, 0, "a variable-length integer has more bytes than it needs"
	}
	return v, n, ""
}

// UvarintLen returns how many bytes v takes: 1 to 10.
func UvarintLen(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// SignFlip is the difference between an int64 and the unsigned number that sorts like it.
const SignFlip = 1 << 63
