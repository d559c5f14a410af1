package plan

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"slices"
	"unsafe"
)

// The functions in this file run the ops that need reflection, and leave the others to those of direct.go.

var errTooMany = errors.New("more elements than an int32 can count")

// elements returns where the elements of the slice at q are, and how many. Slices of all types are alike in memory.
func elements(q unsafe.Pointer) (base unsafe.Pointer, n int) {
	s := *(*[]struct{})(q)
	return unsafe.Pointer(unsafe.SliceData(s)), len(s)
}

func appendAny(dst []byte, p unsafe.Pointer, ops []op) ([]byte, error) {
	var err error
	for i := range ops {
		o := &ops[i]
		q := unsafe.Add(p, o.offset)
		switch o.kind {
		case array:
			dst, err = appendEach(dst, q, o.n, o.elem)
		case slice:
			base, n := elements(q)
			if n > math.MaxInt32 {
				return nil, errTooMany
			}
			dst, err = appendEach(binary.BigEndian.AppendUint32(dst, uint32(n)), base, n, o.elem)
		case pointer:
			to := *(*unsafe.Pointer)(q)
			if to == nil {
				dst = append(dst, 0)
				continue
			}
			dst, err = appendAny(append(dst, 1), to, o.elem.ops)
		case mapping:
			dst, err = appendMap(dst, q, o)
		case marshaler:
			var enc []byte
			enc, err = reflect.NewAt(o.typ, q).Interface().(encoding.BinaryMarshaler).MarshalBinary()
			dst = append(binary.AppendUvarint(dst, uint64(len(enc))), enc...)
		default:
			dst = appendDirect(dst, p, ops[i:i+1])
		}
		if err != nil {
			return nil, err
		}
	}
	return dst, nil
}

func appendEach(dst []byte, base unsafe.Pointer, n int, elem *program) ([]byte, error) {
	var err error
	for i := range n {
		if dst, err = appendAny(dst, unsafe.Add(base, uintptr(i)*elem.size), elem.ops); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

func appendMap(dst []byte, q unsafe.Pointer, o *op) ([]byte, error) {
	m := reflect.NewAt(o.typ, q).Elem()
	if m.Len() > math.MaxInt32 {
		return nil, errTooMany
	}
	type pair struct{ key, value []byte }
	pairs := make([]pair, 0, m.Len())
	key, value := reflect.New(o.typ.Key()), reflect.New(o.typ.Elem())
	for it := m.MapRange(); it.Next(); {
		key.Elem().SetIterKey(it)
		value.Elem().SetIterValue(it)
		v, err := appendAny(nil, value.UnsafePointer(), o.elem.ops)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, pair{appendDirect(nil, key.UnsafePointer(), o.key.ops), v})
	}
	slices.SortFunc(pairs, func(a, b pair) int { return bytes.Compare(a.key, b.key) })
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(pairs)))
	for _, p := range pairs {
		dst = append(append(dst, p.key...), p.value...)
	}
	return dst, nil
}

// cloneAny is cloneDirect for all ops.
func cloneAny(p unsafe.Pointer, ops []op) {
	for i := range ops {
		o := &ops[i]
		q := unsafe.Add(p, o.offset)
		switch o.kind {
		case array:
			cloneEach(q, o.n, o.elem)
		case slice:
			s := reflect.NewAt(o.typ, q).Elem()
			if s.IsNil() {
				continue
			}
			c := reflect.MakeSlice(o.typ, s.Len(), s.Len())
			reflect.Copy(c, s)
			cloneEach(c.UnsafePointer(), c.Len(), o.elem)
			s.Set(c)
		case pointer:
			from := reflect.NewAt(o.typ, q).Elem()
			if from.IsNil() {
				continue
			}
			c := reflect.New(o.typ.Elem())
			c.Elem().Set(from.Elem())
			cloneAny(c.UnsafePointer(), o.elem.ops)
			from.Set(c.Convert(o.typ))
		case mapping:
			cloneMap(q, o)
		case marshaler:
			cloneMarshaler(q, o)
		default:
			cloneDirect(p, ops[i:i+1])
		}
	}
}

