package archive

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/go-pcp/pcp"
)

// Layout of a record of a volume, between its length words:
//
//	v2      sec usec    numpmid set... block...
//	v3      sec:64 nsec numpmid set... block...
//	set     pmid numval [valfmt {inst value}...]   valfmt only if numval > 0
//	block   type:8 len:24 bytes, '~' to a whole word; len counts its own word
//
// A value that is not in situ is the distance of its block, in words, from two
// words before the record's first length word: so C has it in memory. A record
// without sets is a mark: values before and after it have nothing to do with
// each other.

const (
	blockHead = pcp.ValHeaderSize
	maxBlock  = pcp.ValLenMax

	// blockBase is where offsets of blocks count from, in bytes before the
	// contents of a record.
	blockBase = 12
)

// DecodeResult decodes the contents of a volume's record, without its length
// words, into res, whose memory it uses again. Strings, aggregates and events
// point into body.
func DecodeResult(res *pcp.Result, body []byte, version int) error {
	res.Reset()
	head := stampSize(version) + 4
	if len(body) < head {
		return fmt.Errorf("result of %d bytes: %w", len(body), pcp.ErrLogRec)
	}
	stamp := decodeStamp(body, version)
	n := int32(binary.BigEndian.Uint32(body[head-4:]))
	if n < 0 || uint64(n)*8 > uint64(len(body)-head) {
		return fmt.Errorf("%d sets in %d bytes: %w", n, len(body), pcp.ErrLogRec)
	}
	return decodeResult(res, body, stamp, head, int(n))
}

// decodeResult decodes a record's sets, of which there are n from head on.
func decodeResult(res *pcp.Result, body []byte, stamp pcp.Timestamp, head, n int) error {
	res.Reset()

	// What is to come, before it gets memory.
	end, values := head, 0
	for range n {
		if len(body)-end < 8 {
			return fmt.Errorf("offset %d: a set past the end: %w", end, pcp.ErrLogRec)
		}
		numval := int32(binary.BigEndian.Uint32(body[end+4:]))
		end += 8
		if numval <= 0 {
			continue
		}
		if 4+8*uint64(numval) > uint64(len(body)-end) {
			return fmt.Errorf("offset %d: %d values past the end: %w", end, numval, pcp.ErrLogRec)
		}
		end += 4 + 8*int(numval)
		values += int(numval)
	}
	res.Grow(n, values)
	res.Time = stamp

	d := blockDecoder{body: body, first: end, left: len(body) - end}
	w := body[head:end]
	for range n {
		id, numval := pcp.PMID(binary.BigEndian.Uint32(w)), int32(binary.BigEndian.Uint32(w[4:]))
		if numval <= 0 {
			res.AddError(id, pcp.Error(numval))
			w = w[8:]
			continue
		}
		res.AddSet(id)
		vs := &res.Sets[len(res.Sets)-1]
		vs.ValFmt = pcp.ValFmt(binary.BigEndian.Uint32(w[8:]))
		vals := res.AddValues(int(numval))
		w = w[12:]
		switch vs.ValFmt {
		case pcp.ValInSitu:
			for j := range vals {
				vals[j] = pcp.RawValue(pcp.TypeUnknown, uint64(binary.BigEndian.Uint32(w[4:8])))
				vals[j].Inst = int32(binary.BigEndian.Uint32(w))
				w = w[8:]
			}
		case pcp.ValDPtr, pcp.ValSPtr:
			for j := range vals {
				if err := d.value(&vals[j], binary.BigEndian.Uint32(w[4:8])); err != nil {
					res.Reset()
					return err
				}
				vals[j].Inst = int32(binary.BigEndian.Uint32(w))
				w = w[8:]
			}
		default:
			f := vs.ValFmt
			res.Reset()
			return fmt.Errorf("value format %d: %w", f, pcp.ErrLogRec)
		}
	}
	if d.left != 0 {
		res.Reset()
		return fmt.Errorf("%d bytes that belong to no value: %w", d.left, pcp.ErrLogRec)
	}
	return nil
}

// A blockDecoder decodes the blocks of a record, from offset first to its end.
// Each byte may be used once: blocks that overlap would let a short record
// stand for a result of any size.
type blockDecoder struct {
	body  []byte
	first int
	left  int
}

func (d *blockDecoder) value(v *pcp.Value, word uint32) error {
	at := int64(word)*4 - blockBase
	if at < int64(d.first) || at > int64(len(d.body)-blockHead) {
		return fmt.Errorf("a value whose block is at offset %d of %d: %w", at, len(d.body), pcp.ErrLogRec)
	}
	block := d.body[at:]
	head := binary.BigEndian.Uint32(block)
	t, n := pcp.Type(head>>24), int(head&maxBlock)
	if n < blockHead || n > len(block) {
		return fmt.Errorf("offset %d: a block of %d bytes: %w", at, n, pcp.ErrLogRec)
	}
	if d.left -= (n + 3) &^ 3; d.left < 0 {
		return fmt.Errorf("offset %d: blocks that overlap: %w", at, pcp.ErrLogRec)
	}
	data := block[blockHead:n:n]
	switch t {
	case pcp.Type64, pcp.TypeU64, pcp.TypeDouble:
		if len(data) != 8 {
			*v = pcp.BytesValue(t, data)
			break
		}
		*v = pcp.RawValue(t, binary.BigEndian.Uint64(data))
	case pcp.Type32, pcp.TypeU32, pcp.TypeFloat:
		if len(data) != 4 {
			// Very old archives have no types in blocks, which is 0, Type32:
			// what it is only the descriptor says.
			*v = pcp.BytesValue(t, data)
			break
		}
		*v = pcp.RawValue(t, uint64(binary.BigEndian.Uint32(data)))
	case pcp.TypeString:
		if k := len(data); k > 0 && data[k-1] == 0 {
			data = data[:k-1]
		}
		*v = pcp.BytesValue(t, data)
	case pcp.TypeEvent, pcp.TypeHighResEvent:
		*v = pcp.BytesValue(t, data)
		if _, err := v.EventRecords(); err != nil {
			return fmt.Errorf("offset %d: %w: %w", at, pcp.ErrLogRec, err)
		}
	default:
		*v = pcp.BytesValue(t, data)
	}
	return nil
}

// Retype makes sense of a value whose block has no type, as in very old
// archives, by the type that the descriptor has: it would be of Type32. Numbers of
// 64 bits, and floating ones, come out in the order of bytes of a little-endian
// machine, as they do from the C library there. Any other value stays.
func Retype(v pcp.Value, t pcp.Type) pcp.Value {
	if v.Type() != pcp.Type32 || t == pcp.Type32 {
		return v
	}
	data := v.Bytes()
	if data == nil {
		data = binary.BigEndian.AppendUint32(nil, v.Uint32())
	}
	u := v
	switch t {
	case pcp.TypeString:
		if i := bytes.IndexByte(data, 0); i >= 0 {
			data = data[:i]
		}
		u = pcp.BytesValue(t, data)
	case pcp.Type64, pcp.TypeU64, pcp.TypeDouble:
		if len(data) == 8 {
			u = pcp.RawValue(t, binary.LittleEndian.Uint64(data))
		}
	case pcp.TypeFloat:
		if len(data) == 4 {
			u = pcp.RawValue(t, uint64(binary.LittleEndian.Uint32(data)))
		}
	}
	u.Inst = v.Inst
	return u
}
