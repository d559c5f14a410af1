package coder

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/levadaflow/levada/coder/internal/wire"
	"github.com/levadaflow/levada/event"
)

type kvCoder[K, V any] struct {
	key   Coder[K]
	value Coder[V]
}

// KV returns Beam's coder for keys with values, beam:coder:kv:v1: the key's encoding and then the value's.
func KV[K, V any](key Coder[K], value Coder[V]) Coder[event.KV[K, V]] {
	return kvCoder[K, V]{key, value}
}

func (c kvCoder[K, V]) String() string {
	return fmt.Sprintf("beam:coder:kv:v1[%v, %v]", c.key, c.value)
}

func (c kvCoder[K, V]) Injective() bool { return c.key.Injective() && c.value.Injective() }

func (c kvCoder[K, V]) Append(dst []byte, v event.KV[K, V]) ([]byte, error) {
	out, err := c.key.Append(dst, v.Key)
	if err != nil {
		return dst, fmt.Errorf("key: %w", err)
	}
	if out, err = c.value.Append(out, v.Value); err != nil {
		return dst, fmt.Errorf("value: %w", err)
	}
	return out, nil
}

func (c kvCoder[K, V]) Decode(src []byte) (v event.KV[K, V], rest []byte, err error) {
	key, rest, err := c.key.Decode(src)
	if err != nil {
		return v, nil, err
	}
	value, end, err := c.value.Decode(rest)
	if err != nil {
		return v, nil, Shift(err, len(src)-len(rest))
	}
	return event.KV[K, V]{Key: key, Value: value}, end, nil
}

type iterableCoder[T any] struct{ elem Coder[T] }

// unknownLength is the count of an iterable that comes in blocks.
const unknownLength = math.MaxUint32

// Iterable returns Beam's coder for sequences, beam:coder:iterable:v1: the count in 4 bytes big endian and the elements. It
// also decodes Beam's form for an unknown length: a count of -1, then blocks of a VarInt n > 0 and n elements, and a 0. nil
// and empty are the same and decode as nil.
//
// Elements that encode to no bytes ([GlobalWindow]) may not outnumber the bytes of the whole, both ways: otherwise a few
// bytes could ask for any amount of memory.
func Iterable[T any](elem Coder[T]) Coder[[]T] { return iterableCoder[T]{elem} }

func (c iterableCoder[T]) String() string  { return fmt.Sprintf("beam:coder:iterable:v1[%v]", c.elem) }
func (c iterableCoder[T]) Injective() bool { return c.elem.Injective() }

func (c iterableCoder[T]) Append(dst []byte, v []T) ([]byte, error) {
	if len(v) > math.MaxInt32 {
		return dst, fmt.Errorf("%v: %d elements are more than an int32 can count", c, len(v))
	}
	out := binary.BigEndian.AppendUint32(dst, uint32(len(v)))
	for i, e := range v {
		next, err := c.elem.Append(out, e)
		if err != nil {
			return dst, fmt.Errorf("element %d: %w", i, err)
		}
		out = next
	}
	if len(v) > len(out)-len(dst) {
		return dst, fmt.Errorf("%v: %d elements that encode to nothing", c, len(v))
	}
	return out, nil
}

func (c iterableCoder[T]) Decode(src []byte) (v []T, rest []byte, err error) {
	if len(src) < 4 {
		return nil, nil, corrupt(c, 0, "4 bytes wanted, %d left", len(src))
	}
	count := binary.BigEndian.Uint32(src)
	rest = src[4:]
	if count != unknownLength {
		return c.elements(src, rest, nil, uint64(count))
	}
	for {
		n, size, bad := wire.Uvarint(rest)
		if bad != "" {
			return nil, nil, corrupt(c, len(src)-len(rest), "%s", bad)
		}
		rest = rest[size:]
		if n == 0 {
			return v, rest, nil
		}
		if v, rest, err = c.elements(src, rest, v, n); err != nil {
			return nil, nil, err
		}
	}
}

// elements reads n elements from rest, which is the end of src, and appends them to v.
func (c iterableCoder[T]) elements(src, rest []byte, v []T, n uint64) ([]T, []byte, error) {
	if n > uint64(len(src)) {
		return nil, nil, corrupt(c, len(src)-len(rest), "%d elements where %d bytes are left", n, len(rest))
	}
	for range n {
		e, next, err := c.elem.Decode(rest)
		if err != nil {
			return nil, nil, Shift(err, len(src)-len(rest))
		}
		v, rest = append(v, e), next
		if len(v) > len(src)-len(rest) {
			return nil, nil, corrupt(c, len(src)-len(rest), "more elements than bytes")
		}
	}
	return v, rest, nil
}

type nullableCoder[T any] struct{ elem Coder[T] }

// Nullable returns Beam's coder for values that may be absent, beam:coder:nullable:v1: a byte 0 for nil, or a byte 1 and the
// value. It is not injective: == of pointers compares addresses.
func Nullable[T any](elem Coder[T]) Coder[*T] { return nullableCoder[T]{elem} }

func (c nullableCoder[T]) String() string  { return fmt.Sprintf("beam:coder:nullable:v1[%v]", c.elem) }
func (c nullableCoder[T]) Injective() bool { return false }

func (c nullableCoder[T]) Append(dst []byte, v *T) ([]byte, error) {
	if v == nil {
		return append(dst, 0), nil
	}
	out, err := c.elem.Append(append(dst, 1), *v)
	if err != nil {
		return dst, err
	}
	return out, nil
}

func (c nullableCoder[T]) Decode(src []byte) (v *T, rest []byte, err error) {
	if len(src) == 0 {
		return nil, nil, corrupt(c, 0, "no bytes left")
	}
	switch src[0] {
	case 0:
		return nil, src[1:], nil
	case 1:
		e, rest, err := c.elem.Decode(src[1:])
		if err != nil {
			return nil, nil, Shift(err, 1)
		}
		return &e, rest, nil
	}
	return nil, nil, corrupt(c, 0, "a null marker of %d", src[0])
}
