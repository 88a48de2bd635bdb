package attack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// patience is the time limit of a client for prompt answers.
const patience = 2 * time.Minute

// A Client speaks PDUs, good and bad ones.
type Client struct {
	Conn  net.Conn
	Hello wire.Info

	pdus *wire.Reader
}

// NewClient makes a client of a connection.
func NewClient(t testing.TB, conn net.Conn) *Client {
	t.Cleanup(func() { conn.Close() })
	cl := &Client{Conn: conn, pdus: wire.NewReader(conn)}
	cl.pdus.Max = wire.MaxPDU
	return cl
}

// Connect opens a connection, by "tcp" or "unix", and sends nothing.
func (c *Collector) Connect(t testing.TB, network string) *Client {
	t.Helper()
	addr := c.TCP
	if network == "unix" {
		addr = c.Socket
	}
	conn, err := net.Dial(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0) // leaves no port in TIME_WAIT
	}
	return NewClient(t, conn)
}

// Dial connects and shakes hands.
func (c *Collector) Dial(t testing.TB, network string) *Client {
	t.Helper()
	cl := c.Connect(t, network)
	cl.Shake(t)
	return cl
}

// Greet reads the collector's first message.
func (cl *Client) Greet(t testing.TB) {
	t.Helper()
	h, body, err := cl.Next()
	if err != nil {
		t.Fatalf("no greeting: %v", err)
	}
	var e wire.Error
	if h.Type != wire.TypeError || e.DecodeBody(body) != nil || e.Code != 0 {
		t.Fatalf("greeting is %v % x", h.Type, body)
	}
	cl.Hello = wire.UnpackInfo(e.Info)
}

// Shake does the handshake, with a profile that has everything.
func (cl *Client) Shake(t testing.TB) {
	t.Helper()
	cl.Greet(t)
	b := wire.Append(nil, 0, &wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, 0)}})
	if err := cl.Write(wire.Append(b, 0, &wire.Profile{})); err != nil {
		t.Fatal(err)
	}
}

// Next reads a PDU.
func (cl *Client) Next() (wire.Header, []byte, error) {
	cl.Conn.SetReadDeadline(time.Now().Add(patience))
	return cl.pdus.Next()
}

// Write sends bytes.
func (cl *Client) Write(b []byte) error {
	cl.Conn.SetWriteDeadline(time.Now().Add(patience))
	_, err := cl.Conn.Write(b)
	return err
}

// Send sends a PDU.
func (cl *Client) Send(p wire.PDU) error { return cl.Write(wire.Append(nil, 0, p)) }

// Ask sends a PDU and decodes the answer, of whatever type. An ERROR PDU with
// a code below 0 is returned as an error.
func (cl *Client) Ask(p wire.PDU) (wire.PDU, error) {
	if err := cl.Send(p); err != nil {
		return nil, err
	}
	return cl.Answer()
}

// Answer decodes the next PDU except notices of a change of state.
func (cl *Client) Answer() (wire.PDU, error) {
	for {
		h, body, err := cl.Next()
		if err != nil {
			return nil, err
		}
		p, err := wire.Decode(h, body)
		if err != nil {
			return nil, err
		}
		if e, ok := p.(*wire.Error); ok {
			if e.Code > 0 {
				continue
			}
			if e.Code < 0 {
				return p, e.Code
			}
		}
		return p, nil
	}
}

// Fetch asks for values.
func (cl *Client) Fetch(ids ...pcp.PMID) (*wire.Result, error) {
	p, err := cl.Ask(&wire.Fetch{HighRes: true, PMIDs: ids})
	if err != nil {
		return nil, err
	}
	res, ok := p.(*wire.Result)
	if !ok || len(res.Sets) != len(ids) {
		return nil, fmt.Errorf("a fetch is answered with %T %+v", p, p)
	}
	return res, nil
}

// Check fetches, and wants values for all.
func (cl *Client) Check(ids ...pcp.PMID) error {
	res, err := cl.Fetch(ids...)
	if err != nil {
		return err
	}
	for i, vs := range res.Sets {
		if vs.PMID != ids[i] || vs.Err != 0 || len(vs.Values) == 0 {
			return fmt.Errorf("%v: %+v", ids[i], vs)
		}
	}
	return nil
}

// Gone waits until the collector ends the connection, and returns the last
// error that it sent, 0 if none.
func (cl *Client) Gone(t testing.TB) (last pcp.Error) {
	t.Helper()
	for {
		h, body, err := cl.Next()
		if Ended(err) {
			return last
		}
		if err != nil {
			t.Fatalf("the connection should have ended: %v", err)
		}
		var e wire.Error
		if h.Type == wire.TypeError && e.DecodeBody(body) == nil && e.Code < 0 {
			last = e.Code
		}
	}
}

// Ended reports whether err is the end of a connection by the other side.
func Ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// PDU builds one by hand: a header with the true length, and words.
func PDU(t wire.Type, words ...uint32) []byte {
	return Claim(uint32(wire.HeaderSize+4*len(words)), t, words...)
}

// Claim builds a PDU whose header gives this length, true or not.
func Claim(length uint32, t wire.Type, words ...uint32) []byte {
	b := wire.AppendHeader(nil, wire.Header{Len: length, Type: t})
	for _, w := range words {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}
