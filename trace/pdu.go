package trace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Port is the default port of the agent (TRACE_PORT).
const Port = 4323

// Version is the version of the protocol (TRACE_PDU_VERSION).
const Version = 1

// Limits of the protocol. A tag has at most MaxTag bytes, since its length, with a NUL at the end,
// must be less than 256. A PDU has at most maxPDU bytes: those of the longest record, with padding.
const (
	MaxTag = 254
	maxPDU = (dataSize + MaxTag + 1 + asyncAlign - 1) / asyncAlign * asyncAlign

	headerSize = 12
	ackSize    = headerSize + 4
	dataSize   = headerSize + 12 // before the tag

	// The agent of the C implementation reads up to 1024 bytes at a time, and drops a client if these end within the
	// first 12 bytes of a PDU. That cannot happen if the lengths of PDUs are multiples of 16.
	syncAlign, asyncAlign = 4, 16
)

// A PDUType is the type of a PDU.
type PDUType uint32

// Types of PDUs.
const (
	TypeAck  PDUType = 0x7050 // TRACE_PDU_ACK: from the agent
	TypeData PDUType = 0x7051 // TRACE_PDU_DATA: to the agent
)

// A Kind is the kind of a record.
type Kind uint8

// Kinds of records.
const (
	Transact Kind = 1 // TRACE_TYPE_TRANSACT: a transaction took Value seconds
	Point    Kind = 2 // TRACE_TYPE_POINT: a point was passed
	Observe  Kind = 3 // TRACE_TYPE_OBSERVE: Value was observed
	Counter  Kind = 4 // TRACE_TYPE_COUNTER: a counter is at Value
)

// valid reports whether k is a valid kind.
func (k Kind) valid() bool { return k >= Transact && k <= Counter }

// An Ack is a message of the agent: Version when a client has connected; for each
// record that wants an answer its Kind; or an [Error], or a negated errno.
type Ack int32

// Append appends the PDU to b. From is the number of the sending process.
func (a Ack) Append(b []byte, from int) []byte {
	b = appendHeader(b, ackSize, TypeAck, from)
	return binary.BigEndian.AppendUint32(b, uint32(a))
}

// DecodeAck decodes a whole PDU.
func DecodeAck(pdu []byte) (Ack, error) {
	if len(pdu) != ackSize {
		return 0, fmt.Errorf("acknowledgement of %d bytes, want %d: %w", len(pdu), ackSize, ErrIPC)
	}
	return Ack(binary.BigEndian.Uint32(pdu[headerSize:])), nil
}

// A Record is a measurement sent to the agent.
type Record struct {
	Kind  Kind
	Sync  bool // the agent must acknowledge it
	Value float64
	Tag   []byte
}

// Append appends the PDU to b: like libpcp_trace if align is 4. If align is larger, the PDU
// has more padding at its end, to a multiple of align.
func (r *Record) Append(b []byte, from, align int) []byte {
	return appendRecord(b, from, align, r.Kind, r.Sync, r.Value, r.Tag)
}

func appendRecord[T string | []byte](b []byte, from, align int, kind Kind, sync bool, value float64, tag T) []byte {
	size := (dataSize + len(tag) + 1 + align - 1) / align * align
	start := len(b)
	b = appendHeader(b, size, TypeData, from)
	protocol := byte(0)
	if sync {
		protocol = 0x80
	}
	b = append(b, Version, byte(len(tag)+1), byte(kind), protocol)
	b = binary.BigEndian.AppendUint64(b, math.Float64bits(value))
	b = append(b, tag...)
	b = append(b, 0)
	for len(b) < start+size {
		b = append(b, '~')
	}
	return b
}

func appendHeader(b []byte, size int, typ PDUType, from int) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(size))
	b = binary.BigEndian.AppendUint32(b, uint32(typ))
	return binary.BigEndian.AppendUint32(b, uint32(from))
}

