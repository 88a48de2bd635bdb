package pmda_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// An attrCounter counts attributes, and clients that end.
type attrCounter struct {
	*fixture
	attrs, ended int
	bytes        int
}

func (a *attrCounter) Attribute(_ context.Context, _ *pmda.Client, _ pmda.AttrKey, value string) error {
	a.attrs++
	a.bytes += len(value)
	return nil
}

func (a *attrCounter) EndContext(*pmda.Client) { a.ended++ }

// TestHostileCollector has a collector send attributes, clients and errors
// without end. The agent keeps some of them, writes a few lines, and answers.
func TestHostileCollector(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	var log bytes.Buffer
	a := &attrCounter{fixture: newFixture(t)}
	done := make(chan error, 1)
	go func() {
		defer far.Close()
		done <- pmda.Serve(t.Context(), far, a, pmda.ServeOptions{Log: slog.New(slog.NewTextHandler(&log, nil)), Attributes: true})
	}()
	r := wire.NewReader(near)
	if h, _, err := r.Next(); err != nil || h.Type != wire.TypeCreds {
		t.Fatalf("agent begins with %v, %v", h.Type, err)
	}
	say := func(from int32, pdus ...wire.PDU) {
		t.Helper()
		var b []byte
		for _, p := range pdus {
			b = wire.Append(b, from, p)
		}
		if _, err := near.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	// answers checks that the agent has done all that and answers.
	answers := func() {
		t.Helper()
		say(0, &wire.DescReq{PMID: pcp.NewPMID(domain, 1, 0)})
		if h, _, err := r.Next(); err != nil || h.Type != wire.TypeDesc {
			t.Fatalf("a request is answered with %v, %v", h.Type, err)
		}
	}
	say(0, &wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, wire.FeatureAuth)}})
	for i := range 10000 {
		say(1, &wire.Attr{Attr: pmda.AttrKey(i + 1), Value: []byte("x")})
	}
	answers()
	if a.attrs != 64 {
		t.Errorf("one client has %d attributes, want 64", a.attrs)
	}
	long := bytes.Repeat([]byte("y"), 4000)
	for i := range 10000 {
		say(int32(i+2), &wire.Attr{Attr: pmda.AttrUserName, Value: long})
	}
	answers()
	if a.bytes > 16<<20 || a.bytes < 15<<20 {
		t.Errorf("attributes of %d bytes are kept, want 16 MiB at the most", a.bytes)
	}
	// A client that leaves makes room.
	before := a.attrs
	for i := range 100 {
		say(int32(i+2), &wire.Error{Code: pcp.ErrNotConn})
	}
	for i := range 50 {
		say(int32(i+2), &wire.Attr{Attr: pmda.AttrUserName, Value: long})
	}
	answers()
	if a.ended != 100 || a.attrs != before+50 {
		t.Errorf("%d clients ended, and %d attributes were taken after that, want 100 and 50", a.ended, a.attrs-before)
	}
	for range 10000 {
		say(1, &wire.Error{Code: pcp.ErrPermission})
	}
	for i := range 70000 { // more clients than there can be
		say(int32(i), &wire.Attr{Attr: pmda.AttrUserID, Value: []byte("0")})
	}
	answers()
	near.Close()
	if err := <-done; err != nil && err != io.ErrClosedPipe {
		t.Errorf("Serve: %v", err)
	}
	if n := strings.Count(log.String(), "\n"); n > 30 {
		t.Errorf("%d lines of the log, want at most 30; the last is %s", n, log.Bytes()[max(0, log.Len()-200):])
	}
}