func cloneEach(base unsafe.Pointer, n int, elem *program) {
	for i := range n {
		cloneAny(unsafe.Add(base, uintptr(i)*elem.size), elem.ops)
	}
}

func cloneMap(q unsafe.Pointer, o *op) {
	m := reflect.NewAt(o.typ, q).Elem()
	if m.IsNil() {
		return
	}
	c := reflect.MakeMapWithSize(o.typ, m.Len())
	key, value := reflect.New(o.typ.Key()), reflect.New(o.typ.Elem())
	for it := m.MapRange(); it.Next(); {
		key.Elem().SetIterKey(it)
		value.Elem().SetIterValue(it)
		cloneDirect(key.UnsafePointer(), o.key.ops)
		cloneAny(value.UnsafePointer(), o.elem.ops)
		c.SetMapIndex(key.Elem(), value.Elem())
	}
	m.Set(c)
}

func cloneMarshaler(q unsafe.Pointer, o *op) {
	from := reflect.NewAt(o.typ, q)
	enc, err := from.Interface().(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		return
	}
	c := reflect.New(o.typ)
	if c.Interface().(encoding.BinaryUnmarshaler).UnmarshalBinary(bytes.Clone(enc)) == nil {
		from.Elem().Set(c.Elem())
	}
}

// decodeAny is decodeDirect for all ops.
func decodeAny(r *reader, p unsafe.Pointer, ops []op) {
	for i := range ops {
		o := &ops[i]
		q := unsafe.Add(p, o.offset)
		switch o.kind {
		case array:
			decodeEach(r, q, o.n, o.elem)
		case slice:
			if n := r.count(o.elem.min); n > 0 {
				s := reflect.MakeSlice(o.typ, n, n)
				decodeEach(r, s.UnsafePointer(), n, o.elem)
				reflect.NewAt(o.typ, q).Elem().Set(s)
			}
		case pointer:
			if r.unsigned(1) == 1 {
				to := reflect.New(o.typ.Elem())
				decodeAny(r, to.UnsafePointer(), o.elem.ops)
				reflect.NewAt(o.typ, q).Elem().Set(to.Convert(o.typ))
			}
		case mapping:
			decodeMap(r, q, o)
		case marshaler:
			at := r.off
			enc := r.take(r.uvarint())
			if r.bad != "" {
				return
			}
			u := reflect.NewAt(o.typ, q).Interface().(encoding.BinaryUnmarshaler)
			if err := u.UnmarshalBinary(bytes.Clone(enc)); err != nil {
				r.off = at
				r.fail(err.Error())
			}
		default:
			decodeDirect(r, p, ops[i:i+1])
		}
		if r.bad != "" {
			return
		}
	}
}

// count reads an int32 count of elements of at least min bytes each, which must be able to be there.
func (r *reader) count(min int) int {
	at := r.off
	n := int64(r.uint32())
	if n*int64(min) > int64(r.left()) {
		r.off = at
		r.fail("a count of more elements than the bytes can hold")
		return 0
	}
	return int(n)
}

func decodeEach(r *reader, base unsafe.Pointer, n int, elem *program) {
	for i := 0; i < n && r.bad == ""; i++ {
		decodeAny(r, unsafe.Add(base, uintptr(i)*elem.size), elem.ops)
	}
}

func decodeMap(r *reader, q unsafe.Pointer, o *op) {
	n := r.count(o.key.min + o.elem.min)
	if n == 0 {
		return
	}
	m := reflect.MakeMap(o.typ)
	key, value := reflect.New(o.typ.Key()), reflect.New(o.typ.Elem())
	for i := 0; i < n && r.bad == ""; i++ {
		key.Elem().SetZero()
		value.Elem().SetZero()
		at := r.off
		decodeDirect(r, key.UnsafePointer(), o.key.ops)
		decodeAny(r, value.UnsafePointer(), o.elem.ops)
		if r.bad != "" {
			return
		}
		m.SetMapIndex(key.Elem(), value.Elem())
		if m.Len() != i+1 {
			r.off = at
			r.fail("a key of a map comes twice")
		}
	}
	reflect.NewAt(o.typ, q).Elem().Set(m)
}
