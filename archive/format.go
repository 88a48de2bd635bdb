package archive

import (
	"encoding/binary"
	"fmt"

	"github.com/go-pcp/pcp"
)

// The layout of all files except the entries of the index is a sequence of
// records, each of a length that counts itself and its repetition at the end:
//
//	len:32 ... len:32
//
// Numbers are big-endian. The seconds of a version 3 time stamp are a historical
// exception: two 32-bit words, the less significant first.

// Format versions.
const (
	Version2 = 2 // PM_LOG_VERS02
	Version3 = 3 // PM_LOG_VERS03
)

// Numbers in labels in place of that of a volume.
const (
	VolIndex = -2 // PM_LOG_VOL_TI
	VolMeta  = -1 // PM_LOG_VOL_META
)

// Limits. The length of a record is limited by its length word, and its memory by
// the size of the file.
const (
	maxRecord  = 1<<31 - 1 // bytes of a record, framing included
	MaxName    = 4095      // bytes of a metric's name in a descriptor
	MaxVolumes = 1 << 20   // number of the last volume
	maxIndex   = 1 << 26   // entries of a temporal index

	nameFactor = 16 // bytes of all names of an instance domain for each byte of its record
)

const frame = 8 // bytes of the two length words

// errShort is returned if a file ends inside the requested bytes.
var errShort = fmt.Errorf("file ends early: %w", pcp.ErrLogRec)

// A reader reads numbers from the contents of a record. Its first failure sticks.
type reader struct {
	b    []byte
	fail bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.fail, r.b = true, nil
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) u32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *reader) i32() int32 { return int32(r.u32()) }

// stamp reads a time stamp of the given version.
func (r *reader) stamp(version int) pcp.Timestamp {
	n := stampSize(version)
	if b := r.take(n); b != nil {
		return decodeStamp(b, version)
	}
	return pcp.Timestamp{}
}

// stampSize is the length of a time stamp: seconds and microseconds, or 64-bit
// seconds and nanoseconds.
func stampSize(version int) int {
	if version >= Version3 {
		return 12
	}
	return 8
}

func decodeStamp(b []byte, version int) pcp.Timestamp {
	if version >= Version3 {
		low, high := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
		return pcp.Timestamp{Sec: int64(high)<<32 | int64(low), Nsec: int32(binary.BigEndian.Uint32(b[8:]))}
	}
	// Microseconds out of range are converted as in C, so that a damaged stamp is
	// reported alike.
	usec := int32(binary.BigEndian.Uint32(b[4:]))
	return pcp.Timestamp{Sec: int64(int32(binary.BigEndian.Uint32(b))), Nsec: usec * 1000}
}
