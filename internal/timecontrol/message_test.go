package timecontrol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
)

var example = Message{
	Command: Set, Source: Archive, State: Backward, Mode: FastMode, Delta: 1500 * time.Millisecond,
	Position: pcp.Timestamp{Sec: 1000, Nsec: 2000}, Start: pcp.Timestamp{Sec: -5, Nsec: 999999000}, End: pcp.Timestamp{Sec: 1 << 33},
	Zone: "EST-10", ZoneLabel: "localhost",
}

func TestMessageRoundTrip(t *testing.T) {
	b := example.Append([]byte("x"))[1:]
	if len(b) != fixedLen+len("EST-10")+len("localhost")+2 {
		t.Errorf("%d bytes", len(b))
	}
	ne := binary.NativeEndian
	if ne.Uint32(b) != 0x54494d45 || ne.Uint32(b[8:]) != 1 || ne.Uint64(b[24:]) != 1 || ne.Uint64(b[32:]) != 500000 {
		t.Errorf("layout: % x", b[:40])
	}
	var got Message
	if err := got.Decode(b); err != nil || got != example {
		t.Errorf("got %+v, %v", got, err)
	}
	for n := range b {
		if err := new(Message).Decode(b[:n]); !errors.Is(err, ErrMessage) {
			t.Errorf("%d bytes: %v", n, err)
		}
		err := new(Message).read(bytes.NewReader(b[:n]))
		if want := io.ErrUnexpectedEOF; n > 0 && !errors.Is(err, want) || n == 0 && err != io.EOF {
			t.Errorf("reading %d bytes: %v", n, err)
		}
	}
}

func TestMessageZoneIsCut(t *testing.T) {
	m := Message{Zone: strings.Repeat("z", 2*MaxZone), ZoneLabel: "a\x00b"}
	var got Message
	if err := got.Decode(m.Append(nil)); err != nil || len(got.Zone) != MaxZone || got.ZoneLabel != "a" {
		t.Errorf("zone of %d, label %q, %v", len(got.Zone), got.ZoneLabel, err)
	}
}

func FuzzMessage(f *testing.F) {
	f.Add(example.Append(nil))
	f.Add((&Message{Command: Step}).Append(nil))
	bad := example.Append(nil)
	bad[40] = 0xff
	f.Add(bad)
	f.Fuzz(func(t *testing.T, b []byte) {
		var m, again Message
		if m.Decode(b) != nil {
			return
		}
		if err := again.Decode(m.Append(nil)); err != nil || again != m {
			t.Errorf("%+v, then %+v, %v", m, again, err)
		}
	})
}
