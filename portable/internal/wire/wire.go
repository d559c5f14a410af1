package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"github.com/levadaflow/levada/coder"
	"github.com/levadaflow/levada/event"
)

// Header is what stands before the value in a windowed value.
type Header struct {
	Time    event.Time
	Windows []event.Window
	Pane    event.Pane
}

// AppendHeader appends h, with its windows in the form of w. An error is one of w; dst is then returned as it was.
func AppendHeader(dst []byte, h *Header, w coder.Coder[event.Window]) ([]byte, error) {
	out, err := coder.EventTime().Append(dst, h.Time)
	if err != nil {
		return dst, err
	}
	out = binary.BigEndian.AppendUint32(out, uint32(len(h.Windows)))
	for _, x := range h.Windows {
		if out, err = w.Append(out, x); err != nil {
			return dst, err
		}
	}
	return AppendPane(out, h.Pane), nil
}

// Read reads a header from the front of src, with windows in the form of w, and returns the bytes after it. It uses the memory
// of h.Windows again.
func (h *Header) Read(src []byte, w coder.Coder[event.Window]) (rest []byte, err error) {
	if h.Time, rest, err = coder.EventTime().Decode(src); err != nil {
		return nil, err
	}
	if len(rest) < 4 {
		return nil, corrupt("windowed value", "the bytes end in the number of windows")
	}
	n := binary.BigEndian.Uint32(rest)
	if rest = rest[4:]; n == 0 || uint64(n) > uint64(len(src)) {
		return nil, corrupt("windowed value", "%d windows where %d bytes are left", n, len(rest))
	}
	h.Windows = h.Windows[:0]
	for range n {
		var x event.Window
		if x, rest, err = w.Decode(rest); err != nil {
			return nil, err
		}
		h.Windows = append(h.Windows, x)
	}
	h.Pane, rest, err = ReadPane(rest)
	return rest, err
}

// The forms of a pane, in bits 4 to 6 of its first byte. Bit 7 says that metadata follow, which only who has asked for them gets.
const (
	paneBare    = 0 << 4 // both indices are 0, or the timing is Unknown
	paneOne     = 1 << 4 // an index follows, which stands for both; for early panes the second is -1
	paneTwo     = 2 << 4 // both follow
	paneForm    = 7 << 4
	paneUnknown = 1 << 7
)

// AppendPane appends p.
func AppendPane(dst []byte, p event.Pane) []byte {
	b := byte(p.Timing) << 2
	if p.First {
		b |= 1
	}
	if p.Last {
		b |= 2
	}
	switch {
	case p.Timing == event.Unknown || p.Index == 0 && p.OnTimeIndex == 0:
		return append(dst, b|paneBare)
	case p.Timing == event.Early || p.Index == p.OnTimeIndex:
		return binary.AppendUvarint(append(dst, b|paneOne), uint64(p.Index))
	}
	return binary.AppendUvarint(binary.AppendUvarint(append(dst, b|paneTwo), uint64(p.Index)), uint64(p.OnTimeIndex))
}

// ReadPane reads a pane from the front of src and returns the bytes after it.
func ReadPane(src []byte) (p event.Pane, rest []byte, err error) {
	if len(src) == 0 {
		return p, nil, corrupt("pane", "no bytes left")
	}
	b, rest := src[0], src[1:]
	p = event.Pane{Timing: event.Timing(b >> 2 & 3), First: b&1 != 0, Last: b&2 != 0}
	switch {
	case b&paneUnknown != 0:
		return p, nil, corrupt("pane", "it has metadata, which nobody has asked for")
	case b&paneForm == paneBare:
	case b&paneForm == paneOne:
		if p.Index, rest, err = coder.VarInt().Decode(rest); err != nil {
			return p, nil, err
		}
		p.OnTimeIndex = p.Index
	case b&paneForm == paneTwo:
		if p.Index, rest, err = coder.VarInt().Decode(rest); err != nil {
			return p, nil, err
		}
		if p.OnTimeIndex, rest, err = coder.VarInt().Decode(rest); err != nil {
			return p, nil, err
		}
	default:
		return p, nil, corrupt("pane", "a form of %d", b&paneForm>>4)
	}
	if p.Timing == event.Early {
		p.OnTimeIndex = -1
	}
	return p, rest, nil
}

// AppendPrefixed appends data behind its length.
func AppendPrefixed(dst, data []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(data))), data...)
}

// Prefixed reads what stands behind its length at the front of src, and returns the bytes after it.
func Prefixed(src []byte) (data, rest []byte, err error) {
	n, rest, err := coder.VarInt().Decode(src)
	if err != nil {
		return nil, nil, err
	}
	if uint64(n) > uint64(len(rest)) {
		return nil, nil, corrupt("length prefix", "a length of %d where %d bytes are left", uint64(n), len(rest))
	}
	return rest[:n], rest[n:], nil
}

// ErrStateBacked is the error of an iterable whose end is to be had from the runner's state.
var ErrStateBacked = errors.New("the end of an iterable is kept in the runner's state, which is not supported yet")

// Iterable reads the values of an iterable, each behind its length, one after the other. Its count is in 4 bytes, or it comes in
// blocks.
type Iterable struct {
	rest   []byte
	left   uint64 // of the count, or of the block
	blocks bool
	ended  bool
}

// inBlocks is the count of an iterable that comes in blocks: each has its own, and the last one is 0.
const inBlocks = 1<<32 - 1

// ReadIterable begins to read an iterable at the front of src.
func ReadIterable(src []byte) (*Iterable, error) {
	if len(src) < 4 {
		return nil, corrupt("iterable", "4 bytes wanted, %d left", len(src))
	}
	n := binary.BigEndian.Uint32(src)
	if n == inBlocks {
		return &Iterable{rest: src[4:], blocks: true}, nil
	}
	return &Iterable{rest: src[4:], left: uint64(n)}, nil
}

// Values walks the values that are left. It ends after an error.
func (it *Iterable) Values() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for {
			data, ok, err := it.next()
			if !ok || !yield(data, err) || err != nil {
				return
			}
		}
	}
}

func (it *Iterable) next() (data []byte, ok bool, err error) {
	for it.left == 0 && it.blocks && !it.ended {
		n, rest, err := coder.VarInt().Decode(it.rest)
		switch {
		case err != nil:
			return nil, true, err
		case n == -1:
			return nil, true, ErrStateBacked
		case n < 0:
			return nil, true, corrupt("iterable", "a block of %d values", n)
		}
		it.rest, it.left, it.ended = rest, uint64(n), n == 0
	}
	if it.left == 0 {
		return nil, false, nil
	}
	if data, it.rest, err = Prefixed(it.rest); err != nil {
		return nil, true, err
	}
	it.left--
	return data, true, nil
}

// Rest returns the bytes after the iterable, of which all values have been walked.
func (it *Iterable) Rest() []byte { return it.rest }

// corrupt returns an error about a form; what says it in its own words comes first.
func corrupt(what, reason string, args ...any) error {
	return &coder.DecodeError{Coder: what, Reason: fmt.Sprintf(reason, args...)}
}
