package plan

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"github.com/levadaflow/levada/coder/internal/wire"
)

// The hash takes bytes as 8-byte little-endian words, the last filled up with zeros, and folds each into the state by a
// multiplication to 128 bits; the number of bytes comes last. The constants are the first digits of pi, made odd. It must
// never change: TestHashPinned.
const (
	seed   = 0x243f6a8885a308d3
	mulKey = 0x13198a2e03707345
	mulEnd = 0xa4093822299f31d1
)

func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// digest hashes bytes that come in pieces. Its zero value is not ready: state is seed at first.
type digest struct {
	state uint64 // after the whole words
	word  uint64 // the n%8 bytes after them, the first lowest
	n     uint   // bytes so far
}

// put adds the n lowest bytes of w, 1 to 8; the others must be 0.
func (d digest) put(w uint64, n uint) digest {
	k := d.n % 8
	d.word |= w << (8 * k)
	d.n += n
	if k+n >= 8 {
		d.state = fold(d.state^d.word, mulKey)
		d.word = w >> (64 - 8*k) // 0 for k = 0
	}
	return d
}

func (d digest) bytes(b []byte) digest {
	k := 8 * (d.n % 8)
	d.n += uint(len(b)) &^ 7
	for len(b) >= 8 {
		w := binary.LittleEndian.Uint64(b)
		d.state = fold(d.state^(d.word|w<<k), mulKey)
		d.word = w >> (64 - k) // 0 for k = 0
		b = b[8:]
	}
	if len(b) == 0 {
		return d
	}
	return d.put(short(b), uint(len(b)))
}

// short returns fewer than 8 bytes, the first lowest.
func short(b []byte) uint64 {
	n := len(b)
	switch {
	case n >= 4: // two loads that may overlap
		return uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint32(b[n-4:]))<<(8*(n-4))
	case n > 0:
		return uint64(b[0]) | uint64(b[n/2])<<(8*(n/2)) | uint64(b[n-1])<<(8*(n-1))
	}
	return 0
}

// leb128 returns the encoding of v below 1<<56, 1 to 8 bytes, the first lowest.
func leb128(v uint64) (w uint64, n uint) {
	if v < 0x80 {
		return v, 1
	}
	n = uint(wire.UvarintLen(v))
	v = v&0x000000000fffffff | v&0x00fffffff0000000<<4 // 28 bits in each half, then 14 in each quarter, then 7 in each byte
	v = v&0x00003fff00003fff | v&0x0fffc0000fffc000<<2
	v = v&0x007f007f007f007f | v&0x3f803f803f803f80<<1
	return v | 0x8080808080808080&(1<<(8*(n-1))-1), n
}

func (d digest) uvarint(v uint64) digest {
	if v >= 1<<56 {
		var buf [10]byte
		return d.bytes(binary.AppendUvarint(buf[:0], v))
	}
	return d.put(leb128(v))
}

// hashUvarint is what a digest gives for one number.
func hashUvarint(v uint64) uint64 {
	if v >= 1<<56 {
		return digest{state: seed}.uvarint(v).sum()
	}
	w, n := leb128(v)
	return fold(fold(seed^w, mulKey)^uint64(n), mulEnd)
}

// hashText is what a digest gives for one string: the length and the bytes.
func hashText(s string) uint64 {
	b := unsafe.Slice(unsafe.StringData(s), len(s))
	head, n := leb128(uint64(len(b)))
	total := uint64(n) + uint64(len(b))
	if len(b) < 8 {
		return fold(fold(seed^(head|short(b)<<8), mulKey)^total, mulEnd)
	}
	end := binary.LittleEndian.Uint64(b[len(b)-8:])
	h := fold(seed^(head|binary.LittleEndian.Uint64(b)<<(8*n)), mulKey)
	b = b[8-n:]
	for len(b) >= 8 {
		h = fold(h^binary.LittleEndian.Uint64(b), mulKey)
		b = b[8:]
	}
	if len(b) > 0 {
		h = fold(h^end>>(64-8*len(b)), mulKey)
	}
	return fold(h^total, mulEnd)
}

func (d digest) sum() uint64 {
	h := d.state
	if d.n%8 != 0 {
		h = fold(h^d.word, mulKey)
	}
	return fold(h^uint64(d.n), mulEnd)
}
