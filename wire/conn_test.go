package wire_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"testing/iotest"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// countReader counts calls.
type countReader struct {
	io.Reader
	reads int
}

func (r *countReader) Read(b []byte) (int, error) { r.reads++; return r.Reader.Read(b) }

// TestReader reads the captures as one stream, in pieces of several sizes.
func TestReader(t *testing.T) {
	all := captures(t)
	var stream []byte
	for _, c := range all {
		stream = append(stream, c.pdu...)
	}
	f := func(name string, from io.Reader) {
		t.Helper()
		r := wire.NewReader(from)
		for _, c := range all {
			h, body, err := r.Next()
			if err != nil {
				t.Fatalf("%s: %s: %v", name, c.where, err)
			}
			if h != c.header() || !bytes.Equal(body, c.body()) {
				t.Fatalf("%s: %s: read %+v % x", name, c.where, h, body)
			}
		}
		for range 2 {
			if _, _, err := r.Next(); err != io.EOF {
				t.Errorf("%s: error at the end %v, want io.EOF", name, err)
			}
		}
	}
	f("whole", bytes.NewReader(stream))
	f("a byte at a time", iotest.OneByteReader(bytes.NewReader(stream)))
	f("half", iotest.HalfReader(bytes.NewReader(stream)))
	f("error with data", iotest.DataErrReader(bytes.NewReader(stream)))
	if n := (len(stream) + 2047) / 2048; true {
		c := &countReader{Reader: bytes.NewReader(stream)}
		f("counted", c)
		if c.reads > 2*n+2 {
			t.Errorf("%d reads of %d bytes in PDUs that come together", c.reads, len(stream))
		}
	}
}

func TestReaderBadHeader(t *testing.T) {
	f := func(name string, stream string, limit int, want ...error) {
		t.Helper()
		r := wire.NewReader(bytes.NewReader([]byte(stream)))
		r.Max = limit
		for i := range 2 { // the second call returns the same
			_, _, err := r.Next()
			for _, w := range want {
				if !errors.Is(err, w) {
					t.Errorf("%s: call %d: %v, want %v", name, i, err, w)
				}
			}
		}
	}
	const errorPDU = "\x00\x00\x70\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	f("empty", "", 0, io.EOF)
	f("part of a header", "\x00\x00\x00", 0, io.ErrUnexpectedEOF)
	f("part of a body", "\x00\x00\x00\x10"+errorPDU[:9], 0, io.ErrUnexpectedEOF)
	f("length of nothing", "\x00\x00\x00\x00"+errorPDU, 0, pcp.ErrIPC)
	f("length within the header", "\x00\x00\x00\x0b"+errorPDU, 0, pcp.ErrIPC)
	f("negative length", "\xff\xff\xff\xff"+errorPDU, wire.MaxPDU, pcp.ErrTooBig)
	f("above the default", "\x00\x01\x00\x01"+errorPDU, 0, pcp.ErrTooBig)
	f("above Max", "\x00\x00\x00\x10"+errorPDU, 15, pcp.ErrTooBig)
	f("text", "GET / HTTP/1.1\r\n\r\n", 0, pcp.ErrTooBig)
}

// A length is a claim: a peer that claims 64 MiB and sends nothing costs nothing.
func TestReaderMemory(t *testing.T) {
	head := wire.AppendHeader(nil, wire.Header{Len: wire.MaxPDU, Type: wire.TypeResult})
	got := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r := wire.NewReader(bytes.NewReader(head))
			r.Max = wire.MaxPDU
			if _, _, err := r.Next(); err != io.ErrUnexpectedEOF {
				b.Fatal(err)
			}
		}
	}).AllocedBytesPerOp()
	if got > 8192 {
		t.Errorf("%d bytes taken for a PDU of which nothing came", got)
	}
}

// A long PDU arrives complete although the buffer grows meanwhile, and its
// neighbours are not affected.
func TestReaderGrows(t *testing.T) {
	small := wire.Append(nil, 1, &wire.DescReq{PMID: pcp.NewPMID(29, 0, 10)})
	long := wire.Append(nil, 2, &wire.Text{Ident: 1, Text: string(bytes.Repeat([]byte("0123456789abcdef"), 20000))})
	var stream []byte
	for i := range 400 {
		stream = append(stream, small...)
		if i%150 == 3 {
			stream = append(stream, long...)
		}
	}
	r := wire.NewReader(iotest.HalfReader(bytes.NewReader(stream)))
	r.Max = wire.MaxPDU
	for len(stream) > 0 {
		h, body, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		got := append(wire.AppendHeader(nil, h), body...)
		if !bytes.HasPrefix(stream, got) {
			t.Fatalf("PDU %+v is not what was sent", h)
		}
		stream = stream[len(got):]
	}
}

// A deadline in the middle of a PDU loses nothing.
func TestReaderDeadline(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	defer server.Close()
	pdu := wire.Append(nil, 0, &wire.PMNSTraverse{Name: "sample.long"})
	r := wire.NewReader(server)
	for _, part := range [][]byte{pdu[:5], pdu[5:20]} {
		server.SetReadDeadline(time.Time{})
		go func() {
			client.Write(part) // returns when it has been read
			server.SetReadDeadline(time.Unix(1, 0))
		}()
		if _, _, err := r.Next(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("part of a PDU: %v, want a deadline", err)
		}
	}
	if got := r.Buffered(); got != 20 {
		t.Errorf("Buffered() = %d, want 20", got)
	}
	go client.Write(pdu[20:])
	server.SetReadDeadline(time.Time{})
	_, body, err := r.Next()
	if err != nil || !bytes.Equal(body, pdu[wire.HeaderSize:]) {
		t.Errorf("after the deadlines: % x, %v", body, err)
	}
}

type idleReader struct{}

func (idleReader) Read([]byte) (int, error) { return 0, nil }

func TestReaderNoProgress(t *testing.T) {
	if _, _, err := wire.NewReader(idleReader{}).Next(); err != io.ErrNoProgress {
		t.Errorf("a stream that gives nothing: %v, want io.ErrNoProgress", err)
	}
}

// pieces gives at most n bytes at a time.
type pieces struct {
	b []byte
	n int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.b) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.b[:min(p.n, len(p.b))])
	p.b = p.b[n:]
	return n, nil
}

// TestReaderTake has a stream change its protocol after a PDU.
func TestReaderTake(t *testing.T) {
	first := wire.Append(nil, 1, &wire.DescReq{PMID: 1})
	r := wire.NewReader(bytes.NewReader(slices.Concat(first, []byte("other words"), first)))
	if _, _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	want := "other words" + string(first)
	if got := r.Take(); string(got) != want || r.Buffered() != 0 {
		t.Errorf("Take() = %q, leaving %d bytes, want %q", got, r.Buffered(), want)
	}
	if got := r.Take(); len(got) != 0 {
		t.Errorf("Take() again = %q", got)
	}
}

// TestReaderRest checks that memory is released between PDUs, and not inside of one.
func TestReaderRest(t *testing.T) {
	pdu := wire.Append(nil, 0, &wire.Error{Code: -5})
	near, far := net.Pipe()
	defer near.Close()
	r := wire.NewReader(near)
	go func() {
		defer far.Close()
		far.Write(pdu)
		far.Write(append(append([]byte(nil), pdu...), pdu[:5]...))
		far.Write(pdu[5:])
	}()
	for i := range 3 {
		h, _, err := r.Next()
		if err != nil || h.Type != wire.TypeError {
			t.Fatalf("PDU %d: %v, %v", i, h, err)
		}
		r.Rest()
	}
	if _, _, err := r.Next(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}
