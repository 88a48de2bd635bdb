package wire_test

import (
	"bytes"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// relayed is a result with values of all formats, and a set without values.
func relayed() (*wire.Result, []pcp.PMID) {
	res := &wire.Result{}
	res.Time.Sec = 2
	ids := []pcp.PMID{pcp.NewPMID(1, 2, 3), pcp.NewPMID(1, 2, 4), pcp.NewPMID(1, 2, 5), pcp.NewPMID(1, 2, 6)}
	res.AddSet(ids[0])
	res.Add(pcp.Uint32Value(7))
	res.AddError(ids[1], pcp.ErrAgain)
	res.AddSet(ids[2])
	res.Add(pcp.StringValue("strings").WithInst(1))
	res.Add(pcp.StringValue("are blocks").WithInst(2))
	res.AddSet(ids[3])
	res.Add(pcp.Uint64Value(1 << 40))
	return res, ids
}

// TestRelay passes a result on in both forms; it must equal the decoded and
// encoded result.
func TestRelay(t *testing.T) {
	for _, highRes := range []bool{true, false} {
		res, ids := relayed()
		body := wire.Append(nil, 0, res)[wire.HeaderSize:]
		p := wire.Relay{HighRes: highRes, Time: pcp.Timestamp{Sec: 77, Nsec: 5000}}
		stamp, same, err := p.Take(body, ids)
		if err != nil || !same || stamp.Sec != 2 {
			t.Fatalf("%v, %v, %v", stamp, same, err)
		}
		head, sets := p.Append(nil, wire.FromAnon)
		res.HighRes, res.Time = highRes, p.Time
		if got, want := append(head, sets...), wire.Append(nil, wire.FromAnon, res); !bytes.Equal(got, want) {
			t.Errorf("high resolution %v: it goes on as\n% x, want\n% x", highRes, got, want)
		}
		body = wire.Append(nil, 0, &wire.Result{Result: res.Result})[wire.HeaderSize:]
		ids[1], ids[2] = ids[2], ids[1]
		if _, same, err := p.Take(body, ids); same || err != nil {
			t.Errorf("one for other metrics is taken: %v", err)
		}
	}
}

// TestRelayRefuses checks that Take refuses exactly the bodies that DecodeBody refuses.
func TestRelayRefuses(t *testing.T) {
	res, ids := relayed()
	good := wire.Append(nil, 0, res)[wire.HeaderSize:]
	check := func(what string, n int, body []byte) {
		t.Helper()
		var r wire.Result
		want := r.DecodeBody(bytes.Clone(body))
		var p wire.Relay
		if _, _, err := p.Take(bytes.Clone(body), ids); (err == nil) != (want == nil) {
			t.Errorf("%s %d: %v, but decoding gives %v", what, n, err, want)
		}
	}
	for n := range good {
		check("cut at", n, good[:n])
		for _, b := range []byte{0, 1, 0x7f, 0xff} {
			bad := bytes.Clone(good)
			bad[n] = b
			check("another byte at", n, bad)
		}
	}
}
