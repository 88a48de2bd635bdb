// Package valueset encodes and decodes the values of a result. A PDU of the
// protocol and a record of an archive have them in the same form, after heads
// that differ:
//
//	head    time, and how many sets follow
//	set     pmid numval [valfmt {inst value}...]   valfmt only if numval > 0
//	block   type:8 len:24 bytes, '~' to a whole word; len counts its own word
//
// A set without values has an error, or 0, in place of their number. A value
// that is not in situ is the distance of its block, in words, from [Base] bytes
// before the contents.
package valueset

import (
	"encoding/binary"
	"fmt"

	"github.com/go-pcp/pcp"
)

const (
	// Base is where offsets of blocks count from, in bytes before the contents:
	// from the start of a PDU, which begins with three words, and in archives
	// from where C has a record in memory, which is as far.
	Base = 12

	// BlockHead is the length of what a block starts with, its type and length.
	BlockHead = pcp.ValHeaderSize

	// MaxBlock is the length of the longest block, its head included.
	MaxBlock = pcp.ValLenMax

	// SetHead and PairsHead are the lengths of what a set starts with, without
	// and with values, and Pair that of an instance and its value.
	SetHead   = 8
	PairsHead = 12
	Pair      = 8
)

// Padded rounds up to a whole word (PM_PDU_SIZE_BYTES).
func Padded(n int) int { return (n + 3) &^ 3 }

// Pad appends the bytes that n bytes lack to a whole word. The C library pads
// with '~' everywhere, so do we, and captures compare byte for byte.
func Pad(b []byte, n int) []byte { return append(b, "~~~"[:-n&3]...) }

// At returns the offset in the contents of the block that a word of a set refers
// to. It may be anything.
func At(word uint32) int { return int(int64(word)*4 - Base) }

// Word is the inverse of [At].
func Word(at int) uint32 { return uint32((at + Base) / 4) }

// SplitHead returns the fields of the head of a block: the type of the value, and
// the length of the block.
func SplitHead(head uint32) (t pcp.Type, n int) { return pcp.Type(head >> 24), int(head & MaxBlock) }

// Head is the inverse of [SplitHead].
func Head(t pcp.Type, n int) uint32 { return uint32(t)<<24 | uint32(n) }

// BlocksSize returns how many bytes the blocks of values take, or -1 if one of
// them is too long for a block.
func BlocksSize(values []pcp.Value) int {
	size := 0
	for i := range values {
		v := &values[i]
		switch t := v.Type(); t {
		case pcp.Type32, pcp.TypeU32, pcp.TypeFloat:
			size += BlockHead + 4
		case pcp.Type64, pcp.TypeU64, pcp.TypeDouble:
			size += BlockHead + 8
		default:
			n := bytesSize(t, v.Bytes())
			if n > MaxBlock {
				return -1
			}
			size += Padded(n)
		}
	}
	return size
}

// bytesSize returns the length of a block of bytes, without padding.
func bytesSize(t pcp.Type, data []byte) int {
	if t == pcp.TypeString {
		return BlockHead + len(data) + 1
	}
	return BlockHead + len(data)
}

// AppendBlock appends the block of a value, padded, or nothing if the value is too
// long for one. A value of a type of numbers must be a number.
func AppendBlock(b []byte, v *pcp.Value) []byte {
	// Each method of v copies it: there are no more calls than it takes.
	switch t := v.Type(); t {
	case pcp.Type64, pcp.TypeU64, pcp.TypeDouble:
		return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(b, Head(t, BlockHead+8)), v.Bits())
	case pcp.Type32, pcp.TypeU32, pcp.TypeFloat:
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, Head(t, BlockHead+4)), uint32(v.Bits()))
	default:
		return AppendBytes(b, t, v.Bytes())
	}
}

// AppendBytes appends a block of a type with the bytes given, as AppendBlock does.
func AppendBytes(b []byte, t pcp.Type, data []byte) []byte {
	n := bytesSize(t, data)
	if n > MaxBlock {
		return b
	}
	b = append(binary.BigEndian.AppendUint32(b, Head(t, n)), data...)
	if t == pcp.TypeString {
		b = append(b, 0)
	}
	return Pad(b, n)
}

// A Kind is the container of a result. There are few differences.
type Kind int

const (
	// PDU is a PDU. A block must have as many bytes as its number takes.
	PDU Kind = iota

	// Record is a record of an archive. A block whose length is not that of its
	// number has bytes: very old archives have no types in blocks, which is 0,
	// Type32, and only the descriptor has the type. Events are checked.
	Record
)

// An Error describes a mistake in contents at an offset.
type Error struct {
	Offset int
	Text   string
	Err    error // of events, or nil
}

func (e *Error) Error() string { return fmt.Sprintf("offset %d: %s", e.Offset, e.Text) }

func (e *Error) Unwrap() error { return e.Err }

func errorAt(off int, format string, args ...any) error {
	return &Error{Offset: off, Text: fmt.Sprintf(format, args...)}
}

// Fits reports whether n sets can be in a number of bytes. It must be called
// before anything is allocated.
func Fits(n int32, bytes int) bool { return n >= 0 && uint64(n)*SetHead <= uint64(bytes) }

