package pcp

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/testing/oracle/clib"
)

// packEvents packs records in the given byte order, that of PDUs or of C.
func packEvents(order binary.AppendByteOrder, records []EventRecord, highRes bool) []byte {
	b := order.AppendUint32(nil, uint32(len(records)))
	for _, r := range records {
		if highRes {
			b = order.AppendUint64(b, uint64(r.Time.Sec))
			b = order.AppendUint64(b, uint64(r.Time.Nsec))
		} else {
			b = order.AppendUint32(b, uint32(r.Time.Sec))
			b = order.AppendUint32(b, uint32(r.Time.Nsec/1000))
		}
		b = order.AppendUint32(b, uint32(r.Flags))
		if r.Flags&EventMissed != 0 {
			b = order.AppendUint32(b, r.Missed)
			continue
		}
		b = order.AppendUint32(b, uint32(len(r.Params)))
		for _, p := range r.Params {
			data := append([]byte{}, p.Value.Bytes()...)
			switch p.Value.Type() {
			case TypeString:
				data = append(data, 0)
			case Type32, TypeU32, TypeFloat:
				data = order.AppendUint32(nil, uint32(p.Value.Bits()))
			case Type64, TypeU64, TypeDouble:
				data = order.AppendUint64(nil, p.Value.Bits())
			}
			b = order.AppendUint32(b, uint32(p.PMID))
			b = order.AppendUint32(b, uint32(p.Value.Type())<<24|uint32(len(data)+4))
			b = append(b, data...)
			for len(b)%4 != 0 {
				b = append(b, '~')
			}
		}
	}
	return b
}

func randomEvents(r *rand.Rand, n int) []EventRecord {
	records := make([]EventRecord, n)
	for i := range records {
		rec := EventRecord{Time: Timestamp{r.Int64N(1 << 31), r.Int32N(1e6) * 1000}, Flags: EventFlags(r.IntN(32))}
		for range r.IntN(4) {
			values := []Value{Int32Value(-1), Uint32Value(7), Int64Value(-1 << 40), DoubleValue(2.5), FloatValue(1.5), StringValue("abcde"[:r.IntN(6)]), BytesValue(TypeAggregate, []byte("xyz"))}
			rec.Params = append(rec.Params, EventParam{NewPMID(29, 0, r.IntN(1000)), values[r.IntN(len(values))]})
		}
		records[i] = rec
	}
	return records
}

func TestOracleEvents(t *testing.T) {
	r := newRand(t)
	var tr clib.Trial
	for range 300 {
		records := randomEvents(r, r.IntN(5))
		for _, typ := range []Type{TypeEvent, TypeHighResEvent} {
			highRes := typ == TypeHighResEvent
			v := BytesValue(typ, packEvents(binary.BigEndian, records, highRes))
			theirs := clib.Hex(packEvents(binary.NativeEndian, records, highRes))
			tr.Add(clib.Hex(v.String()), "atom %d %s %d", typ, theirs, typ)
			tr.Add(clib.Hex(v.AppendPrint(nil, typ, 30, time.UTC)), "print 1 %d %s %d 30", typ, theirs, typ)
		}
	}
	tr.Compare(t)
}

func TestEventRecords(t *testing.T) {
	records := randomEvents(newRand(t), 20)
	records = append(records, EventRecord{Flags: EventMissed, Missed: 12}, EventRecord{Time: Timestamp{5, 1000}})
	for _, typ := range []Type{TypeEvent, TypeHighResEvent} {
		packed := packEvents(binary.BigEndian, records, typ == TypeHighResEvent)
		v := BytesValue(typ, packed)
		got, err := v.EventRecords()
		if err != nil {
			t.Fatal(err)
		}
		// Numbers of 32 bits are returned without their type.
		plain := func(list []EventRecord) string {
			s := ""
			for _, r := range list {
				s += fmt.Sprint(r.Time, r.Flags, r.Missed)
				for _, p := range r.Params {
					if p.Value.Type() == TypeUnknown || p.Value.Type().InSitu() {
						s += fmt.Sprint(p.PMID, p.Value.Bits())
					} else {
						s += fmt.Sprint(p.PMID, p.Value)
					}
				}
				s += "\n"
			}
			return s
		}
		if a, b := plain(got), plain(records); a != b {
			t.Errorf("%v:\n%s\nwant\n%s", typ, a, b)
		}
		// The summary of an array with a record of lost records.
		if s := summarizeEvents(packed, typ == TypeHighResEvent); s.records != 22 || s.missed != 12 || s.last != records[20].Time {
			t.Errorf("%v: summary %+v", typ, s)
		}
		// A cut at any place is an error, not a panic.
		for n := range packed {
			cut := BytesValue(typ, packed[:n])
			if _, err := cut.EventRecords(); err == nil {
				t.Fatalf("%v: %d of %d bytes are accepted", typ, n, len(packed))
			}
			cut.AppendPrint(nil, typ, 0, time.UTC)
		}
	}
	if _, err := Int32Value(1).EventRecords(); err != ErrType {
		t.Errorf("records of a number: %v", err)
	}
}

func FuzzEventRecords(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3 {
		records := randomEvents(r, 3)
		f.Add(packEvents(binary.BigEndian, records, false), false)
		f.Add(packEvents(binary.BigEndian, records, true), true)
	}
	f.Add([]byte("\x7f\xff\xff\xff"), false)
	f.Fuzz(func(t *testing.T, data []byte, highRes bool) {
		typ := TypeEvent
		if highRes {
			typ = TypeHighResEvent
		}
		v := BytesValue(typ, data)
		v.AppendPrint(nil, typ, 0, time.UTC)
		records, err := v.EventRecords()
		if err != nil {
			if Code(err) == ErrGeneric {
				t.Fatalf("no status in %v", err)
			}
			return
		}
		n := 0
		for _, r := range records {
			n += 16 + 8*len(r.Params)
		}
		if n > len(data) {
			t.Fatalf("%d bytes hold records of at least %d", len(data), n)
		}
	})
}
