package archive

import (
	"encoding/binary"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/internal/valueset"
)

// Layout of a record of a volume, between its length words. Package valueset
// describes the part after the head.
//
//	v2      sec usec    numpmid set... block...
//	v3      sec:64 nsec numpmid set... block...
//
// A record without sets is a mark: values before and after it are unrelated.

// DecodeResult decodes the contents of a volume's record, without its length
// words, into res, whose memory it reuses. Strings, aggregates and events point
// into body.
func DecodeResult(res *pcp.Result, body []byte, version int) error {
	res.Reset()
	head := HeadSize(version)
	if len(body) < head {
		return fmt.Errorf("result of %d bytes: %w", len(body), pcp.ErrLogRec)
	}
	stamp := decodeStamp(body, version)
	n := int32(binary.BigEndian.Uint32(body[head-4:]))
	if !valueset.Fits(n, len(body)-head) {
		return fmt.Errorf("%d sets in %d bytes: %w", n, len(body), pcp.ErrLogRec)
	}
	return decodeResult(res, body, stamp, head, int(n))
}

// decodeResult decodes the n sets of a record from head on.
func decodeResult(res *pcp.Result, body []byte, stamp pcp.Timestamp, head, n int) error {
	res.Reset()
	res.Time = stamp
	if err := valueset.Decode(res, body, head, n, valueset.Record); err != nil {
		return fmt.Errorf("%w: %w", err, pcp.ErrLogRec)
	}
	return nil
}

// Retype gives a value whose block has no type, as in very old archives, the type
// of the descriptor; otherwise it would have Type32. Numbers of 64 bits, and
// floating-point ones, have the byte order of a little-endian machine, as those of
// the C library there. Retype returns any other value unchanged.
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
		data = ctext.Bytes(data)
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
