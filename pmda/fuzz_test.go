package pmda_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// A script is a collector that sends everything at once and then hangs up.
type script struct {
	in  *bytes.Reader
	out bytes.Buffer
}

func (s *script) Read(b []byte) (int, error)  { return s.in.Read(b) }
func (s *script) Write(b []byte) (int, error) { return s.out.Write(b) }

// FuzzServe sends arbitrary bytes after the handshake. Each PDU with a readable
// header gets one answer, or none if its type wants none. The answers can be
// read, and nothing panics.
func FuzzServe(f *testing.F) {
	requests := func(ps ...wire.PDU) {
		var b []byte
		for i, p := range ps {
			b = wire.Append(b, int32(i), p)
		}
		f.Add(b)
		f.Add(b[:len(b)-1])
	}
	id, indom := pcp.NewPMID(domain, 1, 0), pcp.NewInDom(domain, 3)
	var p pcp.Profile
	if err := p.Add(indom, 10, 20); err != nil {
		f.Fatal(err)
	}
	requests(&wire.DescReq{PMID: id}, &wire.InstanceReq{InDom: indom, Inst: pcp.InNull}, &wire.InstanceReq{InDom: indom, Inst: 10})
	requests(&wire.Profile{Profile: p}, &wire.Fetch{PMIDs: []pcp.PMID{id, id + 1, id + 2}}, &wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{id}})
	requests(&wire.TextReq{Ident: uint32(id), Kind: pcp.TextPMID | pcp.TextHelp}, &wire.LabelReq{Ident: uint32(indom), Kind: pcp.LabelInstances})
	requests(&wire.Attr{Attr: pmda.AttrUserID, Value: []byte("0")}, &wire.Error{Code: pcp.ErrNotConn})
	requests(&wire.PMNSNames{Names: []string{"fix.limit"}}, &wire.PMNSIDs{PMIDs: []pcp.PMID{id}})
	requests(&wire.PMNSChild{Name: "fix", WithStatus: true}, &wire.PMNSTraverse{Name: "fix"})
	requests(&wire.Result{Result: pcp.Result{Sets: []pcp.ValueSet{
		{PMID: pcp.NewPMID(domain, 0, 0), Values: []pcp.Value{pcp.Int32Value(1)}},
		{PMID: id, ValFmt: pcp.ValDPtr, Values: []pcp.Value{pcp.Uint64Value(1).WithInst(10)}},
	}}})
	f.Add([]byte("\x00\x00\x00\x0b"))
	f.Add([]byte("\xff\xff\xff\xff\x00\x00\x70\x03\x00\x00\x00\x00"))

	hello := wire.Append(nil, 1, &wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, 0)}})
	f.Fuzz(func(t *testing.T, said []byte) {
		// The agent is small, so that an answer cannot be long because of it.
		fix := newFixture(t)
		s := &script{in: bytes.NewReader(append(bytes.Clone(hello), said...))}
		err := pmda.Serve(context.Background(), s, fix, pmda.ServeOptions{})

		want, whole := countAnswers(said)
		if whole != (err == nil) {
			t.Errorf("Serve: %v, although the stream is whole: %v", err, whole)
		}
		r := wire.NewReader(&s.out)
		r.Max = wire.MaxPDU
		if h, _, err := r.Next(); err != nil || h.Type != wire.TypeCreds {
			t.Fatalf("agent began with %v, %v", h, err)
		}
		got := 0
		for ; ; got++ {
			h, body, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := wire.Decode(h, body); err != nil {
				t.Errorf("answer %d cannot be read: %v", got, err)
			}
		}
		if got != want {
			t.Errorf("%d answers, want %d", got, want)
		}
	})
}

// countAnswers walks over PDUs by their headers alone. whole is false if the
// stream ends within one, or a header is invalid.
func countAnswers(b []byte) (n int, whole bool) {
	for len(b) > 0 {
		if len(b) < wire.HeaderSize {
			return n, false
		}
		size := binary.BigEndian.Uint32(b)
		if size < wire.HeaderSize || size > wire.MaxPDU || int(size) > len(b) {
			return n, false
		}
		switch wire.Type(binary.BigEndian.Uint32(b[4:])) {
		case wire.TypeProfile, wire.TypeAttr, wire.TypeError, wire.TypeCreds:
		default:
			n++
		}
		b = b[size:]
	}
	return n, true
}
