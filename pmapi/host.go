package pmapi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// A host is a connection to a collector, the source of a host context. Its
// Context calls one method at a time; only close may come at any time.
//
// A request that is given up, by time-out or by its context, leaves its answer
// on the way. The connection is then of no more use: requests return ErrIPC
// until reconnect.
type host struct {
	given          string // the specification as given
	spec           HostSpec
	proxy          string // address of a proxy, or ""
	ports          []int  // default ones
	socket         string // default one
	ownSocket      string // of the user's own collector, "" for none
	container      string
	login          login
	security       security
	dial           func(ctx context.Context, network, address string) (net.Conn, error)
	connectTimeout time.Duration
	requestTimeout time.Duration
	trace          *trace
	denied         func()                 // or nil
	backoff        func() []time.Duration // waits before attempts to reconnect

	failures int       // attempts to reconnect that failed in a row
	again    time.Time // not to be tried again before

	stream   *stream
	r        *wire.Reader
	out      []byte // the requests being sent
	features wire.Features
	changes  Changes // state bits that came with an answer other than to a fetch
	sent     uint64  // generation of the profile that the collector has
	fetchReq wire.Fetch
	result   wire.Result
	errReply wire.Error
	known    map[aheadKey]aheadAnswer // of ahead
	pending  pending                  // of StartFetch

	sentPDUs, receivedPDUs pduCounter

	mu sync.Mutex
	// The context of the last request stays watched after it, so that a
	// caller that uses the same one again and again pays for that once.
	done     <-chan struct{}
	stop     func() bool
	conn     net.Conn
	broken   error // why conn is of no more use, nil while it is
	limited  bool  // conn has a deadline
	closed   bool
	inFlight bool
}

// slot is the number of the context at the collector, which each connection
// counts for itself, and each context has its own connection.
const slot = 0

var longAgo = time.Unix(1, 0)

// reset makes conn the connection of h.
func (h *host) reset(conn net.Conn) {
	h.mu.Lock()
	old := h.conn
	h.conn, h.broken, h.limited = conn, nil, false
	h.mu.Unlock()
	if old != nil {
		old.Close()
	}
	h.stream = &stream{conn: conn}
	h.r = wire.NewReader(h.stream)
	h.r.Max = wire.MaxPDU
	h.features, h.changes, h.sent = 0, 0, 0
	h.known = nil
	h.trace.connected(conn)
}

// begin starts a request: it arms the time-out and watches ctx.
func (h *host) begin(ctx context.Context) error {
	var deadline time.Time
	if h.requestTimeout > 0 {
		deadline = time.Now().Add(h.requestTimeout)
	}
	return h.beginUntil(ctx, deadline)
}

// beginUntil starts a request that may take until deadline.
func (h *host) beginUntil(ctx context.Context, deadline time.Time) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if done := ctx.Done(); done != h.done {
		h.unwatch()
		if done != nil && !h.closed {
			h.done, h.stop = done, context.AfterFunc(ctx, func() { h.interrupt(done) })
		}
	}
	switch {
	case h.closed:
		return errClosed
	case h.broken != nil:
		return fmt.Errorf("connection was lost: %w (%v)", pcp.ErrIPC, h.broken)
	}
	h.setDeadline(deadline)
	h.inFlight = true
	if ctx.Err() != nil { // interrupt may have come before inFlight
		h.inFlight = false
		return context.Cause(ctx)
	}
	return nil
}

// setDeadline sets when a request is over; mu is held.
func (h *host) setDeadline(t time.Time) {
	if h.limited || !t.IsZero() {
		h.conn.SetDeadline(t)
	}
	h.limited = !t.IsZero()
}

// unwatch lets go of the context of the last request; mu is held.
func (h *host) unwatch() {
	if h.stop != nil {
		h.stop()
	}
	h.done, h.stop = nil, nil
}

// interrupt ends the request that is under way if it is of the context that
// done belongs to.
func (h *host) interrupt(done <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.inFlight && h.done == done {
		h.setDeadline(longAgo)
	}
}

// end finishes a request. err is a status that the collector answered, which
// it returns as it is, or a failure of the connection.
func (h *host) end(ctx context.Context, err error) error {
	h.mu.Lock()
	h.inFlight = false
	closed := h.closed
	h.mu.Unlock()
	if err == nil {
		return nil
	}
	var fault *connError
	if !errors.As(err, &fault) {
		return err
	}
	switch {
	case closed:
		err = errClosed
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	h.fail(err)
	return err
}

// fail closes the connection because of err.
func (h *host) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.broken == nil && h.conn != nil {
		h.broken = err
		h.conn.Close()
	}
}

// A connError is a failure after which the connection is of no more use.
type connError struct {
	code pcp.Error
	err  error
}

func (e *connError) Error() string   { return e.code.Error() + ": " + e.err.Error() }
func (e *connError) Unwrap() []error { return []error{e.code, e.err} }

