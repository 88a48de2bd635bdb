package trace

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// FuzzReader reads a stream of PDUs, in one piece and byte by byte: both give the same, and
// a decoded PDU can be encoded.
func FuzzReader(f *testing.F) {
	greeting := Ack(Version).Append(nil, 1)
	record := (&Record{Kind: Transact, Sync: true, Value: .5, Tag: []byte("tag")}).Append(nil, 1, 4)
	f.Add(greeting)
	f.Add(append(record, greeting...))
	f.Add(record[:len(record)-1])
	f.Add((&Record{Kind: Point, Tag: bytes.Repeat([]byte("x"), MaxTag)}).Append(nil, 1, 16))
	f.Add([]byte{0, 0, 0, 16, 0, 0, 0x70, 0x51, 0, 0, 0, 0, 1, 255, 1, 0})
	f.Add([]byte{0, 0, 0, 28, 0, 0, 0x70, 0x51, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'x', 0, 0, 0})
	f.Add([]byte{0, 0, 0, 28, 0, 0, 0x70, 0x51, 0, 0, 0, 0, 9, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'x', 0, 0, 0})
	f.Add([]byte{0, 0, 0, 28, 0, 0, 0x70, 0x51, 0, 0, 0, 0, 1, 2, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'x', 0, 0, 0})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0x70, 0x51})
	f.Fuzz(func(t *testing.T, b []byte) {
		read := func(in io.Reader) (pdus [][]byte, err error) {
			for r := NewReader(in, 0); ; {
				var pdu []byte
				if _, pdu, err = r.Next(); err != nil {
					return pdus, err
				}
				pdus = append(pdus, bytes.Clone(pdu))
			}
		}
		all, err := read(bytes.NewReader(b))
		slow, slowErr := read(iotest.OneByteReader(bytes.NewReader(b)))
		if !cmp.Equal(all, slow) || err.Error() != slowErr.Error() {
			t.Errorf("%d PDUs, %v; byte by byte %d, %v", len(all), err, len(slow), slowErr)
		}
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, ErrIPC) {
			t.Errorf("error %v", err)
		}
		for _, pdu := range all {
			if ack, err := DecodeAck(pdu); err == nil {
				if back, err := DecodeAck(ack.Append(nil, 1)); back != ack || err != nil {
					t.Errorf("acknowledgement %d becomes %d, %v", ack, back, err)
				}
			}
			var r, back Record
			if err := r.Decode(pdu); err != nil {
				continue
			}
			if err := back.Decode(r.Append(nil, 1, 4)); err != nil || back.Kind != r.Kind || !bytes.Equal(back.Tag, r.Tag) ||
				back.Sync != r.Sync || back.Value != r.Value && r.Value == r.Value {
				t.Errorf("record %+v becomes %+v, %v", r, back, err)
			}
		}
	})
}