// Decode decodes a whole PDU. The tag shares its memory. The error is [ErrVersion], [ErrTagType],
// [ErrTagName] or [ErrIPC], with details; the first is found before anything else in the PDU is checked.
func (r *Record) Decode(pdu []byte) error {
	if len(pdu) < dataSize {
		return fmt.Errorf("record of %d bytes, want %d and a tag: %w", len(pdu), dataSize, ErrIPC)
	}
	version, n, kind := pdu[headerSize], int(pdu[headerSize+1]), Kind(pdu[headerSize+2])
	if version != Version {
		return fmt.Errorf("record of version %d: %w", version, ErrVersion)
	}
	if n == 0 || n > len(pdu)-dataSize {
		return fmt.Errorf("offset %d: tag of %d bytes in %d: %w", headerSize+1, n, len(pdu)-dataSize, ErrIPC)
	}
	if !kind.valid() {
		return fmt.Errorf("record of kind %d: %w", kind, ErrTagType)
	}
	tag := pdu[dataSize : dataSize+n]
	if i := bytes.IndexByte(tag, 0); i >= 0 {
		tag = tag[:i]
	}
	switch {
	case len(tag) == 0:
		return fmt.Errorf("offset %d: the tag is empty: %w", dataSize, ErrTagName)
	case len(tag) > MaxTag:
		return fmt.Errorf("offset %d: tag of %d bytes: %w", dataSize, len(tag), ErrTagLength)
	}
	r.Kind, r.Sync, r.Tag = kind, pdu[headerSize+3]&0x80 != 0, tag
	r.Value = math.Float64frombits(binary.BigEndian.Uint64(pdu[headerSize+4:]))
	return nil
}

// A Reader reads PDUs from a connection. It reads as many as have arrived at a time.
type Reader struct {
	r        io.Reader
	buf      []byte
	from, to int // the unread part of buf
	seen     int64
}

// NewReader returns a Reader with a buffer of size bytes, at least 4 KiB.
func NewReader(r io.Reader, size int) *Reader {
	return &Reader{r: r, buf: make([]byte, max(size, maxPDU))}
}

// Next returns the next PDU, which is valid until the call after. At the end of the connection
// the error is [io.EOF], or [io.ErrUnexpectedEOF] within a PDU. If the length of a PDU is
// invalid, the error is ErrIPC.
func (r *Reader) Next() (PDUType, []byte, error) {
	for {
		n, err := r.whole()
		if err != nil {
			return 0, nil, err
		}
		if n > 0 {
			pdu := r.buf[r.from : r.from+n]
			r.from += n
			r.seen += int64(n)
			return PDUType(binary.BigEndian.Uint32(pdu[4:])), pdu, nil
		}
		if err := r.fill(); err != nil {
			return 0, nil, err
		}
	}
}

// Buffered reports whether Next will return without waiting for the connection.
func (r *Reader) Buffered() bool {
	n, err := r.whole()
	return n > 0 || err != nil
}

// whole returns the length of the PDU in the buffer, 0 if it is incomplete.
func (r *Reader) whole() (int, error) {
	have := r.to - r.from
	if have < 4 {
		return 0, nil
	}
	n := binary.BigEndian.Uint32(r.buf[r.from:])
	if n < ackSize || n > maxPDU {
		return 0, fmt.Errorf("offset %d: PDU of %d bytes, want %d to %d: %w", r.seen, n, ackSize, maxPDU, ErrIPC)
	}
	if int(n) > have {
		return 0, nil
	}
	return int(n), nil
}

// maxEmptyReads is the maximum number of empty reads in a row.
const maxEmptyReads = 100

func (r *Reader) fill() error {
	if r.from == r.to {
		r.from, r.to = 0, 0
	} else if len(r.buf)-r.from < maxPDU {
		r.to = copy(r.buf, r.buf[r.from:r.to])
		r.from = 0
	}
	for range maxEmptyReads {
		n, err := r.r.Read(r.buf[r.to:])
		r.to += n
		if n > 0 {
			return nil
		}
		if errors.Is(err, io.EOF) && r.from < r.to {
			return fmt.Errorf("offset %d: %w", r.seen, io.ErrUnexpectedEOF)
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}
