package plan

import (
	"encoding"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/levadaflow/levada/event"
)

// kind is what an op does. Those up to array are direct if their parts are: they need no reflection.
type kind uint8

const (
	literal kind = iota // constant bytes; nothing in memory
	boolean
	int8s
	int16s
	int32s
	int64s
	uint8s
	uint16s
	uint32s
	uint64s
	float32s
	float64s
	text
	byteSlice
	eventTime
	stdTime
	array
	slice
	mapping
	pointer
	marshaler
)

// short reports whether the kind has a hash function of its own.
func (k kind) short() bool { return k >= boolean && k <= uint64s || k == text }

// op handles one field, at an offset from where the value begins. A plan is a flat list of them: structs are dissolved.
type op struct {
	kind   kind
	offset uintptr
	lit    uint64       // of literal: the bytes, the first lowest
	n      int          // of literal: how many bytes, up to 8; of array: how many elements
	elem   *program     // of array, slice, mapping (the values) and pointer
	key    *program     // of mapping
	typ    reflect.Type // of slice, mapping, pointer: the type itself; of marshaler: likewise
}

type program struct {
	ops       []op
	size      uintptr // of the value in memory
	min       int     // the least number of bytes that an encoding can have, at least 1
	direct    bool
	injective bool
}

type builder struct {
	key   bool
	stack []reflect.Type // being compiled, to find recursive types
}

var (
	eventTimeType   = reflect.TypeFor[event.Time]()
	stdTimeType     = reflect.TypeFor[time.Time]()
	marshalerType   = reflect.TypeFor[encoding.BinaryMarshaler]()
	unmarshalerType = reflect.TypeFor[encoding.BinaryUnmarshaler]()
)

var scalars = map[reflect.Kind]kind{
	reflect.Bool: boolean, reflect.String: text,
	reflect.Int8: int8s, reflect.Int16: int16s, reflect.Int32: int32s, reflect.Int64: int64s,
	reflect.Uint8: uint8s, reflect.Uint16: uint16s, reflect.Uint32: uint32s, reflect.Uint64: uint64s,
	reflect.Float32: float32s, reflect.Float64: float64s,
}

// remedies are for kinds that are refused in any case.
var remedies = map[reflect.Kind]string{
	reflect.Interface:     "use a concrete type, or give a coder",
	reflect.Func:          "functions cannot be encoded: leave it out",
	reflect.Chan:          "channels cannot be encoded: leave it out",
	reflect.Complex64:     "use two floats, or give a coder",
	reflect.Complex128:    "use two floats, or give a coder",
	reflect.Uintptr:       "use uint64",
	reflect.UnsafePointer: "an address means nothing elsewhere: leave it out",
}

// keyRemedies are for kinds that are refused in keys only.
var keyRemedies = map[reflect.Kind]string{
	reflect.Float32: "0 == -0 and NaN != NaN; use an integer of a fixed unit",
	reflect.Float64: "0 == -0 and NaN != NaN; use an integer of a fixed unit",
	reflect.Pointer: "== compares addresses; use the value",
	reflect.Slice:   "use a string or an array",
	reflect.Map:     "use a struct",
}

func (b *builder) compile(t reflect.Type, path string) (*program, error) {
	pr := &program{size: t.Size(), direct: true, injective: true}
	if err := b.add(pr, t, 0, path); err != nil {
		return nil, err
	}
	return pr, nil
}

func (b *builder) refuse(path string, t reflect.Type, remedy string) error {
	base := ErrValueType
	if b.key {
		base = ErrKeyType
	}
	if path == t.String() {
		return fmt.Errorf("%w: %s; %s", base, path, remedy)
	}
	return fmt.Errorf("%w: %s: %v; %s", base, path, t, remedy)
}

// add appends to pr what handles a t at the offset.
func (b *builder) add(pr *program, t reflect.Type, offset uintptr, path string) error {
	if slices.Contains(b.stack, t) {
		return b.refuse(path, t, "the type contains itself; give a coder")
	}
	b.stack = append(b.stack, t)
	defer func() { b.stack = b.stack[:len(b.stack)-1] }()
	switch {
	case t == eventTimeType:
		pr.add(op{kind: eventTime, offset: offset}, 8)
		return nil
	case t == stdTimeType && b.key:
		return b.refuse(path, t, "use event.Time or int64 milliseconds")
	case t == stdTimeType:
		pr.add(op{kind: stdTime, offset: offset}, 2)
		pr.injective = false
		return nil
	}
	k := t.Kind()
	if remedy, ok := remedies[k]; ok {
		return b.refuse(path, t, remedy)
	}
	if remedy, ok := keyRemedies[k]; ok {
		if b.key {
			return b.refuse(path, t, remedy)
		}
		pr.injective = false
	}
	switch k {
	case reflect.Struct:
		return b.addStruct(pr, t, offset, path)
	case reflect.Array, reflect.Slice, reflect.Pointer, reflect.Map:
		return b.addContainer(pr, t, offset, path)
	}
	pr.add(op{kind: scalar(t), offset: offset}, minScalar(scalar(t)))
	return nil
}

