package pmcd

import (
	"log/slog"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-pcp/pcp/internal/peercred"
	"github.com/go-pcp/pcp/pmcd/internal/backend"
	"github.com/go-pcp/pcp/pmcd/internal/trace"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// A client is one connection. All fields except those marked as shared belong
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

	admission admission // shared

	// changes are state bits not yet sent to the client. Shared.
	changes atomic.Uint32

	profiles profiles

	req   *request
	first request // req, until an agent hangs

	turn turn // at the server's gate

	out      []byte
	tail     []byte // to be sent after out
	last     int    // how many bytes of it were sent last
	writeEnd int64  // when the write deadline was last moved, on the server's clock
}

func newClient(s *Server, conn net.Conn, id, number int) *client {
	c := &client{
		s: s, conn: conn, stream: conn, number: number, started: time.Now(),
		pub:  pmda.Client{ID: id, Attrs: map[wire.AttrKey]string{}},
		turn: turn{gate: s.gate, memory: &s.memory},
	}
	c.admission.entry, c.admission.noted = &s.entry, c.noteAdmission
	c.rd.conn = conn
	c.pdus = wire.NewReader(&c.rd)
	c.pdus.Max = s.cfg.MaxPDU
	if u, ok := conn.(*net.UnixConn); ok {
		c.unix = true
		c.name = "unix"
		if cred, err := peercred.Of(u); err != nil {
			s.lines.write(slog.LevelWarn, "unknown", "client's credentials are not known", "err", err)
		} else {
			c.pub.Attrs[wire.AttrUserID] = strconv.Itoa(cred.UID)
			c.pub.Attrs[wire.AttrGroupID] = strconv.Itoa(cred.GID)
			c.pub.Attrs[wire.AttrProcessID] = strconv.Itoa(cred.PID)
			c.name = "unix, process " + strconv.Itoa(cred.PID)
		}
	} else {
		c.name = conn.RemoteAddr().String()
	}
	c.first = request{s: s, Caller: backend.NewCaller(&c.pub, c.name, c.takeOver), job: s.spares.smallJob()}
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
