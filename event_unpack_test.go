package pcp

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// events packs records in the layout of the protocol; each word is a uint32
// or raw bytes.
func events(words ...any) []byte {
	var b []byte
	for _, w := range words {
		switch w := w.(type) {
		case int:
			b = binary.BigEndian.AppendUint32(b, uint32(w))
		case uint32:
			b = binary.BigEndian.AppendUint32(b, w)
		case PMID:
			b = binary.BigEndian.AppendUint32(b, uint32(w))
		case string:
			b = append(b, w...)
		}
	}
	return b
}

func TestEventRecordsLayout(t *testing.T) {
	a, b := NewPMID(29, 0, 1), NewPMID(29, 0, 2)
	v := BytesValue(TypeEvent, events(
		3,                                // records
		100, 5000, uint32(EventPoint), 2, // time, flags, parameters
		a, uint32(TypeU32)<<24|8, 42, // 4 of header, 4 of value
		b, uint32(TypeString)<<24|10, "hello\x00\x00\x00", // padded
		101, 0, uint32(EventMissed), 7, // 7 were lost
		102, 999999, 0, 3, //
		a, uint32(TypeDouble)<<24|12, 0x3ff80000, 0, // 1.5
		b, uint32(TypeAggregate)<<24|7, "\x01\x02\x03\x00", //
		a, uint32(TypeFloat)<<24|8, 0x40000000, // 2
	))
	got, err := v.EventRecords()
	if err != nil {
		t.Fatal(err)
	}
	want := []EventRecord{
		{Timestamp{100, 5000000}, EventPoint, 0, []EventParam{
			{a, RawValue(TypeUnknown, 42)}, {b, BytesValue(TypeString, []byte("hello"))},
		}},
		{Timestamp{101, 0}, EventMissed, 7, nil},
		{Timestamp{102, 999999000}, 0, 0, []EventParam{
			{a, DoubleValue(1.5)}, {b, BytesValue(TypeAggregate, []byte{1, 2, 3})}, {a, FloatValue(2)},
		}},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(Value{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}

	v = BytesValue(TypeHighResEvent, events(1, 0, 100, 0, 123456789, uint32(EventStart|EventID), 0))
	got, err = v.EventRecords()
	want = []EventRecord{{Time: Timestamp{100, 123456789}, Flags: EventStart | EventID, Params: []EventParam{}}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}

func TestEventRecordsBad(t *testing.T) {
	f := func(name string, typ Type, want error, words ...any) {
		t.Helper()
		got, err := BytesValue(typ, events(words...)).EventRecords()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, want)
		}
	}
	a := NewPMID(29, 0, 1)
	f("not events", TypeString, ErrType, 0)
	f("nothing", TypeEvent, ErrTooSmall)
	f("less than no records", TypeEvent, ErrTooSmall, -1)
	f("a claim of many records", TypeEvent, ErrTooBig, 0x7fffffff, 1, 2, 3, 4)
	f("cut in the record", TypeEvent, ErrTooBig, 1, 1, 2, 3)
	f("cut in the second record", TypeEvent, ErrTooBig, 2, 1, 2, 0, 1, a, uint32(TypeU32)<<24|8, 1, 1, 2, 3)
	f("a claim of many parameters", TypeEvent, ErrTooBig, 1, 1, 2, 0, -1, a, uint32(TypeU32)<<24|8, 1)
	f("cut in the parameter", TypeEvent, ErrTooBig, 1, 1, 2, 0, 1, a, uint32(TypeU32)<<24|12, 1)
	f("parameter shorter than its header", TypeEvent, ErrTooSmall, 1, 1, 2, 0, 1, a, uint32(TypeU32)<<24|3, 1)
	f("number too short for its type", TypeEvent, ErrTooSmall, 1, 1, 2, 0, 1, a, uint32(TypeU64)<<24|8, 1)
	f("array in array", TypeEvent, ErrType, 1, 1, 2, 0, 1, a, uint32(TypeEvent)<<24|8, 0)
	f("lost and more", TypeEvent, ErrConv, 1, 1, 2, uint32(EventMissed|EventPoint), 1)
	f("low resolution read as high", TypeHighResEvent, ErrTooBig, 1, 1, 2, 0, 0)
}
