package attack

import (
	"encoding/binary"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// longValues is how many values an agent answers with that is long-winded: 40 MB.
const longValues = 5_000_000

// longResult is an agent's result of one metric with longValues instances.
func longResult(id pcp.PMID) []byte {
	n := wire.HeaderSize + 12 + 12 + 8*longValues
	b := wire.AppendHeader(make([]byte, 0, n), wire.Header{Len: uint32(n), Type: wire.TypeResult})
	for _, w := range []uint32{0, 0, 1, uint32(id), longValues, uint32(pcp.ValInSitu)} {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	for i := range uint32(longValues) {
		b = binary.BigEndian.AppendUint32(b, i)
		b = binary.BigEndian.AppendUint32(b, 3*i)
	}
	return b
}

// TestLongResult has an agent by pipe answer with 40 MB. The client gets them
// all, and the collector needs about three times their length.
func TestLongResult(t *testing.T) {
	c := Start(t, Options{Agents: []string{hostileLine(t, "long", hostileDomain)}})
	c.Watch(t)
	cl := c.Dial(t, "unix")
	before, _ := c.Memory()
	c.ResetPeak()
	for range 3 {
		if err := cl.Send(&wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{pcp.NewPMID(hostileDomain, 0, 1)}}); err != nil {
			t.Fatal(err)
		}
		h, body, err := cl.Next()
		if err != nil || h.Type != wire.TypeHighResResult {
			t.Fatalf("%v, %v", h.Type, err)
		}
		if n := binary.BigEndian.Uint32(body[24:]); n != longValues || len(body) != 20+12+8*longValues {
			t.Fatalf("%d values in %d bytes", n, len(body))
		}
		last := body[len(body)-8:]
		if i, v := binary.BigEndian.Uint32(last), binary.BigEndian.Uint32(last[4:]); i != longValues-1 || v != 3*i {
			t.Errorf("the last value is that of instance %d, %d", i, v)
		}
	}
	c.costs(t, before, 110)
	cl.Conn.Close()
	c.Finish(t, 1)
}
