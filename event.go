package pcp

import "encoding/binary"

// EventFlags describe an event record (PM_EVENT_FLAG_*).
type EventFlags uint32

// Event flags. The numbers are part of the protocol and of the archive format.
const (
	EventPoint  EventFlags = 1 << 0  // PM_EVENT_FLAG_POINT: an observation
	EventStart  EventFlags = 1 << 1  // PM_EVENT_FLAG_START
	EventEnd    EventFlags = 1 << 2  // PM_EVENT_FLAG_END
	EventID     EventFlags = 1 << 3  // PM_EVENT_FLAG_ID: the first parameter is an identifier
	EventParent EventFlags = 1 << 4  // PM_EVENT_FLAG_PARENT: the second is the parent's
	EventMissed EventFlags = 1 << 31 // PM_EVENT_FLAG_MISSED: represents lost records
)

// String joins the names of the flags with commas (pmEventFlagsStr(3)).
func (f EventFlags) String() string { return string(f.AppendText(nil)) }

// AppendText appends the text of String.
func (f EventFlags) AppendText(b []byte) []byte {
	if f&EventMissed != 0 {
		return append(b, "missed"...)
	}
	start := len(b)
	for i, name := range [...]string{"point", "start", "end", "id", "parent"} {
		if f&(1<<i) == 0 {
			continue
		}
		if len(b) > start {
			b = append(b, ',')
		}
		b = append(b, name...)
	}
	return b
}

// An event array is, after the header of its value block, all words
// big-endian:
//
//	0  number of records
//	4  records, one after the other:
//	     time      seconds and microseconds, 4 bytes each;
//	               in a high-resolution array nanoseconds, 8 bytes each
//	     flags     4 bytes
//	     nparams   4 bytes; with EventMissed the number of records lost,
//	               and no parameters follow
//	     nparams times
//	       pmid    4 bytes
//	       type    1 byte
//	       len     3 bytes, the 4 of type and len included
//	       value   padded to a multiple of 4 bytes

// eventSummary is the tools' output for an event array.
type eventSummary struct {
	records     int32
	missed      int
	first, last Timestamp
}

// summarizeEvents walks the packed records in data. If they are cut short, it
// counts those before the cut.
//
// The C library does not count a record of lost records if it is the last. It
// stops at an earlier one, and counts that again for each later record
// (libpcp/src/util.c, print_event_summary). We do the same.
func summarizeEvents(data []byte, highRes bool) eventSummary {
	var s eventSummary
	if len(data) < 4 {
		return s
	}
	s.records = int32(binary.BigEndian.Uint32(data))
	data = data[4:]
	stamp := 8
	if highRes {
		stamp = 16
	}
	for r := int32(0); r < s.records && len(data) >= stamp+8; r++ {
		at := eventTime(data, highRes)
		flags := EventFlags(binary.BigEndian.Uint32(data[stamp:]))
		params := binary.BigEndian.Uint32(data[stamp+4:])
		data = data[stamp+8:]
		if r == 0 {
			s.first = at
		}
		s.last = at
		if flags&EventMissed != 0 {
			s.missed = int(int32(params) * (s.records - 1 - r))
			return s
		}
		for ; params > 0; params-- {
			if len(data) < 8 {
				return s
			}
			n := 4 + (int(binary.BigEndian.Uint32(data[4:])&0xffffff)+3)&^3
			if n < 8 || n > len(data) {
				return s
			}
			data = data[n:]
		}
	}
	return s
}
