package coder

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/levadaflow/levada/coder/internal/wire"
	"github.com/levadaflow/levada/event"
)

type bytesCoder struct{}

// Bytes returns Beam's coder for byte strings, beam:coder:bytes:v1: a VarInt length and the bytes. nil and empty are the
// same and decode as nil.
func Bytes() Coder[[]byte] { return bytesCoder{} }

func (bytesCoder) String() string  { return "beam:coder:bytes:v1" }
func (bytesCoder) Injective() bool { return true }

func (bytesCoder) Append(dst, v []byte) ([]byte, error) {
	return append(binary.AppendUvarint(dst, uint64(len(v))), v...), nil
}

func (c bytesCoder) Decode(src []byte) (v, rest []byte, err error) {
	data, rest, err := lengthPrefixed(c, src)
	if err != nil || len(data) == 0 {
		return nil, rest, err
	}
	return bytes.Clone(data), rest, nil
}

type stringCoder struct{}

// String returns Beam's coder for text, beam:coder:string_utf8:v1: a VarInt length in bytes and the text in UTF-8. Text that
// is not valid UTF-8 is refused both ways, because other languages would silently change it; use [Bytes] for that.
func String() Coder[string] { return stringCoder{} }

func (stringCoder) String() string  { return "beam:coder:string_utf8:v1" }
func (stringCoder) Injective() bool { return true }

func (c stringCoder) Append(dst []byte, v string) ([]byte, error) {
	if !utf8.ValidString(v) {
		return dst, fmt.Errorf("%v: text is not valid UTF-8; use coder.Bytes", c)
	}
	return append(binary.AppendUvarint(dst, uint64(len(v))), v...), nil
}

func (c stringCoder) Decode(src []byte) (v string, rest []byte, err error) {
	data, rest, err := lengthPrefixed(c, src)
	if err != nil {
		return "", nil, err
	}
	if !utf8.Valid(data) {
		return "", nil, corrupt(c, len(src)-len(rest)-len(data), "text is not valid UTF-8")
	}
	return string(data), rest, nil
}

type boolCoder struct{}

// Bool returns Beam's coder for booleans, beam:coder:bool:v1: a byte 0 or 1.
func Bool() Coder[bool] { return boolCoder{} }

func (boolCoder) String() string  { return "beam:coder:bool:v1" }
func (boolCoder) Injective() bool { return true }

func (boolCoder) Append(dst []byte, v bool) ([]byte, error) {
	if v {
		return append(dst, 1), nil
	}
	return append(dst, 0), nil
}

func (c boolCoder) Decode(src []byte) (v bool, rest []byte, err error) {
	if len(src) == 0 {
		return false, nil, corrupt(c, 0, "no bytes left")
	}
	if src[0] > 1 {
		return false, nil, corrupt(c, 0, "a boolean of %d", src[0])
	}
	return src[0] == 1, src[1:], nil
}

type varIntCoder struct{}

// VarInt returns Beam's coder for integers, beam:coder:varint:v1: the number as uint64 in LEB128, 1 to 10 bytes; a negative
// number takes 10.
func VarInt() Coder[int64] { return varIntCoder{} }

func (varIntCoder) String() string  { return "beam:coder:varint:v1" }
func (varIntCoder) Injective() bool { return true }

func (varIntCoder) Append(dst []byte, v int64) ([]byte, error) {
	return binary.AppendUvarint(dst, uint64(v)), nil
}

func (c varIntCoder) Decode(src []byte) (v int64, rest []byte, err error) {
	u, n, bad := wire.Uvarint(src)
	if bad != "" {
		return 0, nil, corrupt(c, 0, "%s", bad)
	}
	return int64(u), src[n:], nil
}

type doubleCoder struct{}

// Double returns Beam's coder for floating-point numbers, beam:coder:double:v1: IEEE 754, 8 bytes big endian. The bits of a
// NaN survive. It is not injective: 0 == -0, and NaN != NaN.
func Double() Coder[float64] { return doubleCoder{} }

