package pmcd_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/wire"
)

// FuzzClient sends a server arbitrary bytes after a good handshake. It must end
// the connection or answer, and continue to serve others.
func FuzzClient(f *testing.F) {
	s := start(f, pmcd.Config{Agents: []pmcd.AgentSpec{
		builtin(f, "pmcd"), builtin(f, "simple"), inProcess("other", 301, refresher{&scripted{}}),
	}})
	id := pcp.NewPMID(253, 0, 1)
	for _, p := range []wire.PDU{
		&wire.Profile{Profile: pcp.Profile{State: pcp.ProfileExclude, InDoms: []pcp.ProfileInDom{{InDom: pcp.NewInDom(253, 0), Insts: []int32{1, 2}}}}},
		&wire.Fetch{PMIDs: []pcp.PMID{id}}, &wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{id, pcp.NewPMID(2, 0, 3)}},
		&wire.DescReq{PMID: id}, &wire.DescIDs{PMIDs: []pcp.PMID{id, id}},
		&wire.InstanceReq{InDom: pcp.NewInDom(253, 0), Inst: pcp.InNull, Name: "red"},
		&wire.TextReq{Ident: uint32(id), Kind: pcp.TextPMID | pcp.TextHelp},
		&wire.LabelReq{Ident: uint32(id), Kind: pcp.LabelItem},
		&wire.PMNSIDs{PMIDs: []pcp.PMID{id}}, &wire.PMNSNames{Names: []string{"simple.color", "x"}},
		&wire.PMNSChild{Name: "simple", WithStatus: true}, &wire.PMNSTraverse{Name: ""},
		&wire.Result{Result: storeOf(id, 7)}, &wire.Attr{Attr: wire.AttrContainer, Value: []byte("x")},
		&wire.Creds{Creds: []wire.Cred{wire.VersionCred(2, 0xffff)}}, &wire.Error{Code: pcp.ErrNotConn},
	} {
		b := wire.Append(nil, 0, &wire.Profile{})
		f.Add(wire.Append(b, 0, p))
	}
	f.Add(header(13, wire.TypeFetch))
	bystander := dial(f, "unix", s.Socket)
	bystander.conn.SetDeadline(time.Time{})
	bystander.fetch(pcp.NewPMID(301, 0, 5))
	f.Fuzz(func(t *testing.T, b []byte) {
		conn, err := net.Dial("unix", s.Socket)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(time.Minute))
		conn.Write(wire.Append(nil, 0, &wire.Creds{Creds: []wire.Cred{wire.VersionCred(2, 0)}}))
		conn.Write(b)
		conn.(*net.UnixConn).CloseWrite()
		if _, err := io.Copy(io.Discard, conn); err != nil && !isReset(err) {
			t.Fatalf("%x: %v", b, err)
		}
		bystander.t = t
		res := bystander.fetchAgain(pcp.NewPMID(301, 0, 5))
		if len(res.Sets) != 1 || len(res.Sets[0].Values) != 1 {
			t.Fatalf("after %x a bystander gets %+v", b, res.Sets)
		}
	})
}

// FuzzAuthentication sends messages in answer to the offer of mechanisms.
func FuzzAuthentication(f *testing.F) {
	f.Add([]byte("PLAIN\x00\x00tux\x00x"), []byte(""))
	f.Add([]byte("SCRAM-SHA-256\x00n,,n=tux,r=abcdefgh"), []byte("c=biws,r=abcdefgh,p=AAAA"))
	f.Add([]byte("\x00\x00"), []byte("\xff"))
	a := accounts(f)
	f.Fuzz(func(t *testing.T, first, second []byte) {
		ex, err := a.Begin(first)
		if err != nil {
			return
		}
		if _, err = ex.Start(); err == nil && !ex.Done() {
			ex.Step(second)
		}
		if ex.Done() {
			t.Errorf("%q, %q make a user of %q", first, second, ex.User())
		}
	})
}
