package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// TestRelay checks that relayed bytes do not change, even of a PDU that has no
// meaning, and that all of them are recorded.
func TestRelay(t *testing.T) {
	stream := wire.Append(nil, 7, &wire.DescReq{PMID: pcp.NewPMID(29, 0, 10)})
	stream = append(wire.AppendHeader(stream, wire.Header{Len: 15, Type: 0x7777, From: -1}), "abc"...)
	var to, text bytes.Buffer
	c := &capture{w: &text}
	if err := c.relay(">", &to, bytes.NewReader(stream)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(to.Bytes(), stream) {
		t.Errorf("passed on % x, want % x", to.Bytes(), stream)
	}
	const want = `> DESC_REQ
0000 00000010                             length 16
0004 00007004                             DESC_REQ
0008 00000007                             from 7
000c 0740000a                             pmid 29.0.10
> TYPE-30583?
0000 0000000f                             length 15
0004 00007777                             TYPE-30583?
0008 ffffffff                             from -1
000c 616263                               ? "abc"
`
	if got := text.String(); got != want {
		t.Errorf("captured\n%swant\n%s", got, want)
	}
	err := c.relay("<", &to, strings.NewReader("\x00\x00\x00\x01 and so on"))
	if err == nil {
		t.Error("a stream that is no PDU is passed on")
	}
}