func newConnError(err error) error {
	code := pcp.ErrIPC
	if errors.Is(err, os.ErrDeadlineExceeded) {
		code = pcp.ErrTimeout
	}
	if err == io.EOF {
		err = errors.New("collector closed the connection")
	}
	return &connError{code, err}
}

// write sends h.out.
func (h *host) write() error {
	h.trace.pdus(h.conn, h.out)
	if _, err := h.stream.Write(h.out); err != nil {
		return newConnError(err)
	}
	h.sentPDUs.countAll(h.out)
	return nil
}

// read receives one PDU.
func (h *host) read() (wire.Header, []byte, error) {
	hdr, body, err := h.r.Next()
	if err != nil {
		return hdr, nil, newConnError(err)
	}
	h.receivedPDUs.count(hdr.Type)
	if h.trace.on(debug.PDU) {
		h.trace.pdu("pmGetPDU", h.conn, hdr, body)
	}
	return hdr, body, nil
}

// add appends the request p to h.out. It refuses a request for which the
// collector would drop the connection.
func (h *host) add(p wire.PDU) error {
	start := len(h.out)
	h.out = wire.Append(h.out, slot, p)
	if n := len(h.out) - start; n >= wire.MaxInbound {
		h.out = h.out[:start]
		return fmt.Errorf("request of %d bytes, at most %d are allowed: %w", n, wire.MaxInbound-1, pcp.ErrTooBig)
	}
	return nil
}

// answer receives the answer to a request: the body of a PDU of type want, or
// the collector's status as the error. The body is valid until the next PDU.
// If want is TypeError, the status 0 is not an error.
func (h *host) answer(want wire.Type) ([]byte, error) {
	for range maxStates {
		hdr, body, err := h.read()
		if err != nil {
			return nil, err
		}
		if hdr.Type == want && want != wire.TypeError {
			return body, nil
		}
		if hdr.Type != wire.TypeError {
			return nil, newConnError(fmt.Errorf("answer is a PDU of type %v, not %v", hdr.Type, want))
		}
		h.errReply = wire.Error{}
		if err := h.errReply.DecodeBody(body); err != nil {
			return nil, newConnError(err)
		}
		h.trace.status(h.errReply.Code)
		switch code := h.errReply.Code; {
		case code < 0:
			if code == pcp.ErrPermission && h.denied != nil {
				h.denied()
			}
			return nil, code
		case code > 0:
			// State bits, sent ahead of an answer (fetch.c: __pmRecvFetchPDU).
			h.changes |= Changes(code)
		case want == wire.TypeError:
			return nil, nil
		default:
			return nil, newConnError(fmt.Errorf("answer is the status 0, not a PDU of type %v", want))
		}
	}
	return nil, newConnError(fmt.Errorf("more than %d PDUs of state bits ahead of an answer", maxStates))
}

// maxStates is how many PDUs of state bits may come ahead of an answer; there
// are fewer bits than that.
const maxStates = 64

// ask sends req and decodes the answer into ans; nil means that only a status
// comes back.
func (h *host) ask(ctx context.Context, req, ans wire.PDU) error {
	h.out = h.out[:0]
	if err := h.add(req); err != nil {
		return err
	}
	if err := h.begin(ctx); err != nil {
		return err
	}
	return h.end(ctx, h.exchange(ans))
}

// exchange sends h.out and decodes the one answer to it.
func (h *host) exchange(ans wire.PDU) error {
	if err := h.write(); err != nil {
		return err
	}
	want := wire.TypeError
	if ans != nil {
		want = ans.Type()
	}
	body, err := h.answer(want)
	if err != nil || ans == nil {
		return err
	}
	return ans.DecodeBody(body)
}

// close may be called at any time; a request that is under way then fails.
func (h *host) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return errClosed
	}
	h.closed = true
	h.unwatch()
	if h.conn == nil || h.broken != nil {
		return nil
	}
	return h.conn.Close()
}

func (h *host) kind() SourceKind { return SourceHost }

func (h *host) location() Location { return PMNSRemote }

func (h *host) namesIn(t *pmns.Tree) nameSpace { return treeNames{t} }

func (h *host) archive() *recording { return nil }

func (h *host) nextOf(context.Context, []pcp.PMID, *pcp.Result) error { return pcp.ErrNotArchive }

func (h *host) pduCounts() (sent, received PDUCounts) {
	return h.sentPDUs.load(), h.receivedPDUs.load()
}

// A login is what a host knows about its user's identity at the collector. It
// keeps what the user was asked for, for the next connection.
type login struct {
	wanted        bool // the specification has it
	user          string
	password      string
	hasPassword   bool
	method, realm string
	askUser       func(ctx context.Context) (string, error)
	askPassword   func(ctx context.Context, username, realm string) (string, error)
}

// security is the TLS state of a host.
type security struct {
	enforced bool // no connection without it (PM_CTXFLAG_SECURE)
	relaxed  bool // with it where the collector has it (PM_CTXFLAG_RELAXED)
	config   *tls.Config
	settings *config.Config
}
