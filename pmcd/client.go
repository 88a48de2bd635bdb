package pmcd

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd/access"
	"github.com/go-pcp/pcp/pmcd/internal/backend"
	"github.com/go-pcp/pcp/pmcd/internal/trace"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// A client is one connection. All of it but what is said to be shared belongs
// to the goroutine that serves it. If an agent hangs in a call of that
// goroutine, another takes over; see serve.
type client struct {
	s      *Server
	conn   net.Conn
	stream net.Conn // conn, or TLS over it; not shared
	name   string   // for the log: an address, or the process at the other end
	unix   bool
	number int // of the clients that came so far
	fd     int // 1 + its file descriptor, once that was asked for
	rd     clientReader
	pdus   *wire.Reader
	shaken bool // the handshake is over

	pub       pmda.Client
	started   time.Time
	container atomic.Value // its name, a string; shared
	meetMore  atomic.Bool  // there may be others that want to; shared

	admitted struct {
		sync.Mutex
		access *access.Rules // that counts the client; nil before and after
		access.Admission
		identified bool         // the identity is known, and does not change
		who        *access.User // nil if it is not a user of this host
	}
	deny     atomic.Uint32 // access.Ops; shared
	expelled atomic.Int32  // the pcp.Error with which new rules end it; shared

	// changes are state bits that the client has not been told. Shared.
	changes atomic.Uint32

	profiles     map[int32]clientProfile
	profileBytes int

	req   *request
	first request // req, until an agent hangs

	pass   pass // for the server's gate
	inGate bool // the present request passed it
	body   int  // the request's length

	out      []byte
	tail     []byte // to be sent after out
	last     int    // how many bytes of it were sent last
	writeEnd int64  // when the write deadline was last moved, on the server's clock
}

type clientProfile struct {
	profile *pcp.Profile
	size    int
}

func newClient(s *Server, conn net.Conn, id int) *client {
	c := &client{
		s: s, conn: conn, stream: conn, started: time.Now(),
		pub:      pmda.Client{ID: id, Attrs: map[wire.AttrKey]string{}},
		profiles: map[int32]clientProfile{},
	}
	c.rd.conn = conn
	c.pdus = wire.NewReader(&c.rd)
	c.pdus.Max = s.cfg.MaxPDU
	if u, ok := conn.(*net.UnixConn); ok {
		c.unix = true
		c.name = "unix"
		if cred, err := peerCred(u); err != nil {
			s.lines.write(slog.LevelWarn, "unknown", "client's credentials are not known", "err", err)
		} else {
			c.pub.Attrs[wire.AttrUserID] = strconv.Itoa(cred.uid)
			c.pub.Attrs[wire.AttrGroupID] = strconv.Itoa(cred.gid)
			c.pub.Attrs[wire.AttrProcessID] = strconv.Itoa(cred.pid)
			c.name = "unix, process " + strconv.Itoa(cred.pid)
		}
	} else {
		c.name = conn.RemoteAddr().String()
	}
	c.first = request{s: s, Caller: backend.NewCaller(&c.pub, c.name, c.takeOver), job: s.smallJob()}
	c.req = &c.first
	c.out, c.req.job.out = c.req.job.out, nil
	return c
}

// file is the file descriptor of the connection, as long as it is open.
func (c *client) file() int {
	if c.fd == 0 {
		c.fd = 1 + trace.File(c.conn)
	}
	return c.fd - 1
}

// from is the address of the other end as the log's tables have it: without a
// port, and by a Unix socket that of this end.
func (c *client) from() string {
	if c.unix {
		return c.conn.LocalAddr().String()
	}
	if host, _, err := net.SplitHostPort(c.name); err == nil {
		return host
	}
	return c.name
}

// A clientReader limits how long a client may take to finish a PDU, not how
// long it may wait before it begins one.
type clientReader struct {
	conn  net.Conn
	begun bool // bytes of a PDU are here
	set   bool // and so there is a deadline
}

func (r *clientReader) Read(p []byte) (int, error) {
	if r.begun && !r.set {
		r.set = true
		if err := r.conn.SetReadDeadline(time.Now().Add(pduTimeout)); err != nil {
			return 0, err
		}
	}
	n, err := r.conn.Read(p)
	r.begun = true
	return n, err
}