// scalar returns the kind for a type without parts; int and uint are as wide as the machine's.
func scalar(t reflect.Type) kind {
	switch t.Kind() {
	case reflect.Int:
		return map[uintptr]kind{4: int32s, 8: int64s}[t.Size()]
	case reflect.Uint:
		return map[uintptr]kind{4: uint32s, 8: uint64s}[t.Size()]
	}
	return scalars[t.Kind()]
}

func minScalar(k kind) int {
	switch k {
	case float32s:
		return 4
	case float64s:
		return 8
	}
	return 1
}

func (pr *program) add(o op, least int) {
	pr.ops = append(pr.ops, o)
	pr.min = min(pr.min+least, math.MaxInt32)
	switch o.kind {
	case slice, mapping, pointer, marshaler:
		pr.direct = false
	case array:
		pr.direct = pr.direct && o.elem.direct
	}
	if o.elem != nil {
		pr.injective = pr.injective && o.elem.injective
	}
}

// literal adds constant bytes, at most 8 at a time.
func (pr *program) literal(bytes []byte) {
	for chunk := range slices.Chunk(bytes, 8) {
		var word [8]byte
		copy(word[:], chunk)
		pr.add(op{kind: literal, lit: binary.LittleEndian.Uint64(word[:]), n: len(chunk)}, len(chunk))
	}
}

func (b *builder) addStruct(pr *program, t reflect.Type, offset uintptr, path string) error {
	if !b.key && marshals(t) {
		pr.add(op{kind: marshaler, offset: offset, typ: t}, 1)
		pr.injective = false
		return nil
	}
	var fields []reflect.StructField
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Name != "_" {
			fields = append(fields, f)
			continue
		}
		if b.key {
			return b.refuse(path+"._", f.Type, "== ignores blank fields; leave it out")
		}
	}
	pr.literal(append(binary.AppendUvarint(nil, uint64(len(fields))), 0))
	for _, f := range fields {
		if err := b.add(pr, f.Type, offset+f.Offset, path+"."+f.Name); err != nil {
			return err
		}
	}
	return nil
}

// marshals reports whether t marshals itself. Methods that it may only have by embedding, as a struct with an embedded
// time.Time has, do not count: they would drop the other fields.
func marshals(t reflect.Type) bool {
	if p := reflect.PointerTo(t); !p.Implements(marshalerType) || !p.Implements(unmarshalerType) {
		return false
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous && (f.Type.Implements(marshalerType) || reflect.PointerTo(f.Type).Implements(marshalerType) ||
			f.Type.Implements(unmarshalerType) || reflect.PointerTo(f.Type).Implements(unmarshalerType)) {
			return false
		}
	}
	return true
}

func (b *builder) addContainer(pr *program, t reflect.Type, offset uintptr, path string) error {
	o := op{offset: offset, typ: t}
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
		o.kind = byteSlice
		pr.add(o, 1)
		return nil
	}
	elemPath := path + "[]"
	if t.Kind() == reflect.Pointer {
		elemPath = "(*" + path + ")"
	}
	var err error
	if o.elem, err = b.compile(t.Elem(), elemPath); err != nil {
		return err
	}
	switch t.Kind() {
	case reflect.Pointer:
		o.kind = pointer
		pr.add(o, 1)
	case reflect.Slice:
		o.kind = slice
		pr.add(o, 4)
	case reflect.Array:
		o.kind, o.n = array, t.Len()
		if o.n > math.MaxInt32 {
			return b.refuse(path, t, "it has too many elements for an int32")
		}
		pr.literal(binary.BigEndian.AppendUint32(nil, uint32(o.n)))
		pr.add(o, min(o.n*o.elem.min, math.MaxInt32))
	case reflect.Map:
		o.kind = mapping
		keys := builder{key: true, stack: b.stack}
		if o.key, err = keys.compile(t.Key(), path+"[key]"); err != nil {
			return fmt.Errorf("%w: %w", ErrValueType, err)
		}
		pr.add(o, 4)
	}
	return nil
}

// pointers reports whether values of t hold references.
func pointers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if pointers(t.Field(i).Type) {
				return true
			}
		}
		return false
	case reflect.Array:
		return t.Len() > 0 && pointers(t.Elem())
	case reflect.String, reflect.Slice, reflect.Pointer, reflect.Map, reflect.Interface, reflect.Func, reflect.Chan,
		reflect.UnsafePointer:
		return true
	}
	return false
}
