package pcp

import (
	"encoding/binary"
	"fmt"

	"github.com/go-pcp/pcp/internal/ctext"
)

// PMIDs of the metrics for the parts of an event record other than its
// parameters. They are discrete, of TypeU32.
const (
	EventFlagsPMID  PMID = DomainDynamic<<22 | 1 // event.flags: the record's EventFlags
	EventMissedPMID PMID = DomainDynamic<<22 | 2 // event.missed: number of lost records
)

// An EventRecord is one record of an event array.
type EventRecord struct {
	Time   Timestamp
	Flags  EventFlags
	Missed uint32 // with EventMissed in Flags: number of lost records
	Params []EventParam
}

// An EventParam is a parameter of an event record: a value of the metric PMID.
// A number of 32 bits has TypeUnknown, like a value received in situ.
type EventParam struct {
	PMID  PMID
	Value Value
}

// EventRecords unpacks a value of TypeEvent or TypeHighResEvent
// (pmUnpackEventRecords(3), pmUnpackHighResEventRecords(3)). Strings and
// aggregates share the memory of v.
func (v Value) EventRecords() ([]EventRecord, error) {
	highRes := v.typ == TypeHighResEvent
	if !highRes && v.typ != TypeEvent {
		return nil, ErrType
	}
	data := v.data
	if len(data) < 4 {
		return nil, fmt.Errorf("event array of %d bytes: %w", len(data), ErrTooSmall)
	}
	n := int32(binary.BigEndian.Uint32(data))
	data = data[4:]
	header := 16
	if highRes {
		header = 24
	}
	if n < 0 {
		return nil, fmt.Errorf("event array of %d records: %w", n, ErrTooSmall)
	}
	if int64(n)*int64(header) > int64(len(data)) {
		return nil, fmt.Errorf("%d event records in %d bytes: %w", n, len(data), ErrTooBig)
	}
	records := make([]EventRecord, 0, n)
	for range n {
		if len(data) < header {
			return nil, fmt.Errorf("event record of %d bytes: %w", len(data), ErrTooBig)
		}
		r := EventRecord{Time: eventTime(data, highRes)}
		r.Flags = EventFlags(binary.BigEndian.Uint32(data[header-8:]))
		count := binary.BigEndian.Uint32(data[header-4:])
		data = data[header:]
		var err error
		switch {
		case r.Flags == EventMissed:
			r.Missed = count
		case r.Flags&EventMissed != 0:
			// A record of lost records cannot have other flags.
			return nil, fmt.Errorf("event record with flags %#x: %w", uint32(r.Flags), ErrConv)
		default:
			if r.Params, data, err = eventParams(data, count); err != nil {
				return nil, err
			}
		}
		records = append(records, r)
	}
	return records, nil
}

func eventTime(data []byte, highRes bool) Timestamp {
	if highRes {
		return Timestamp{int64(binary.BigEndian.Uint64(data)), int32(binary.BigEndian.Uint64(data[8:]))}
	}
	return Timestamp{int64(int32(binary.BigEndian.Uint32(data))), int32(binary.BigEndian.Uint32(data[4:])) * 1000}
}

// eventParams reads count parameters and returns the rest.
func eventParams(data []byte, count uint32) ([]EventParam, []byte, error) {
	if uint64(count)*8 > uint64(len(data)) {
		return nil, nil, fmt.Errorf("%d event parameters in %d bytes: %w", count, len(data), ErrTooBig)
	}
	params := make([]EventParam, 0, count)
	for range count {
		if len(data) < 8 {
			return nil, nil, fmt.Errorf("event parameter of %d bytes: %w", len(data), ErrTooBig)
		}
		id := PMID(binary.BigEndian.Uint32(data))
		word := binary.BigEndian.Uint32(data[4:])
		typ, n := Type(word>>24), int(word&0xffffff)
		if n < 4 {
			return nil, nil, fmt.Errorf("event parameter %v of %d bytes: %w", id, n, ErrTooSmall)
		}
		padded := 4 + (n+3)&^3
		if padded > len(data) {
			return nil, nil, fmt.Errorf("event parameter %v of %d bytes: %w", id, n, ErrTooBig)
		}
		v, err := eventValue(typ, data[8:4+n])
		if err != nil {
			return nil, nil, fmt.Errorf("event parameter %v: %w", id, err)
		}
		params = append(params, EventParam{id, v})
		data = data[padded:]
	}
	return params, data, nil
}

func eventValue(typ Type, b []byte) (Value, error) {
	size := 0
	switch typ {
	case Type32, TypeU32, TypeFloat:
		size = 4
	case Type64, TypeU64, TypeDouble:
		size = 8
	case TypeString:
		return BytesValue(typ, ctext.Bytes(b)), nil
	case TypeAggregate, TypeAggregateStatic:
		return BytesValue(typ, b), nil
	default:
		return Value{}, ErrType // arrays do not nest
	}
	if len(b) < size {
		return Value{}, ErrTooSmall
	}
	switch {
	case size == 8:
		return RawValue(typ, binary.BigEndian.Uint64(b)), nil
	case typ.InSitu():
		typ = TypeUnknown
	}
	return RawValue(typ, uint64(binary.BigEndian.Uint32(b))), nil
}
