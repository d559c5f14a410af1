package plan

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"unsafe"

	"github.com/levadaflow/levada/coder"
)

// KeyGroups is the number of groups that keys are divided into. It is a constant of the stored state.
const KeyGroups = 1024

// KeyGroup returns the group, in [0, KeyGroups), of a key with this hash: its top 10 bits, so that a table can use the low
// ones, which say nothing about the group.
func KeyGroup(hash uint64) int { return int(hash >> 54) }

var (
	// ErrKeyType is wrapped by the errors of [ForKey]. Their text is the path to what is wrong, its type and the remedy:
	// "type cannot be a key: Event.At: time.Time; use event.Time or int64 milliseconds".
	ErrKeyType = errors.New("type cannot be a key")
	// ErrValueType is wrapped by the errors of [For], with the same text.
	ErrValueType = errors.New("type cannot be encoded")
)

// Plan knows how to handle values of type T. It is immutable and safe for use by several goroutines. It is a
// [coder.Coder] itself and can be a component of one.
type Plan[T any] struct {
	ops       []op
	direct    bool           // the ops need no reflection
	only      kind           // of the ops if there is a single one with its own hash function; else literal
	user      coder.Coder[T] // in the place of ops, from WithCoder
	fixed     bool
	injective bool
}

// For makes a plan for values: whatever is exchanged between tasks or kept. T is made of booleans, numbers, strings, slices,
// arrays, structs, maps (with keys that [ForKey] takes), pointers, time.Time, event.Time and structs that are both
// encoding.BinaryMarshaler and encoding.BinaryUnmarshaler. Unexported fields are included. Interfaces, functions, channels,
// complex numbers, uintptr and recursive types are refused with an error that wraps [ErrValueType]; the remedy is another
// type or [WithCoder].
func For[T any]() (*Plan[T], error) { return compile[T](false) }

// ForKey makes a plan for keys: T is made of booleans, integers, strings, event.Time, arrays and structs, so that keys are
// equal if and only if their encodings are. Anything else is refused with an error that wraps [ErrKeyType].
func ForKey[T comparable]() (*Plan[T], error) { return compile[T](true) }

func compile[T any](key bool) (*Plan[T], error) {
	t := reflect.TypeFor[T]()
	b := builder{key: key}
	pr, err := b.compile(t, t.String())
	if err != nil {
		return nil, err
	}
	p := &Plan[T]{ops: pr.ops, direct: pr.direct, fixed: !pointers(t), injective: pr.injective}
	if len(p.ops) == 1 && p.ops[0].kind.short() {
		p.only = p.ops[0].kind
	}
	return p, nil
}

// WithCoder makes a plan that encodes by c, which must not be nil. Whether it is good for keys is up to c: see
// [Plan.Injective].
func WithCoder[T any](c coder.Coder[T]) *Plan[T] {
	return &Plan[T]{user: c, fixed: !pointers(reflect.TypeFor[T]()), injective: c.Injective()}
}

// Type returns T.
func (p *Plan[T]) Type() reflect.Type { return reflect.TypeFor[T]() }

// Fixed reports whether T holds no references, so that Clone is the identity.
func (p *Plan[T]) Fixed() bool { return p.fixed }

// Injective reports whether values are equal if and only if their encodings are. It holds for every plan of [ForKey].
func (p *Plan[T]) Injective() bool { return p.injective }

// String returns the name of the coder that was given, or the name of T.
func (p *Plan[T]) String() string {
	if p.user != nil {
		return p.user.String()
	}
	return p.Type().String()
}

// Append appends the encoding of v to dst and returns the extended buffer; it keeps neither. Errors come only from a user's
// coder or MarshalBinary and from slices and maps of 2^31 elements and more; dst is then returned as it was. v must not be
// changed meanwhile.
func (p *Plan[T]) Append(dst []byte, v T) ([]byte, error) {
	if p.direct {
		return appendDirect(dst, unsafe.Pointer(&v), p.ops), nil
	}
	return p.appendSlow(dst, v)
}