// extent returns where n sets end that begin at head, and how many values they
// have, before memory is allocated for them.
func extent(body []byte, head, n int) (end, values int, err error) {
	end = head
	for range n {
		if len(body)-end < SetHead {
			return 0, 0, errorAt(end, "a set past the end")
		}
		numval := int32(binary.BigEndian.Uint32(body[end+4:]))
		end += SetHead
		if numval <= 0 {
			continue
		}
		if 4+Pair*uint64(numval) > uint64(len(body)-end) {
			return 0, 0, errorAt(end-4, "values past the end, %d", numval)
		}
		end += 4 + Pair*int(numval)
		values += int(numval)
	}
	return end, values, nil
}

// Decode appends the n sets that body has from head on to res, whose memory it
// uses. Strings, aggregates and events point into body. If there is an error,
// res is empty. The error is an [Error].
func Decode(res *pcp.Result, body []byte, head, n int, kind Kind) error {
	end, values, err := extent(body, head, n)
	if err != nil {
		return err
	}
	res.Grow(n, values)

	d := decoder{body: body, first: end, left: len(body) - end, kind: kind}
	w := body[head:end]
	for range n {
		id, numval := pcp.PMID(binary.BigEndian.Uint32(w)), int32(binary.BigEndian.Uint32(w[4:]))
		if numval <= 0 {
			res.AddError(id, pcp.Error(numval))
			w = w[SetHead:]
			continue
		}
		res.AddSet(id)
		vs := &res.Sets[len(res.Sets)-1]
		vs.ValFmt = pcp.ValFmt(binary.BigEndian.Uint32(w[8:]))
		vals := res.AddValues(int(numval))
		at := end - len(w) + 8
		w = w[PairsHead:]
		switch vs.ValFmt {
		case pcp.ValInSitu:
			for j := range vals {
				vals[j] = pcp.RawValue(pcp.TypeUnknown, uint64(binary.BigEndian.Uint32(w[4:8])))
				vals[j].Inst = int32(binary.BigEndian.Uint32(w))
				w = w[Pair:]
			}
		case pcp.ValDPtr, pcp.ValSPtr:
			for j := range vals {
				if err := d.value(&vals[j], binary.BigEndian.Uint32(w[4:8])); err != nil {
					res.Reset()
					return err
				}
				vals[j].Inst = int32(binary.BigEndian.Uint32(w))
				w = w[Pair:]
			}
		default:
			f := vs.ValFmt
			res.Reset()
			return errorAt(at, "an unknown value format, %d", f)
		}
	}
	if d.left != 0 {
		res.Reset()
		return errorAt(end, "bytes that belong to no value, %d", d.left)
	}
	return nil
}

// Move checks the n sets of a PDU as [Decode] does, and makes them valid after a
// head that is longer by a number of bytes: it writes to body. It reports
// whether the sets are those of ids, in their order.
func Move(body []byte, head, n int, ids []pcp.PMID, longer int) (same bool, err error) {
	end, _, err := extent(body, head, n)
	if err != nil {
		return false, err
	}
	same = n == len(ids)
	d := decoder{body: body, first: end, left: len(body) - end, kind: PDU}
	w := body[head:end]
	for i := range n {
		same = same && pcp.PMID(binary.BigEndian.Uint32(w)) == ids[i]
		numval := int(int32(binary.BigEndian.Uint32(w[4:])))
		if numval <= 0 {
			w = w[SetHead:]
			continue
		}
		valfmt := pcp.ValFmt(binary.BigEndian.Uint32(w[8:]))
		at := end - len(w) + 8
		w = w[PairsHead:]
		switch valfmt {
		case pcp.ValInSitu:
		case pcp.ValDPtr, pcp.ValSPtr:
			for j := range numval {
				var v pcp.Value
				word := binary.BigEndian.Uint32(w[Pair*j+4:])
				if err := d.value(&v, word); err != nil {
					return false, err
				}
				binary.BigEndian.PutUint32(w[Pair*j+4:], word+uint32(longer/4))
			}
		default:
			return false, errorAt(at, "an unknown value format, %d", valfmt)
		}
		w = w[Pair*numval:]
	}
	if d.left != 0 {
		return false, errorAt(end, "bytes that belong to no value, %d", d.left)
	}
	return same, nil
}

// Canonical reports whether body has, from head on, a set for each of ids, in their order, and the
// blocks of their values right after them, in their order too, as [AppendBlock] makes them:
// decoding these sets and encoding them again would give the same bytes. It is false for anything
// else, good or bad.
func Canonical(body []byte, head int, ids []pcp.PMID) bool {
	next, _, err := extent(body, head, len(ids))
	if err != nil {
		return false
	}
	w := body[head:next]
	for _, id := range ids {
		if pcp.PMID(binary.BigEndian.Uint32(w)) != id {
			return false
		}
		numval := int(int32(binary.BigEndian.Uint32(w[4:])))
		if numval <= 0 {
			w = w[SetHead:]
			continue
		}
		valfmt := pcp.ValFmt(binary.BigEndian.Uint32(w[8:]))
		pairs := w[PairsHead : PairsHead+Pair*numval]
		w = w[PairsHead+Pair*numval:]
		switch valfmt {
		case pcp.ValInSitu:
		case pcp.ValDPtr, pcp.ValSPtr:
			for ; len(pairs) > 0; pairs = pairs[Pair:] {
				n := canonicalBlock(body[next:])
				if n < 0 || binary.BigEndian.Uint32(pairs[4:]) != Word(next) {
					return false
				}
				next += n
			}
		default:
			return false
		}
	}
	return next == len(body)
}

