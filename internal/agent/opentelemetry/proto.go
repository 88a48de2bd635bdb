package opentelemetry

import (
	"encoding/binary"
	"errors"
	"math"
)

// Wire types of protocol buffers.
const (
	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wire32     = 5
)

var errProto = errors.New("not a valid message of protocol buffers")

// A message reads the fields of a message. After an error it has no more fields.
type message struct {
	b   []byte
	err error

	field int
	kind  int
	bits  uint64 // of a number
	data  []byte // of a string, message or packed list
}

// next reads a field, and reports whether there was one.
func (m *message) next() bool {
	if len(m.b) == 0 || m.err != nil {
		return false
	}
	tag, n := binary.Uvarint(m.b)
	if n <= 0 || tag>>3 == 0 || tag>>3 > 1<<29-1 {
		m.err = errProto
		return false
	}
	m.b = m.b[n:]
	m.field, m.kind, m.bits, m.data = int(tag>>3), int(tag&7), 0, nil
	switch m.kind {
	case wireVarint:
		if m.bits, n = binary.Uvarint(m.b); n <= 0 {
			m.err = errProto
			return false
		}
	case wire64:
		if n = 8; len(m.b) < n {
			m.err = errProto
			return false
		}
		m.bits = binary.LittleEndian.Uint64(m.b)
	case wire32:
		if n = 4; len(m.b) < n {
			m.err = errProto
			return false
		}
		m.bits = uint64(binary.LittleEndian.Uint32(m.b))
	case wireBytes:
		size, head := binary.Uvarint(m.b)
		if head <= 0 || size > uint64(len(m.b)-head) {
			m.err = errProto
			return false
		}
		n = head + int(size)
		m.data = m.b[head:n]
	default:
		m.err = errProto
		return false
	}
	m.b = m.b[n:]
	return true
}

// is reports whether the field has a number and a wire type. A field of another type than it should have is an error.
func (m *message) is(field, kind int) bool {
	if m.field != field {
		return false
	}
	if m.kind != kind {
		m.err = errProto
		return false
	}
	return true
}

func (m *message) double() float64 { return math.Float64frombits(m.bits) }

// sint32 returns the number of a field of this type.
func (m *message) sint32() int32 { return int32(uint32(m.bits)>>1) ^ -int32(m.bits&1) }

// fixed appends the numbers of a repeated field of 64 bits each, packed or not.
func (m *message) fixed(list []uint64) []uint64 {
	switch {
	case m.kind == wire64:
		return append(list, m.bits)
	case m.kind != wireBytes || len(m.data)%8 != 0:
		m.err = errProto
		return list
	}
	for b := m.data; len(b) > 0; b = b[8:] {
		list = append(list, binary.LittleEndian.Uint64(b))
	}
	return list
}

// maxVarints limits lists that take more memory than their bytes.
const maxVarints = 1 << 16

// varints appends the numbers of a repeated field of varints, packed or not.
func (m *message) varints(list []uint64) []uint64 {
	switch m.kind {
	case wireVarint:
		return append(list, m.bits)
	case wireBytes:
		for b := m.data; len(b) > 0; {
			v, n := binary.Uvarint(b)
			if n <= 0 {
				m.err = errProto
				return list
			}
			if len(list) >= maxVarints {
				m.err = errMany("buckets", maxVarints)
				return list
			}
			list, b = append(list, v), b[n:]
		}
		return list
	}
	m.err = errProto
	return list
}