func (doubleCoder) String() string  { return "beam:coder:double:v1" }
func (doubleCoder) Injective() bool { return false }

func (doubleCoder) Append(dst []byte, v float64) ([]byte, error) {
	return binary.BigEndian.AppendUint64(dst, math.Float64bits(v)), nil
}

func (c doubleCoder) Decode(src []byte) (v float64, rest []byte, err error) {
	if len(src) < 8 {
		return 0, nil, corrupt(c, 0, "8 bytes wanted, %d left", len(src))
	}
	return math.Float64frombits(binary.BigEndian.Uint64(src)), src[8:], nil
}

type eventTimeCoder struct{}

// EventTime returns the coder for event times as Beam writes them inside of windows and headers: the milliseconds in 8 bytes
// big endian with the sign bit flipped, so that bytes sort as times do. It has no URN of its own.
func EventTime() Coder[event.Time] { return eventTimeCoder{} }

func (eventTimeCoder) String() string  { return "event.Time" }
func (eventTimeCoder) Injective() bool { return true }

func (eventTimeCoder) Append(dst []byte, v event.Time) ([]byte, error) {
	return binary.BigEndian.AppendUint64(dst, uint64(v)^wire.SignFlip), nil
}

func (c eventTimeCoder) Decode(src []byte) (v event.Time, rest []byte, err error) {
	if len(src) < 8 {
		return 0, nil, corrupt(c, 0, "8 bytes wanted, %d left", len(src))
	}
	return event.Time(binary.BigEndian.Uint64(src) ^ wire.SignFlip), src[8:], nil
}

type intervalWindowCoder struct{}

// IntervalWindow returns Beam's coder for windows with two ends, beam:coder:interval_window:v1: the end (exclusive) as
// [EventTime] writes it, and the span as a VarInt of milliseconds. Windows with a label, the global window among them, are
// refused by Append: the form has no place for it.
func IntervalWindow() Coder[event.Window] { return intervalWindowCoder{} }

func (intervalWindowCoder) String() string  { return "beam:coder:interval_window:v1" }
func (intervalWindowCoder) Injective() bool { return true }

func (c intervalWindowCoder) Append(dst []byte, v event.Window) ([]byte, error) {
	if v.Label() != "" {
		return dst, fmt.Errorf("%v: the window %v has a label, which this form cannot hold", c, v)
	}
	dst = binary.BigEndian.AppendUint64(dst, uint64(v.End)^wire.SignFlip)
	return binary.AppendUvarint(dst, uint64(v.End-v.Start)), nil
}

func (c intervalWindowCoder) Decode(src []byte) (v event.Window, rest []byte, err error) {
	end, rest, err := EventTime().Decode(src)
	if err != nil {
		return v, nil, corrupt(c, 0, "8 bytes wanted, %d left", len(src))
	}
	span, n, bad := wire.Uvarint(rest)
	if bad != "" {
		return v, nil, corrupt(c, 8, "%s", bad)
	}
	return event.Window{Start: end - event.Time(span), End: end}, rest[n:], nil
}

type globalWindowCoder struct{}

// GlobalWindow returns Beam's coder for the global window, beam:coder:global_window:v1: no bytes at all. Any other window is
// refused by Append.
func GlobalWindow() Coder[event.Window] { return globalWindowCoder{} }

func (globalWindowCoder) String() string  { return "beam:coder:global_window:v1" }
func (globalWindowCoder) Injective() bool { return true }

func (c globalWindowCoder) Append(dst []byte, v event.Window) ([]byte, error) {
	if v != event.Global() {
		return dst, fmt.Errorf("%v: %v is not the global window", c, v)
	}
	return dst, nil
}

func (globalWindowCoder) Decode(src []byte) (v event.Window, rest []byte, err error) {
	return event.Global(), src, nil
}
