package txmon

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/go-pcp/pcp"
)

// Key is the key of the segment.
const Key = 0xdeadbeef

const (
	cacheLine  = 32
	maxName    = 20 // with the NUL
	headSize   = 8
	recordSize = 40
	// MaxTypes is the maximum number of transaction types.
	MaxTypes = 10000
)

// order is the byte order of the machine: all programs that share the memory run on it.
var order = binary.NativeEndian

func round(n int) int { return (n + cacheLine - 1) / cacheLine * cacheLine }

// offset is the offset of the record of type i in a segment of n types.
func offset(n, i int) int { return round(headSize+4*n) + i*round(recordSize) }

// A segment is the shared memory.
type segment []byte

func (s segment) level() int32     { return int32(order.Uint32(s)) }
func (s segment) setLevel(l int32) { order.PutUint32(s, uint32(l)) }

// setup writes the head and the records of types.
func (s segment) setup(types []string, level int32) {
	order.PutUint32(s[4:], uint32(len(types)))
	for i, name := range types {
		off := offset(len(types), i)
		order.PutUint32(s[headSize+4*i:], uint32(off))
		r := record(s[off : off+recordSize])
		clear(r)
		copy(r[:maxName-1], name)
		r.setMax(-1)
	}
	s.setLevel(level)
}

// records returns all records, checked to be within the segment.
func (s segment) records() ([]record, error) {
	if len(s) < headSize {
		return nil, fmt.Errorf("segment of %d bytes: %w", len(s), pcp.ErrIPC)
	}
	n := order.Uint32(s[4:])
	if uint64(n) > uint64(len(s)-headSize)/4 {
		return nil, fmt.Errorf("segment of %d bytes: %d transaction types: %w", len(s), n, pcp.ErrIPC)
	}
	records := make([]record, n)
	for i := range records {
		off := order.Uint32(s[headSize+4*i:])
		if len(s) < recordSize || uint64(off) > uint64(len(s)-recordSize) {
			return nil, fmt.Errorf("segment of %d bytes: type %d: offset %d: %w", len(s), i, off, pcp.ErrIPC)
		}
		records[i] = record(s[off : off+recordSize])
	}
	return records, nil
}

// A record has the values of one transaction type.
type record []byte

func (r record) name() string {
	name, _, _ := bytes.Cut(r[:maxName], []byte{0})
	return string(name)
}

func (r record) resets() uint32     { return order.Uint32(r[20:]) }
func (r record) setResets(n uint32) { order.PutUint32(r[20:], n) }
func (r record) count() uint32      { return order.Uint32(r[24:]) }
func (r record) setCount(n uint32)  { order.PutUint32(r[24:], n) }
func (r record) max() float32       { return math.Float32frombits(order.Uint32(r[28:])) }
func (r record) setMax(f float32)   { order.PutUint32(r[28:], math.Float32bits(f)) }
func (r record) sum() float64       { return math.Float64frombits(order.Uint64(r[32:])) }
func (r record) setSum(f float64)   { order.PutUint64(r[32:], math.Float64bits(f)) }
