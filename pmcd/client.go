package pmcd

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd/access"
	"github.com/go-pcp/pcp/pmcd/internal/trace"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// A client is one connection. All of it but what is said to be shared belongs
// to the goroutine that serves it. If an agent hangs in a call of that
// goroutine, another takes over; see turn.
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
	seen      []*agent     // by index: agents that know of this client
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

	turn *turn // in the queue of at most one agent
	hung bool  // a goroutine that hung may come back
	job  *fetchJob

	pass   pass // for the server's gate
	inGate bool // the present request passed it
	body   int  // the request's length

	out      []byte
	tail     []byte // to be sent after out
	last     int    // how many bytes of it were sent last
	writeEnd int64  // when the write deadline was last moved, on the server's clock
	reply    wire.Result
	req      requests
}

// requests are the PDUs that come often enough to be worth reusing.
type requests struct {
	fetch wire.Fetch
	descs wire.DescIDs
}

type clientProfile struct {
	profile *pcp.Profile
	size    int
}

// everything is the profile of most requests; its identity lets agents see
// quickly that two are the same.
var everything = &pcp.Profile{}

func newClient(s *Server, conn net.Conn, id int) *client {
	c := &client{
		s: s, conn: conn, stream: conn, started: time.Now(),
		pub:      pmda.Client{ID: id, Attrs: map[wire.AttrKey]string{}},
		profiles: map[int32]clientProfile{}, job: s.smallJob(),
	}
	c.out, c.job.out = c.job.out, nil
	c.turn = newTurn(c)
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

// serve is the life of a client's first goroutine.
func (c *client) serve() {
	defer c.s.clientDone()
	c.goOn(c.handshake())
}

// goOn serves a client whose last request, or handshake, ended with err. It
// returns when the client is gone, or belongs to another goroutine.
func (c *client) goOn(err error) {
	if err == nil {
		err = c.loop()
	}
	if !errors.Is(err, errAbandoned) {
		c.end(err)
	}
}

// takeOver goes on with c by calling without in a new goroutine, as the
// client's own hangs in an agent's call. It returns at once.
func (c *client) takeOver(without func(*client)) {
	c.s.clients.running.Add(1)
	go func() {
		defer c.s.clientDone()
		c.turn = newTurn(c)
		c.hung = true
		without(c)
	}()
}

// refuseWithout goes on with a client in whose request an agent hangs.
func (c *client) refuseWithout() { c.goOn(c.send(&wire.Error{Code: pcp.ErrAgain})) }

// fetchWithout goes on with a client in whose fetch an agent hangs.
func (c *client) fetchWithout() {
	c.lose(c.job.parts[c.job.at])
	c.job.at++
	c.goOn(c.finishFetch())
}

// loop answers requests until the client is gone, must go, or belongs to
// another goroutine.
func (c *client) loop() error {
	for {
		if code := c.expelled.Load(); code != 0 {
			return pcp.Error(code)
		}
		h, body, err := c.next()
		if err != nil {
			return err
		}
		if c.meetMore.Load() {
			c.meetAgents()
		}
		err = c.handle(h, body)
		if errors.Is(err, errAbandoned) {
			return err
		}
		c.leaveGate(0) // after a request that has no reply
		if err != nil {
			var w *writeError
			if errors.As(err, &w) {
				return err
			}
			var d *dropError
			if errors.As(err, &d) {
				return err
			}
			if c.s.debugging(DebugIO) {
				c.s.debugRequest(c, h.Type, err)
			}
			if err := c.send(&wire.Error{Code: pcp.Code(err)}); err != nil {
				return err
			}
		}
	}
}

// A dropError ends a connection after the error was sent.
type dropError struct{ error }

func (e *dropError) Unwrap() error { return e.error }

// end logs why c is dropped, unless the client left by itself, and forgets it.
func (c *client) end(err error) {
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
	c.leave()
}

// leave tells the agents that know of c that it is gone, and forgets c. If an
// agent hangs, leave is called again for the rest.
func (c *client) leave() {
	for i, ag := range c.seen {
		if c.seen[i] = nil; ag != nil && ag.connected.Load() {
			if err := ag.be.endContext(c); errors.Is(err, errAbandoned) {
				return
			}
		}
	}
	c.depart()
	c.s.forget(c)
	c.releaseJob()
}

// meet reports whether ag does not know of c yet, and has it so from now on.
func (c *client) meet(ag *agent) bool {
	c.makeRoom(ag)
	if c.seen[ag.index] == ag {
		return false
	}
	c.seen[ag.index] = ag
	return true
}

// knows reports whether ag has been introduced to c.
func (c *client) knows(ag *agent) bool { return ag.index < len(c.seen) && c.seen[ag.index] == ag }

// makeRoom makes c.seen long enough for ag, so that several goroutines can meet
// agents.
func (c *client) makeRoom(ag *agent) {
	if n := ag.index + 1 - len(c.seen); n > 0 {
		c.seen = append(c.seen, make([]*agent, n)...)
	}
}

// profileFor returns the profile of one of the client's contexts, or nil if
// there is none.
func (c *client) profileFor(context int32) *pcp.Profile {
	return c.profiles[context].profile
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
	profile := everything
	if !p.Profile.IsAll() {
		profile = &p.Profile
	}
	c.profileBytes += more
	c.profiles[p.Context] = clientProfile{profile, len(body)}
	return nil
}