func (p *Plan[T]) appendSlow(dst []byte, v T) ([]byte, error) {
	var out []byte
	var err error
	if p.user != nil {
		out, err = p.user.Append(dst, v)
	} else {
		out, err = appendAny(dst, unsafe.Pointer(&v), p.ops)
	}
	if err != nil {
		return dst, fmt.Errorf("encoding %v: %w", p, err)
	}
	return out, nil
}

// Decode reads one value from the front of src and returns it with the bytes after it. The value shares no memory with src.
// The error is a *[coder.DecodeError], or what the user's coder gave.
func (p *Plan[T]) Decode(src []byte) (v T, rest []byte, err error) {
	if p.user != nil {
		return p.user.Decode(src)
	}
	r := reader{src: src}
	if p.direct {
		v = decodeValue[T](&r, p.ops)
	} else {
		v = p.decodeSlow(&r)
	}
	if r.bad != "" {
		var zero T
		return zero, nil, &coder.DecodeError{Coder: p.String(), Offset: r.off, Reason: r.bad}
	}
	return v, src[r.off:], nil
}

func decodeValue[T any](r *reader, ops []op) (v T) {
	decodeDirect(r, unsafe.Pointer(&v), ops)
	return v
}

func (p *Plan[T]) decodeSlow(r *reader) (v T) {
	decodeAny(r, unsafe.Pointer(&v), p.ops)
	return v
}

// Hash returns the hash of v's encoding. It is stable for ever, across processes and machines, and made for placement and
// tables: it resists no attacker. It allocates nothing for keys. A value whose coder fails has the hash of no bytes at all;
// Append tells.
func (p *Plan[T]) Hash(v T) uint64 {
	switch {
	case p.only == text:
		return hashText(*(*string)(unsafe.Pointer(&v)))
	case p.only != literal:
		return hashUvarint(load(p.only, unsafe.Pointer(&v)))
	case p.direct:
		return hashDirect(digest{state: seed}, unsafe.Pointer(&v), p.ops).sum()
	}
	buf := p.scratch(v)
	defer buffers.Put(buf)
	return digest{state: seed}.bytes(*buf).sum()
}

// Size returns the number of bytes that Append adds, exactly; 0 if Append fails. It is cheap for plans that need no
// reflection and otherwise as expensive as Append.
func (p *Plan[T]) Size(v T) int {
	if p.direct {
		return sizeDirect(unsafe.Pointer(&v), p.ops)
	}
	buf := p.scratch(v)
	defer buffers.Put(buf)
	return len(*buf)
}

// buffers are for encodings that do not leave the plan.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// scratch returns v's encoding in a buffer that the caller puts back.
func (p *Plan[T]) scratch(v T) *[]byte {
	buf := buffers.Get().(*[]byte)
	*buf, _ = p.appendSlow((*buf)[:0], v)
	return buf
}

// Clone returns a deep copy of v that pins no memory of v's: strings, slices, maps and pointers are copied. It returns v
// itself if T holds no references. Times keep their location. What is encoded by a user's coder or MarshalBinary is copied
// by encoding and decoding it, and shared if that fails.
func (p *Plan[T]) Clone(v T) T {
	switch {
	case p.fixed:
		return v
	case p.direct:
		cloneDirect(unsafe.Pointer(&v), p.ops)
		return v
	}
	return p.cloneSlow(v)
}

func (p *Plan[T]) cloneSlow(v T) T {
	if p.user == nil {
		cloneAny(unsafe.Pointer(&v), p.ops)
		return v
	}
	enc, err := p.user.Append(nil, v)
	if err != nil {
		return v
	}
	c, rest, err := p.user.Decode(enc)
	if err != nil || len(rest) != 0 {
		return v
	}
	return c
}
