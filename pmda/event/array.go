package event

import (
	"encoding/binary"
	"syscall"

	"github.com/go-pcp/pcp"
)

// ErrNoRecord refuses a parameter before the first record, or after a record of
// missed ones (-EINVAL).
const ErrNoRecord = pcp.Error(-int32(syscall.EINVAL))

// An Array packs event records into the value of an event metric
// (pmdaEventNewArray, pmdaEventNewHighResArray). The zero Array packs records
// whose times are in microseconds.
type Array struct {
	b       []byte // as it travels, except for the number of records at its start
	highRes bool
	records int
	params  int // where the count of parameters of the last record is, 0 if it takes none
}

// NewHighResArray returns an Array whose records have times in nanoseconds:
// for metrics of pcp.TypeHighResEvent.
func NewHighResArray() *Array { return &Array{highRes: true} }

// Reset empties the array for another use (pmdaEventResetArray).
func (a *Array) Reset() { a.b, a.records, a.params = a.b[:0], 0, 0 }

// Len returns how many records there are.
func (a *Array) Len() int { return a.records }

// Add starts a record (pmdaEventAddRecord, pmdaEventAddHighResRecord). If flags
// has pcp.EventMissed, which is for AddMissed, the error is pcp.ErrConv.
func (a *Array) Add(at pcp.Timestamp, flags pcp.EventFlags) error {
	if flags&pcp.EventMissed != 0 {
		return pcp.ErrConv
	}
	if err := a.record(at, flags, 0); err != nil {
		return err
	}
	a.params = len(a.b) - 4
	return nil
}

// AddMissed adds a record with the number of missed records
// (pmdaEventAddMissedRecord, pmdaEventAddHighResMissedRecord).
func (a *Array) AddMissed(at pcp.Timestamp, missed uint32) error {
	a.params = 0
	return a.record(at, pcp.EventMissed, missed)
}

func (a *Array) record(at pcp.Timestamp, flags pcp.EventFlags, n uint32) error {
	if err := a.room(24); err != nil {
		return err
	}
	if a.highRes {
		a.b = binary.BigEndian.AppendUint64(a.b, uint64(at.Sec))
		a.b = binary.BigEndian.AppendUint64(a.b, uint64(at.Nsec))
	} else {
		a.b = binary.BigEndian.AppendUint32(a.b, uint32(at.Sec))
		a.b = binary.BigEndian.AppendUint32(a.b, uint32(at.Nsec/1000))
	}
	a.b = binary.BigEndian.AppendUint32(a.b, uint32(flags))
	a.b = binary.BigEndian.AppendUint32(a.b, n)
	a.records++
	return nil
}

// room returns an error if n more bytes do not fit into a value.
func (a *Array) room(n int) error {
	if len(a.b) == 0 {
		a.b = append(a.b, 0, 0, 0, 0)
	}
	if n > pcp.ValLenMax-pcp.ValHeaderSize-len(a.b) {
		return pcp.ErrTooBig
	}
	return nil
}

// Param adds a parameter, a value of the metric id, to the last record
// (pmdaEventAddParam, pmdaEventAddHighResParam). If the value is not a number,
// string or aggregate, the error is pcp.ErrType.
func (a *Array) Param(id pcp.PMID, v pcp.Value) error {
	if a.params == 0 {
		return ErrNoRecord
	}
	size := 0
	switch v.Type() {
	case pcp.Type32, pcp.TypeU32, pcp.TypeFloat:
		size = 4
	case pcp.Type64, pcp.TypeU64, pcp.TypeDouble:
		size = 8
	case pcp.TypeString, pcp.TypeAggregate:
		size = len(v.Bytes())
	default:
		return pcp.ErrType
	}
	if err := a.room(8 + size + 3); err != nil {
		return err
	}
	a.b = binary.BigEndian.AppendUint32(a.b, uint32(id))
	a.b = binary.BigEndian.AppendUint32(a.b, uint32(v.Type())<<24|uint32(pcp.ValHeaderSize+size))
	switch v.Type() {
	case pcp.TypeString, pcp.TypeAggregate:
		a.b = append(a.b, v.Bytes()...)
		a.b = append(a.b, "\x00\x00\x00"[:-size&3]...)
	default:
		if size == 4 {
			a.b = binary.BigEndian.AppendUint32(a.b, uint32(v.Bits()))
		} else {
			a.b = binary.BigEndian.AppendUint64(a.b, v.Bits())
		}
	}
	n := a.b[a.params:]
	binary.BigEndian.PutUint32(n, binary.BigEndian.Uint32(n)+1)
	return nil
}

// Value returns the records as the value of a metric (pmdaEventGetAddr,
// pmdaEventGetHighResAddr). It has its own memory: the array can be used
// again at once.
func (a *Array) Value() pcp.Value {
	b := make([]byte, max(len(a.b), 4))
	copy(b, a.b)
	binary.BigEndian.PutUint32(b, uint32(a.records))
	if a.highRes {
		return pcp.BytesValue(pcp.TypeHighResEvent, b)
	}
	return pcp.BytesValue(pcp.TypeEvent, b)
}