// next reads a PDU.
func (c *client) next() (wire.Header, []byte, error) {
	c.rd.begun = c.pdus.Buffered() > 0
	h, body, err := c.pdus.Next()
	if c.rd.set {
		c.rd.set = false
		if err == nil {
			err = c.conn.SetReadDeadline(time.Time{})
		}
	}
	if err == nil {
		c.s.events.In.Add(h.Type)
		if c.s.events.On() {
			c.s.events.Received(c.file(), h, body)
		}
	}
	return h, body, err
}

// send writes one PDU, with what is already in c.out before it.
func (c *client) send(p wire.PDU) error {
	c.put(p)
	return c.sendOut(p.Type())
}

// put appends a PDU to what sendOut will send.
func (c *client) put(p wire.PDU) {
	c.s.events.Out.Add(p.Type())
	c.out = wire.Append(c.out, wire.FromAnon, p)
	if c.s.events.On() {
		c.s.events.Sent(c.file(), p)
	}
}

// sendOut writes c.out, of which the last PDU is of type t.
func (c *client) sendOut(t wire.Type) error {
	err := c.flush()
	if err != nil && c.s.events.On() {
		c.s.events.Add(trace.Event{Kind: trace.XmitErr, Who: c.file(), P1: int32(t), P2: int32(pcp.Code(err))})
	}
	return err
}

// flush writes c.out. A client that does not take it in time is dropped. The
// deadline is moved once a second, which is cheaper than for each reply.
func (c *client) flush() error {
	if now := c.s.now(); now >= c.writeEnd {
		c.writeEnd = now + int64(time.Second)
		if err := c.conn.SetWriteDeadline(time.Now().Add(pduTimeout + time.Second)); err != nil {
			return err
		}
	}
	tail := c.tail
	c.tail = nil
	c.last = len(c.out) + len(tail)
	c.leaveGate(c.last)
	if c.last > maxKeep {
		held := cap(c.out) + cap(tail)
		c.hold(held)
		defer c.hold(-held)
	}
	_, err := c.stream.Write(c.out)
	if err == nil && tail != nil {
		_, err = c.stream.Write(tail)
	}
	if cap(c.out) > maxKeep {
		c.returnOut()
	}
	c.out = c.out[:0]
	if err != nil {
		return &writeError{err}
	}
	return nil
}

// hold adds n, which may be negative, to the bytes that wait for the client to
// take them.
func (c *client) hold(n int) {
	c.s.memory.hold(n)
	c.s.gate.sending(n)
}

// maxKeep is how much memory a client keeps for its replies between requests.
const maxKeep = 1 << 16

// borrowOut makes c.out use the memory of another client's long reply, if there
// is any and c.out is empty.
func (c *client) borrowOut() {
	if len(c.out) > 0 || cap(c.out) > maxKeep {
		return
	}
	if b, ok := c.s.longReplies.Get().(*[]byte); ok {
		c.out = *b
	}
}

// returnOut leaves the memory of a sent reply to other clients.
func (c *client) returnOut() {
	if cap(c.out) <= maxKeepJob {
		b := c.out[:0]
		c.s.longReplies.Put(&b)
	}
	c.out = nil
}

// A writeError is a failure to write to the client, as opposed to one to answer
// its request.
type writeError struct{ error }

func (e *writeError) Unwrap() error { return e.error }

// start is the life of a client's first goroutine.
func (c *client) start() {
	defer c.s.clientDone()
	if err := c.handshake(); err != nil {
		c.end(c.req, err)
		return
	}
	c.serve(c.req, nil, nil)
}

// serve answers requests until the client is gone or must go, beginning with
// one whose outcome, if there is any, is reply or err.
//
// Agents are asked in handle, which for that has r and not c. If one hangs, takeOver
// has another goroutine serve c, with another request. When the call returns after
// all, the rest of handle is done in vain, and serve returns.
func (c *client) serve(r *request, reply wire.PDU, err error) {
	for !r.Abandoned() {
		err = c.answer(r, reply, err)
		var h wire.Header
		var body []byte
		if err == nil {
			h, body, err = c.await()
		}
		if err != nil {
			c.end(r, err)
			return
		}
		reply, err = c.handle(r, h, body)
	}
}

