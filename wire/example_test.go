package wire_test

import (
	"fmt"
	"net"
	"os"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// A client asks for a value, over a connection whose other end answers.
func Example() {
	client, server := net.Pipe()
	defer client.Close()
	go serve(server)

	r := wire.NewReader(client)
	r.Max = wire.MaxPDU // answers may be long
	next := func() wire.PDU {
		h, body, err := r.Next()
		if err != nil {
			panic(err)
		}
		p, err := wire.Decode(h, body)
		if err != nil {
			panic(err)
		}
		return p
	}

	// The server speaks first; the client states its version.
	hello := next().(*wire.Error)
	fmt.Println("server offers", wire.UnpackInfo(hello.Info).Features)
	creds := &wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, 0)}}
	client.Write(wire.Append(nil, wire.FromAnon, creds))

	// The profile of instances, then the metrics: two PDUs, one write.
	b := wire.Append(nil, wire.FromAnon, &wire.Profile{})
	b = wire.Append(b, wire.FromAnon, &wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{pcp.NewPMID(60, 2, 0)}})
	client.Write(b)
	for _, vs := range next().(*wire.Result).Sets {
		for _, v := range vs.Values {
			fmt.Println(vs.PMID, "instance", v.Inst, "is", v.Float())
		}
	}
	// Output:
	// server offers LABELS|HIGHRES
	// 60.2.0 instance 1 is 0.25
	// 60.2.0 instance 5 is 0.5
}

func serve(conn net.Conn) {
	info := wire.Info{Version: wire.PDUVersion, Licensed: 1, Features: wire.FeatureLabels | wire.FeatureHighRes}
	conn.Write(wire.Append(nil, wire.FromAnon, &wire.Error{Extended: true, Info: info.Pack()}))

	var fetch wire.Fetch // reused, as is the result
	var res wire.Result
	var out []byte
	r := wire.NewReader(conn)
	for {
		h, body, err := r.Next()
		if err != nil {
			return
		}
		switch h.Type {
		case wire.TypeFetch, wire.TypeHighResFetch:
			if err := fetch.DecodeBody(body); err != nil {
				return
			}
			res.Reset()
			res.HighRes = h.Type == wire.TypeHighResFetch
			for _, id := range fetch.PMIDs {
				res.AddSet(id)
				res.Add(pcp.FloatValue(0.25).WithInst(1))
				res.Add(pcp.FloatValue(0.5).WithInst(5))
			}
			out = wire.Append(out[:0], wire.FromAnon, &res)
			conn.Write(out)
		}
	}
}

func ExampleDump() {
	res := &wire.Result{}
	res.Time = pcp.Timestamp{Sec: 1000000000, Nsec: 1500000}
	res.AddSet(pcp.NewPMID(29, 0, 31))
	res.Add(pcp.StringValue("hullo"))
	res.AddError(pcp.NewPMID(29, 0, 54), pcp.ErrPMID)
	wire.Dump(os.Stdout, wire.Append(nil, wire.FromAnon, res))
	// Output:
	// 0000 00000040                             length 64
	// 0004 00007001                             RESULT
	// 0008 00000000                             from 0
	// 000c 3b9aca00                             1000000000 s
	// 0010 000005dc                             1500 µs
	// 0014 00000002                             2 sets
	// 0018 0740001f                             pmid 29.0.31
	// 001c 00000001                             1 values
	// 0020 00000001                             format 1
	// 0024 ffffffff                               instance -1
	// 0028 0000000d                               value at 0034
	// 002c 07400036                             pmid 29.0.54
	// 0030 ffffcfba                             error -12358
	// 0034 0600000a                             block of 10 bytes, STRING
	// 0038 68756c6c 6f007e7e                      "hullo\x00~~"
}
