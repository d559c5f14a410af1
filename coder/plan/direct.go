package plan

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"time"
	"unsafe"

	"github.com/levadaflow/levada/coder/internal/wire"
)

// The functions in this file run the ops that need no reflection. They call each other directly and never keep p, so that
// the values, and the buffers, that callers pass can stay on the stack.

// load returns the integer, boolean or float at q as the number that is encoded; signed ones are extended.
func load(k kind, q unsafe.Pointer) uint64 {
	switch k {
	case boolean, uint8s:
		return uint64(*(*uint8)(q))
	case int8s:
		return uint64(*(*int8)(q))
	case int16s:
		return uint64(*(*int16)(q))
	case int32s:
		return uint64(*(*int32)(q))
	case uint16s:
		return uint64(*(*uint16)(q))
	case uint32s, float32s:
		return uint64(*(*uint32)(q))
	}
	return *(*uint64)(q)
}

func appendDirect(dst []byte, p unsafe.Pointer, ops []op) []byte {
	for i := range ops {
		o := &ops[i]
		q := unsafe.Add(p, o.offset)
		switch o.kind {
		case literal:
			var word [8]byte
			binary.LittleEndian.PutUint64(word[:], o.lit)
			dst = append(dst, word[:o.n]...)
		case text:
			s := *(*string)(q)
			dst = append(binary.AppendUvarint(dst, uint64(len(s))), s...)
		case byteSlice:
			s := *(*[]byte)(q)
			dst = append(binary.AppendUvarint(dst, uint64(len(s))), s...)
		case float32s:
			dst = binary.BigEndian.AppendUint32(dst, *(*uint32)(q))
		case float64s:
			dst = binary.BigEndian.AppendUint64(dst, *(*uint64)(q))
		case eventTime:
			dst = binary.BigEndian.AppendUint64(dst, *(*uint64)(q)^wire.SignFlip)
		case stdTime:
			t := *(*time.Time)(q)
			dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(t.Unix())), uint64(t.Nanosecond()))
		case array:
			for i := range o.n {
				dst = appendDirect(dst, unsafe.Add(q, uintptr(i)*o.elem.size), o.elem.ops)
			}
		default:
			dst = binary.AppendUvarint(dst, load(o.kind, q))
		}
	}
	return dst
}

func hashDirect(d digest, p unsafe.Pointer, ops []op) digest {
	for i := range ops {
		o := &ops[i]
		q := unsafe.Add(p, o.offset)
		switch o.kind {
		case literal:
			d = d.put(o.lit, uint(o.n))
		case text:
			s := *(*string)(q)
			d = d.uvarint(uint64(len(s))).bytes(unsafe.Slice(unsafe.StringData(s), len(s)))
		case byteSlice:
			s := *(*[]byte)(q)
			d = d.uvarint(uint64(len(s))).bytes(s)
		case float32s, float64s, eventTime, stdTime:
			d = hashScratch(d, p, ops[i:i+1])
		case array:
			for i := range o.n {
				d = hashDirect(d, unsafe.Add(q, uintptr(i)*o.elem.size), o.elem.ops)
			}
		default:
			d = d.uvarint(load(o.kind, q))
		}
	}
	return d
}

// hashScratch is for kinds of at most 20 bytes.
func hashScratch(d digest, p unsafe.Pointer, ops []op) digest {
	var buf [20]byte
	return d.bytes(appendDirect(buf[:0], p, ops))
}

func sizeDirect(p unsafe.Pointer, ops []op) int {
	size := 0
	for i := range ops {
		o := &ops[i]
		q := unsafe.Add(p, o.offset)
		switch o.kind {
		case literal:
			size += o.n
		case text:
			n := len(*(*string)(q))
			size += wire.UvarintLen(uint64(n)) + n
		case byteSlice:
			n := len(*(*[]byte)(q))
			size += wire.UvarintLen(uint64(n)) + n
		case float32s:
			size += 4
		case float64s, eventTime:
			size += 8
		case stdTime:
			t := *(*time.Time)(q)
			size += wire.UvarintLen(uint64(t.Unix())) + wire.UvarintLen(uint64(t.Nanosecond()))
		case array:
			for i := range o.n {
				size += sizeDirect(unsafe.Add(q, uintptr(i)*o.elem.size), o.elem.ops)
			}
		default:
			size += wire.UvarintLen(load(o.kind, q))
		}
	}
	return size
}

