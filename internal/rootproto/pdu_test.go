package rootproto

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
)

type pdu interface {
	Append([]byte) []byte
	Decode([]byte) error
}

// TestBytes compares PDUs with those that libpcp_pmda sends.
func TestBytes(t *testing.T) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("the bytes were taken from a little-endian machine")
	}
	f := func(p, into pdu, want string) {
		t.Helper()
		b := p.Append(nil)
		if got := hex.EncodeToString(b); got != strings.ReplaceAll(want, " ", "") {
			t.Errorf("%+v is\n%s, want\n%s", p, got, want)
		}
		if err := into.Decode(b); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
		if d := cmp.Diff(p, into); d != "" {
			t.Errorf("round trip (-want +got):\n%s", d)
		}
	}
	f(&Info{Features: 7}, &Info{}, "00900000 18000000 00000000 02000000 07000000 00000000")
	f(&Container{Type: TypeProcessIDReq, Name: "web"}, &Container{},
		"03900000 1b000000 00000000 02000000 00000000 03000000 776562")
	f(&Container{Type: TypeHostName, Status: pcp.ErrNoContainer, PID: 9}, &Container{},
		"02900000 18000000 91cfffff 02000000 09000000 00000000")
	f(&Start{Type: TypeStartReq, IPC: IPCPipe, Label: "x", Args: "/a -b"}, &Start{},
		"07900000 6d000000 00000000 02000000 00000000 00000000 00000000 02000000 01000000 05000000 78"+
			strings.Repeat("00", 63)+"2f61202d62")
	f(&Start{Type: TypeStart, PID: 258, Label: "x"}, &Start{},
		"08900000 68000000 00000000 02000000 02010000 00000000 00000000 00000000 01000000 00000000 78"+strings.Repeat("00", 63))
	f(&Stop{Type: TypeStopReq, PID: -1}, &Stop{},
		"09900000 20000000 00000000 02000000 ffffffff 00000000 00000000 00000000")
	f(&Stop{Type: TypeStop, PID: 3, Code: 256, Force: true}, &Stop{},
		"0a900000 20000000 00000000 02000000 03000000 00010000 01000000 00000000")
}

// TestRefused has PDUs with false lengths and contents.
func TestRefused(t *testing.T) {
	name := (&Container{Type: TypeHostNameReq, Name: "web"}).Append(nil)
	start := (&Start{Type: TypeStartReq, IPC: IPCPipe, Label: "label", Args: "/a -b"}).Append(nil)
	stop := (&Stop{Type: TypeStopReq}).Append(nil)
	f := func(what string, into pdu, from []byte, at int, bytes ...byte) {
		t.Helper()
		b := append([]byte(nil), from...)
		copy(b[at:], bytes)
		if err := into.Decode(b); !errors.Is(err, pcp.ErrIPC) {
			t.Errorf("%s: %v", what, err)
		}
	}
	c, s := new(Container), new(Start)
	minus := []byte{0xff, 0xff, 0xff, 0xff}
	f("negative length", c, name, 4, minus...)
	f("length of a header alone", c, name, 4, 16, 0, 0, 0)
	f("length beyond what came", c, name, 4, 28, 0, 0, 0)
	f("huge length", c, name, 4, 0, 0, 0, 0x7f)
	f("version 0", c, name, 12, 0, 0, 0, 0)
	f("version 3", c, name, 12, 3, 0, 0, 0)
	f("negative version", c, name, 12, minus...)
	f("another type", c, name, 0, 7)
	f("name longer than the PDU", c, name, 20, 4, 0, 0, 0)
	f("negative name", c, name, 20, minus...)
	f("NUL in a name", c, name, 25, 0)
	f("label longer than its room", s, start, 32, 64, 0, 0, 0)
	f("negative label", s, start, 32, minus...)
	f("NUL in a label", s, start, 41, 0)
	f("command longer than the PDU", s, start, 36, 6, 0, 0, 0)
	f("negative command", s, start, 36, minus...)
	f("NUL in a command", s, start, 106, 0)
	f("a question about a container to start", s, name, 0)
	f("stop of another type", new(Stop), stop, 0, 1)
	f("long stop", new(Stop), append(append([]byte(nil), stop...), 0), 4, 33, 0, 0, 0)
	f("short stop", new(Stop), stop[:30], 4, 30, 0, 0, 0)
	f("greeting of another type", new(Info), (&Info{}).Append(nil), 0, 1)
	for n := range name {
		if err := c.Decode(name[:n]); err == nil {
			t.Errorf("%d of %d bytes are accepted", n, len(name))
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, p := range []pdu{
		&Info{Features: 7}, &Container{Type: TypeHostName, PID: 1, Name: "web"}, &Container{Type: TypeCGroupNameReq, Name: "../../x"},
		&Start{Type: TypeStartReq, IPC: IPCPipe, Label: "linux", Args: "/x/pmdalinux -d 60"}, &Start{Type: TypeStart, PID: 7},
		&Stop{Type: TypeStopReq, PID: -1}, &Stop{Type: TypeStop, PID: 1, Code: 9, Force: true},
	} {
		f.Add(p.Append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, p := range []pdu{new(Info), new(Container), new(Start), new(Stop)} {
			if p.Decode(b) != nil {
				continue
			}
			again := p.Append(nil)
			var q pdu
			switch p.(type) {
			case *Info:
				q = new(Info)
			case *Container:
				q = new(Container)
			case *Start:
				q = new(Start)
			case *Stop:
				q = new(Stop)
			}
			if err := q.Decode(again); err != nil {
				t.Fatalf("%+v: %v", p, err)
			}
			if d := cmp.Diff(p, q); d != "" {
				t.Fatal(d)
			}
			if len(again) > len(b) || !bytes.Equal(again[:4], b[:4]) {
				t.Fatalf("% x became % x", b, again)
			}
		}
	})
}