// canonicalBlock returns how many bytes the block takes that b starts with, or -1 if AppendBlock does not
// make such a block.
func canonicalBlock(b []byte) int {
	if len(b) < BlockHead {
		return -1
	}
	t, n := SplitHead(binary.BigEndian.Uint32(b))
	if n <= BlockHead || Padded(n) > len(b) {
		return -1
	}
	switch t {
	case pcp.Type64, pcp.TypeU64, pcp.TypeDouble:
		if n != BlockHead+8 {
			return -1
		}
		return n
	case pcp.Type32, pcp.TypeU32, pcp.TypeFloat:
		if n != BlockHead+4 {
			return -1
		}
		return n
	case pcp.TypeString:
		if b[n-1] != 0 {
			return -1
		}
	}
	for _, c := range b[n:Padded(n)] {
		if c != '~' {
			return -1
		}
	}
	return Padded(n)
}

// Shift makes n sets that Canonical accepted valid after a head that is longer by a number of words,
// or shorter.
func Shift(sets []byte, n, words int) {
	if words == 0 {
		return
	}
	for range n {
		numval := int(int32(binary.BigEndian.Uint32(sets[4:])))
		if numval <= 0 {
			sets = sets[SetHead:]
			continue
		}
		pairs := sets[PairsHead : PairsHead+Pair*numval]
		if pcp.ValFmt(binary.BigEndian.Uint32(sets[8:])) != pcp.ValInSitu {
			for i := 4; i < len(pairs); i += Pair {
				binary.BigEndian.PutUint32(pairs[i:], binary.BigEndian.Uint32(pairs[i:])+uint32(words))
			}
		}
		sets = sets[PairsHead+Pair*numval:]
	}
}

// DecodeValue decodes the block that a word of a set in a record refers to. It
// may be anywhere in the contents.
func DecodeValue(v *pcp.Value, body []byte, word uint32) error {
	d := decoder{body: body, left: len(body), kind: Record}
	return d.value(v, word)
}

// A decoder decodes the blocks of contents, from offset first to their end. Each
// byte may be used once: blocks that overlap would let a short record represent
// a result of any size.
type decoder struct {
	body  []byte
	first int
	left  int
	kind  Kind
}

func (d *decoder) value(v *pcp.Value, word uint32) error {
	at := int64(word)*4 - Base
	if at < int64(d.first) || at > int64(len(d.body)-BlockHead) {
		return errorAt(d.first, "a value whose block is outside, at offset %d of %d", at, len(d.body))
	}
	block := d.body[at:]
	head := binary.BigEndian.Uint32(block)
	t, n := pcp.Type(head>>24), int(head&MaxBlock)
	if n < BlockHead || n > len(block) {
		return errorAt(int(at), "a block of a wrong length, %d", n)
	}
	if d.left -= Padded(n); d.left < 0 {
		return errorAt(int(at), "blocks that overlap")
	}
	data := block[BlockHead:n:n]
	switch t {
	case pcp.Type64, pcp.TypeU64, pcp.TypeDouble:
		if len(data) != 8 {
			return d.odd(v, t, data, at, 8)
		}
		*v = pcp.RawValue(t, binary.BigEndian.Uint64(data))
	case pcp.Type32, pcp.TypeU32, pcp.TypeFloat:
		if len(data) != 4 {
			return d.odd(v, t, data, at, 4)
		}
		*v = pcp.RawValue(t, uint64(binary.BigEndian.Uint32(data)))
	case pcp.TypeString:
		if k := len(data); k > 0 && data[k-1] == 0 {
			data = data[:k-1]
		}
		*v = pcp.BytesValue(t, data)
	case pcp.TypeEvent, pcp.TypeHighResEvent:
		*v = pcp.BytesValue(t, data)
		if d.kind == Record {
			if _, err := v.EventRecords(); err != nil {
				return &Error{int(at), err.Error(), err}
			}
		}
	default:
		*v = pcp.BytesValue(t, data)
	}
	return nil
}

// odd decodes a number whose block has not the bytes that it takes.
func (d *decoder) odd(v *pcp.Value, t pcp.Type, data []byte, at int64, want int) error {
	switch {
	case d.kind == Record:
		*v = pcp.BytesValue(t, data)
	case len(data) < want:
		return errorAt(int(at), "a number cut short")
	case want == 8:
		*v = pcp.RawValue(t, binary.BigEndian.Uint64(data))
	default:
		*v = pcp.RawValue(t, uint64(binary.BigEndian.Uint32(data)))
	}
	return nil
}
