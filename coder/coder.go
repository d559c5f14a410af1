package coder

import (
	"errors"
	"fmt"

	"github.com/levadaflow/levada/coder/internal/wire"
)

// Coder encodes and decodes values of one type in Beam's NESTED context (self-delimiting). It is immutable and safe for use
// by several goroutines.
type Coder[T any] interface {
	// Append appends the encoding of v to dst and returns the extended buffer; it keeps neither. With an error it returns
	// dst as it was.
	Append(dst []byte, v T) ([]byte, error)
	// Decode reads one value from the front of src and returns it with the bytes after it. The value shares no memory with
	// src. The error is a *[DecodeError] or wraps one. It never panics and never allocates more than a small multiple of
	// len(src).
	Decode(src []byte) (v T, rest []byte, err error)
	// Injective reports whether values are equal if and only if their encodings are equal bytes: what a key needs. Equal is
	// == or, for slices, equal content.
	Injective() bool
	// String returns the coder's name for error messages: its Beam URN with its components, or its type.
	String() string
}

// ErrCorrupt is wrapped by every error that says that bytes are not an encoding.
var ErrCorrupt = errors.New("corrupt encoding")

// DecodeError says where bytes are not the encoding of a value, and why. It wraps [ErrCorrupt].
type DecodeError struct {
	Coder  string // name of the coder that found the fault, which may be a component of the one that was called
	Offset int    // bytes from the beginning of what was given to Decode
	Reason string
}

// Error returns "CODER: at byte OFFSET: REASON".
func (e *DecodeError) Error() string {
	return fmt.Sprintf("%s: at byte %d: %s", e.Coder, e.Offset, e.Reason)
}

// Unwrap returns ErrCorrupt.
func (e *DecodeError) Unwrap() error { return ErrCorrupt }

// Shift returns err, the error of a component's Decode, as seen from a coder that has already read n bytes. It is for
// authors of composite coders. A nil error stays nil.
func Shift(err error, n int) error {
	switch e := err.(type) {
	case nil:
		return nil
	case *DecodeError:
		moved := *e
		moved.Offset += n
		return &moved
	}
	return fmt.Errorf("after byte %d: %w", n, err)
}

// corrupt returns the error for a fault at the given offset.
func corrupt(coder fmt.Stringer, offset int, reason string, args ...any) error {
	return &DecodeError{Coder: coder.String(), Offset: offset, Reason: fmt.Sprintf(reason, args...)}
}

// lengthPrefixed returns the bytes after a length at the front of src, not copied.
func lengthPrefixed(coder fmt.Stringer, src []byte) (data, rest []byte, err error) {
	length, n, bad := wire.Uvarint(src)
	if bad != "" {
		return nil, nil, corrupt(coder, 0, "%s", bad)
	}
	if length > uint64(len(src)-n) {
		return nil, nil, corrupt(coder, n, "a length of %d where %d bytes are left", length, len(src)-n)
	}
	end := n + int(length)
	return src[n:end], src[end:], nil
}
