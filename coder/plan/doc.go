// Package plan handles values of a type by a plan that is compiled once: encode, decode, hash, size, clone. Reflection looks
// at the type when the plan is made; hashing and encoding keys then needs neither reflection nor allocation.
//
// It is the only package of the project that uses unsafe, to read and write fields by their offset, unexported ones too.
//
// The encoding is Beam's nested one. Booleans are a byte; signed integers of any width Beam's VarInt (a negative one takes
// 10 bytes), unsigned ones LEB128; float64 and float32 8 and 4 bytes big endian; strings and []byte a VarInt length and the
// bytes; slices and arrays an int32 count, big endian, and the elements; structs Beam's row: VarInt number of fields, a 0
// for "none is null", the fields in order, without those named "_"; maps an int32 count and keys and values in the order of
// the encoded keys; pointers Beam's nullable: 0, or 1 and the value; time.Time seconds and nanoseconds since the Unix epoch
// as VarInts; [event.Time] 8 bytes that sort like the time. Structs with MarshalBinary and UnmarshalBinary of their own are
// VarInt length and what MarshalBinary gives.
//
// Invariants:
//   - Decode(Append(nil, v)) is v, except that nil and empty slices and maps are the same and decode as nil, that times are
//     in UTC without a monotonic reading, and that what two pointers share is doubled.
//   - Decode takes only what Append writes (but maps in any order), never panics, and compares a declared length with
//     what is there before allocating anything for it.
//   - Hash is a function of the encoding's bytes alone and never changes: state is placed by it.
//   - For a key plan, v == w if and only if their encodings are equal bytes.
//   - Nothing that a Plan returns shares memory with what it was given, but where [Plan.Clone] says so.
package plan
