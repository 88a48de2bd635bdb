package pmapi

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// answering returns a conversation with a peer that answers the nth request by the nth list of PDUs.
func answering(t *testing.T, answers ...[]wire.PDU) *conversation {
	client, server := net.Pipe()
	requests := wire.NewReader(bufio.NewReaderSize(server, 1<<16))
	go func() {
		defer server.Close()
		for _, list := range answers {
			if _, _, err := requests.Next(); err != nil {
				return
			}
			for _, p := range list {
				server.Write(wire.Append(nil, 0, p))
			}
		}
		io.Copy(io.Discard, server)
	}()
	c := new(conversation)
	c.use(client)
	t.Cleanup(func() { c.close() })
	return c
}

func TestAsk(t *testing.T) {
	text := &wire.Text{Ident: 1, Text: "help"}
	denied := 0
	f := func(name string, want error, usable bool, ans wire.PDU, answers ...wire.PDU) *conversation {
		t.Helper()
		c := answering(t, answers)
		c.denied = func() { denied++ }
		if err := c.ask(t.Context(), &wire.TextReq{Ident: 1}, ans); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
		if _, ok := c.usable(); ok != usable {
			t.Errorf("%s: connection is of use: %t", name, ok)
		}
		return c
	}
	var got wire.Text
	c := f("answer", nil, true, &got, text)
	if got.Text != "help" {
		t.Errorf("answer is %q", got.Text)
	}
	sent, received := c.pduCounts()
	if sent[wire.TypeTextReq-wire.TypeError] != 1 || received[wire.TypeText-wire.TypeError] != 1 {
		t.Errorf("counted %v and %v", sent, received)
	}
	c = f("after state bits", nil, true, &got, &wire.Error{Code: pcp.Error(AddAgent)}, &wire.Error{Code: pcp.Error(LabelChange)}, text)
	if changes := c.takeChanges(); changes != AddAgent|LabelChange || c.takeChanges() != 0 {
		t.Errorf("state bits are %v", changes)
	}
	f("status", nil, true, nil, &wire.Error{})
	f("status for an answer", pcp.ErrIPC, false, &got, &wire.Error{})
	f("error", pcp.ErrPMID, true, &got, &wire.Error{Code: pcp.ErrPMID})
	f("other PDU", pcp.ErrIPC, false, &got, &wire.Desc{})
	if denied != 0 {
		t.Errorf("%d refusals", denied)
	}
	f("refusal", pcp.ErrPermission, true, &got, &wire.Error{Code: pcp.ErrPermission})
	if denied != 1 {
		t.Errorf("%d refusals, want 1", denied)
	}
}

// TestAskAll checks that answers go with their requests, and that the connection is given up with answers on the way.
func TestAskAll(t *testing.T) {
	const n = window + 2
	answers := make([][]wire.PDU, n)
	for i := range answers {
		answers[i] = []wire.PDU{&wire.Desc{Desc: pcp.Desc{PMID: pcp.PMID(i)}}}
	}
	answers[window] = []wire.PDU{&wire.Error{Code: pcp.ErrPMID}}
	request := func(i int) (wire.PDU, wire.Type) { return &wire.DescReq{PMID: pcp.PMID(i)}, wire.TypeDesc }
	client := answering(t, answers...)
	client.timeout = 0
	next := 0
	// The pipe holds nothing: the peer reads a request only after its last answer was taken.
	client.stream = &stream{conn: eagerWriter{client.conn}}
	err := client.askAll(t.Context(), n, request, func(i int, body []byte, err error) error {
		var ans wire.Desc
		switch {
		case i != next:
			t.Errorf("answer %d, want %d", i, next)
		case i == window:
			if err != pcp.ErrPMID {
				t.Errorf("answer %d: %v", i, err)
			}
		case err != nil || ans.DecodeBody(body) != nil || ans.Desc.PMID != pcp.PMID(i):
			t.Errorf("answer %d: %v, %v", i, ans, err)
		}
		next++
		return nil
	})
	if err != nil || next != n {
		t.Errorf("%d answers, %v", next, err)
	}
	why := errors.New("why")
	f := func(stop int, usable bool) {
		t.Helper()
		c := answering(t, answers[:2]...)
		c.stream = &stream{conn: eagerWriter{c.conn}}
		err := c.askAll(context.Background(), 2, request, func(i int, _ []byte, _ error) error {
			if i == stop {
				return why
			}
			return nil
		})
		if _, ok := c.usable(); !errors.Is(err, why) || ok != usable {
			t.Errorf("stopped at answer %d: %v, of use: %t", stop, err, ok)
		}
	}
	f(0, false)
	f(1, true)
}

// An eagerWriter does not wait for the peer to read.
type eagerWriter struct{ net.Conn }

func (w eagerWriter) Write(b []byte) (int, error) {
	go w.Conn.Write(b)
	return len(b), nil
}

func TestProfileSentOnce(t *testing.T) {
	c := answering(t)
	p := profile{new(pcp.Profile), 7}
	gen, err := c.addProfile(p)
	if err != nil || gen != 7 || len(c.out) == 0 {
		t.Errorf("addProfile = %d, %v, with %d bytes", gen, err, len(c.out))
	}
	c.profileGen = gen
	c.clear()
	if gen, err = c.addProfile(p); err != nil || gen != 7 || len(c.out) != 0 {
		t.Errorf("addProfile again = %d, %v, with %d bytes", gen, err, len(c.out))
	}
	client, server := net.Pipe()
	defer server.Close()
	if err := c.attach(t.Context(), client, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err = c.addProfile(p); err != nil || len(c.out) == 0 {
		t.Errorf("addProfile on a new connection: %v, with %d bytes", err, len(c.out))
	}
}