// takeOver has another goroutine go on with c, as an agent hangs in a call of its
// own. A fetch is answered with the values of the other agents, any other
// request with pcp.ErrAgain, and a client that leaves is forgotten.
func (c *client) takeOver() {
	c.s.clients.running.Add(1)
	go func() {
		defer c.s.clientDone()
		old := c.req
		r := old.successor()
		c.req = r
		switch old.doing {
		case fetching:
			r.Resume(&r.job.fetch)
			c.serve(r, &r.result, nil)
		case leaving:
			c.leave(r)
		default:
			c.serve(r, nil, c.send(&wire.Error{Code: pcp.ErrAgain}))
		}
	}()
}

// await reads the next request of a client that may stay.
func (c *client) await() (wire.Header, []byte, error) {
	if code := c.expelled.Load(); code != 0 {
		return wire.Header{}, nil, pcp.Error(code)
	}
	h, body, err := c.next()
	if err == nil && c.meetMore.Load() {
		c.meetAgents()
	}
	return h, body, err
}

// answer sends the outcome of a request: a reply, if there is any, or an error. The
// error that it returns ends the connection.
func (c *client) answer(r *request, reply wire.PDU, err error) error {
	switch {
	case err != nil:
	case reply == &r.result:
		err = c.sendOut(c.putResult(r))
	case reply != nil:
		err = c.send(reply)
	}
	c.leaveGate(0) // after a request that has no reply
	if err == nil {
		return nil
	}
	var w *writeError
	if errors.As(err, &w) {
		return err
	}
	var m *malformedError
	if errors.As(err, &m) {
		err = c.refuse(fmt.Errorf("%v PDU: %w", r.pdu, m.error))
	}
	var d *dropError
	if errors.As(err, &d) {
		return err
	}
	if c.s.debugging(DebugIO) {
		c.s.debugRequest(c, r.pdu, err)
	}
	return c.send(&wire.Error{Code: pcp.Code(err)})
}

// A dropError ends a connection after the error was sent.
type dropError struct{ error }

func (e *dropError) Unwrap() error { return e.error }

// end logs why c is dropped, unless the client left by itself, and forgets it.
func (c *client) end(r *request, err error) {
	c.leaveGate(0)
	if code := c.expelled.Load(); code != 0 {
		c.send(&wire.Error{Code: pcp.Error(code)}) // if it still listens
		err = pcp.Error(code)
	}
	if c.s.stopping() {
		err = nil
	}
	switch {
	case err == nil, errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), isReset(err):
		c.s.trace("client left", c)
	default:
		kind := "dropped " + strconv.Itoa(int(pcp.Code(err)))
		c.s.lines.write(slog.LevelWarn, kind, "client dropped", "client", c.name, "err", err)
	}
	if c.s.events.On() {
		ev := trace.Event{Kind: trace.DelClient, Who: c.pub.ID, P1: int32(c.file())}
		if err != nil && !errors.Is(err, io.EOF) {
			ev.P2 = int32(pcp.Code(err))
		}
		c.s.events.Add(ev)
	}
	c.stream.Close()
	c.leave(r)
}

// leave tells the agents that know of c that it is gone, and forgets c.
func (c *client) leave(r *request) {
	r.doing = leaving
	r.Leave()
	if r.Abandoned() {
		return // see takeOver
	}
	c.depart()
	c.s.forget(c)
	c.releaseJob(r)
}

// meetAgents introduces c to the agents that want to know of clients, before
// it asks them for anything, as C collectors do. It waits for no agent: one
// that is busy, or comes later, hears of c when c has its next request to any.
func (c *client) meetAgents() {
	c.meetMore.Store(false)
	if len(c.pub.Attrs) == 0 || c.denied() == access.OpAll {
		return
	}
	for _, ag := range c.s.agents() {
		if !c.req.Meet(ag.Agent) {
			c.meetMore.Store(true)
		}
	}
}

// setProfile answers PDU_PROFILE, which has no reply unless it is refused.
func (c *client) setProfile(body []byte) error {
	var p wire.Profile
	if err := decode(&p, body); err != nil {
		return err
	}
	old, have := c.profiles[p.Context]
	if !have && len(c.profiles) >= maxContexts {
		return pcp.ErrAgain
	}
	more := len(body) - old.size
	if c.profileBytes+more > maxProfileBytes || !c.s.roomForProfile(c.profileBytes, more) {
		return pcp.ErrTooBig
	}
	profile := backend.Everything
	if !p.Profile.IsAll() {
		profile = &p.Profile
	}
	c.profileBytes += more
	c.profiles[p.Context] = clientProfile{profile, len(body)}
	return nil
}
