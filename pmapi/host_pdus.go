package pmapi

import (
	"context"
	"fmt"
	"net"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/debugname"
	"github.com/go-pcp/pcp/wire"
)

// A pduConn exchanges PDUs with a collector: requests are added to out, and sent together by
// write. Each has one answer, which come in the order of the requests.
type pduConn struct {
	link
	trace  *trace
	denied func() // called for each refusal, or nil

	stream   *stream
	r        *wire.Reader
	out      []byte  // the requests being sent
	changes  Changes // state bits that came with an answer other than to a fetch
	errReply wire.Error

	sent, received pduCounter
}

// slot is the number of the context at the collector, which each connection
// counts for itself, and each context has its own connection.
const slot = 0

// use makes conn the connection. Nothing was read from it so far.
func (p *pduConn) use(conn net.Conn) {
	p.replace(conn)
	p.frame()
	p.changes = 0
	p.trace.connected(conn)
}

// encrypt continues on conn, which is over the present connection.
func (p *pduConn) encrypt(conn net.Conn) {
	p.wrap(conn)
	p.frame()
}

// frame begins to read PDUs from the connection.
func (p *pduConn) frame() {
	p.stream = &stream{conn: p.conn}
	p.r = wire.NewReader(p.stream)
	p.r.Max = wire.MaxPDU
}

// clear removes the requests from p.out.
func (p *pduConn) clear() { p.out = p.out[:0] }

// write sends p.out.
func (p *pduConn) write() error {
	p.trace.pdus(p.conn, p.out)
	if _, err := p.stream.Write(p.out); err != nil {
		return newConnError(err)
	}
	p.sent.countAll(p.out)
	return nil
}

// read receives one PDU.
func (p *pduConn) read() (wire.Header, []byte, error) {
	hdr, body, err := p.r.Next()
	if err != nil {
		return hdr, nil, newConnError(err)
	}
	p.received.count(hdr.Type)
	if p.trace.on(debugname.PDU) {
		p.trace.pdu("pmGetPDU", p.conn, hdr, body)
	}
	return hdr, body, nil
}

// add appends a request to p.out. It refuses a request for which the
// collector would drop the connection.
func (p *pduConn) add(req wire.PDU) error {
	start := len(p.out)
	p.out = wire.Append(p.out, slot, req)
	if n := len(p.out) - start; n >= wire.MaxInbound {
		p.out = p.out[:start]
		return fmt.Errorf("request of %d bytes, at most %d are allowed: %w", n, wire.MaxInbound-1, pcp.ErrTooBig)
	}
	return nil
}

// refused reports a refusal to the user of the context.
func (p *pduConn) refused(code pcp.Error) {
	if code == pcp.ErrPermission && p.denied != nil {
		p.denied()
	}
}

// answer receives the answer to a request: the body of a PDU of type want, or
// the collector's status as the error. The body is valid until the next PDU.
// If want is TypeError, the status 0 is not an error.
func (p *pduConn) answer(want wire.Type) ([]byte, error) {
	for range maxStates {
		hdr, body, err := p.read()
		if err != nil {
			return nil, err
		}
		if hdr.Type == want && want != wire.TypeError {
			return body, nil
		}
		if hdr.Type != wire.TypeError {
			return nil, newConnError(fmt.Errorf("answer is a PDU of type %v, not %v", hdr.Type, want))
		}
		p.errReply = wire.Error{}
		if err := p.errReply.DecodeBody(body); err != nil {
			return nil, newConnError(err)
		}
		p.trace.status(p.errReply.Code)
		switch code := p.errReply.Code; {
		case code < 0:
			p.refused(code)
			return nil, code
		case code > 0:
			// State bits, sent ahead of an answer (fetch.c: __pmRecvFetchPDU).
			p.changes |= Changes(code)
		case want == wire.TypeError:
			return nil, nil
		default:
			return nil, newConnError(fmt.Errorf("answer is the status 0, not a PDU of type %v", want))
		}
	}
	return nil, newConnError(fmt.Errorf("more than %d PDUs of state bits ahead of an answer", maxStates))
}

// tryAnswer is answer, but returns errNothingYet if it would have to wait. The
// stream must be eager.
func (p *pduConn) tryAnswer(want wire.Type) ([]byte, error) {
	p.stream.waitless = true
	defer func() { p.stream.waitless = false }()
	return p.answer(want)
}

// takeChanges returns the state bits that came since the last call.
func (p *pduConn) takeChanges() Changes {
	changes := p.changes
	p.changes = 0
	return changes
}

// maxStates is how many PDUs of state bits may come ahead of an answer; there
// are fewer bits than that.
const maxStates = 64

// ask sends req and decodes the answer into ans; nil means that only a status
// comes back.
func (p *pduConn) ask(ctx context.Context, req, ans wire.PDU) error {
	p.clear()
	if err := p.add(req); err != nil {
		return err
	}
	if err := p.begin(ctx); err != nil {
		return err
	}
	return p.end(ctx, p.exchange(ans))
}

// exchange sends p.out and decodes the one answer to it.
func (p *pduConn) exchange(ans wire.PDU) error {
	if err := p.write(); err != nil {
		return err
	}
	want := wire.TypeError
	if ans != nil {
		want = ans.Type()
	}
	body, err := p.answer(want)
	if err != nil || ans == nil {
		return err
	}
	return ans.DecodeBody(body)
}

// window is how many requests of askAll are on the way at a time. The answers to
// them fit any socket buffer, so neither side can block the other.
const window = 64

// askAll sends n requests, and calls take with the answer to each in turn. In place of
// an answer, take gets the collector's status; the error that it returns ends the
// exchange, with answers of no use on the way.
func (p *pduConn) askAll(ctx context.Context, n int, request func(i int) (req wire.PDU, answer wire.Type), take func(i int, body []byte, err error) error) error {
	var answers [window]wire.Type
	for base := 0; base < n; base += window {
		part := min(n-base, window)
		p.clear()
		for i := range part {
			req, answer := request(base + i)
			answers[i] = answer
			if err := p.add(req); err != nil {
				return err
			}
		}
		if err := p.begin(ctx); err != nil {
			return err
		}
		err := p.write()
		for i := 0; i < part && err == nil; i++ {
			var body []byte
			body, err = p.answer(answers[i])
			if _, refused := err.(pcp.Error); refused || err == nil {
				err = take(base+i, body, err)
			}
			if err != nil && i < part-1 {
				p.fail(err)
			}
		}
		if err = p.end(ctx, err); err != nil {
			return err
		}
	}
	return nil
}

// send sends a PDU of the handshake, with from in its header.
func (p *pduConn) send(from int32, pdu wire.PDU) error {
	p.out = wire.Append(p.out[:0], from, pdu)
	return p.write()
}

// rest frees the memory of requests and answers.
func (p *pduConn) rest() {
	p.out = nil
	if p.r != nil {
		p.r.Rest()
	}
}

func (p *pduConn) pduCounts() (sent, received PDUCounts) {
	return p.sent.load(), p.received.load()
}