// cloneDirect replaces what the value at p refers to by copies.
func cloneDirect(p unsafe.Pointer, ops []op) {
	for i := range ops {
		o := &ops[i]
		q := unsafe.Add(p, o.offset)
		switch o.kind {
		case text:
			*(*string)(q) = strings.Clone(*(*string)(q))
		case byteSlice:
			*(*[]byte)(q) = bytes.Clone(*(*[]byte)(q))
		case array:
			for i := range o.n {
				cloneDirect(unsafe.Add(q, uintptr(i)*o.elem.size), o.elem.ops)
			}
		}
	}
}

// reader reads src from off on. After the first fault bad says what it is, off is where, and everything read is zero.
type reader struct {
	src []byte
	off int
	bad string
}

func (r *reader) left() int { return len(r.src) - r.off }

func (r *reader) fail(reason string) {
	if r.bad == "" {
		r.bad = reason
	}
}

// take returns the next n bytes, not copied, or nil.
func (r *reader) take(n uint64) []byte {
	if r.bad != "" {
		return nil
	}
	if n > uint64(r.left()) {
		r.fail("the bytes end too early")
		return nil
	}
	b := r.src[r.off : r.off+int(n)]
	r.off += int(n)
	return b
}

func (r *reader) uvarint() uint64 {
	if r.bad != "" {
		return 0
	}
	v, n, bad := wire.Uvarint(r.src[r.off:])
	r.bad = bad
	r.off += n
	return v
}

func (r *reader) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

// signed reads a VarInt that must fit into the given number of bits.
func (r *reader) signed(bits uint) int64 {
	at := r.off
	v := int64(r.uvarint())
	if s := 64 - bits; v<<s>>s != v {
		r.off = at
		r.fail("an integer exceeds its type")
		return 0
	}
	return v
}

// unsigned is signed for unsigned numbers.
func (r *reader) unsigned(bits uint) uint64 {
	at := r.off
	v := r.uvarint()
	if bits < 64 && v>>bits != 0 {
		r.off = at
		r.fail("an integer exceeds its type")
		return 0
	}
	return v
}

// decodeDirect reads into the value at p, which is zero before.
func decodeDirect(r *reader, p unsafe.Pointer, ops []op) {
	for i := range ops {
		o := &ops[i]
		q := unsafe.Add(p, o.offset)
		switch o.kind {
		case literal:
			r.literal(o)
		case text:
			*(*string)(q) = string(r.take(r.uvarint()))
		case byteSlice:
			*(*[]byte)(q) = append([]byte(nil), r.take(r.uvarint())...)
		case array:
			for i := 0; i < o.n && r.bad == ""; i++ {
				decodeDirect(r, unsafe.Add(q, uintptr(i)*o.elem.size), o.elem.ops)
			}
		default:
			decodeScalar(r, q, o.kind)
		}
		if r.bad != "" {
			return
		}
	}
}

func (r *reader) literal(o *op) {
	var word [8]byte
	at := r.off
	copy(word[:], r.take(uint64(o.n)))
	if r.bad == "" && binary.LittleEndian.Uint64(word[:]) != o.lit {
		r.off = at
		r.fail("the number of fields or elements is another")
	}
}

func decodeScalar(r *reader, q unsafe.Pointer, k kind) {
	switch k {
	case boolean:
		*(*bool)(q) = r.unsigned(1) == 1
	case int8s:
		*(*int8)(q) = int8(r.signed(8))
	case int16s:
		*(*int16)(q) = int16(r.signed(16))
	case int32s:
		*(*int32)(q) = int32(r.signed(32))
	case int64s:
		*(*int64)(q) = r.signed(64)
	case uint8s:
		*(*uint8)(q) = uint8(r.unsigned(8))
	case uint16s:
		*(*uint16)(q) = uint16(r.unsigned(16))
	case uint32s:
		*(*uint32)(q) = uint32(r.unsigned(32))
	case uint64s:
		*(*uint64)(q) = r.unsigned(64)
	case float32s:
		*(*float32)(q) = math.Float32frombits(r.uint32())
	case float64s:
		*(*float64)(q) = math.Float64frombits(r.uint64())
	case eventTime:
		*(*uint64)(q) = r.uint64() ^ wire.SignFlip
	case stdTime:
		sec, nanos := r.signed(64), r.unsigned(64)
		if nanos >= 1e9 {
			r.fail("a time of more than 999,999,999 nanoseconds")
			return
		}
		*(*time.Time)(q) = time.Unix(sec, int64(nanos)).UTC()
	}
}
