package trace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func joinHostPort(host string, port int) string {
	return net.JoinHostPort(strings.Trim(host, "[]"), strconv.Itoa(port))
}

// A link is a connection that the agent has accepted.
type link struct {
	net.Conn
	r    *Reader
	born time.Time
}

// youth is the age up to which the end of a connection counts as a failure, after which there is a pause: otherwise a client
// would reconnect endlessly to an agent that accepts connections but no records.
const youth = 100 * time.Millisecond

func (l *link) young() bool { return time.Since(l.born) < youth }

// dial connects and waits for the greeting.
func (c *Client) dial(ctx context.Context) (*link, error) {
	comms := c.State()&StateComms != 0
	if comms {
		c.debugf("_pmtraceconnect: connecting to PMDA ...\n")
		c.debugf("_pmtraceconnect: PMDA host=%s port=%d timeout=%dsecs\n", c.host, c.port, int(c.timeout.Seconds()))
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", c.addr)
	if err != nil {
		if comms {
			c.debugf("_pmtraceconnect(socket failed): %v\n", err)
		}
		return nil, failed(err)
	}
	if comms {
		protocol := "sync"
		if c.State()&StateAsync != 0 {
			protocol = "async"
		}
		c.debugf("_pmtraceconnect: %s protocol setup complete\n", protocol)
		c.debugf("_pmtracegetack: awaiting ack ...\n")
	}
	l := &link{conn, NewReader(conn, 0), time.Now()}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	ack, err := c.ack(l)
	if err == nil && ack != Version {
		err = refused(ack)
	}
	if err == nil && !stop() {
		err = failed(context.Cause(ctx))
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return l, nil
}

// ack reads one acknowledgement.
func (c *Client) ack(l *link) (Ack, error) {
	typ, pdu, err := l.r.Next()
	if err != nil {
		return 0, failed(err)
	}
	c.showPDU("__pmtracegetPDU", l, pdu)
	if typ != TypeAck {
		return 0, failed(fmt.Errorf("PDU of type %#x where an acknowledgement was expected", uint32(typ)))
	}
	ack, err := DecodeAck(pdu)
	if err != nil {
		return 0, failed(err)
	}
	return ack, nil
}

// refused returns the error of an unexpected acknowledgement.
func refused(a Ack) error {
	if a < 0 {
		return &failure{Error(a), errors.New("the agent refuses")}
	}
	return failed(fmt.Errorf("acknowledgement %d", a))
}

// failed returns the status of a failed connection, with its cause.
func failed(err error) error {
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		return &failure{ErrTimeout, err}
	case errors.Is(err, ErrIPC):
		return err
	}
	return &failure{ErrIPC, err}
}

// hungUp reports whether an error means that the agent has gone: it, or its host, ended the connection.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}

// showPDU writes a PDU as libpcp_trace does.
func (c *Client) showPDU(function string, l *link, pdu []byte) {
	if c.State()&StatePDU == 0 || c.debug == nil {
		return
	}
	c.debugf("%s", dump(c.pid, function, descriptor(l.Conn), pdu))
}

// dump returns the text for a PDU: eight words to a line, in the byte order of this host.
func dump(pid int, function string, fd int, pdu []byte) string {
	typ := "ACK"
	switch t := be32(pdu[4:]); PDUType(t) {
	case TypeAck:
	case TypeData:
		typ = "DATA"
	default:
		typ = fmt.Sprintf("TYPE-%d?", t)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "[%d]%s: %s fd=%d len=%d", pid, function, typ, fd, len(pdu))
	if function == "__pmtracegetPDU" {
		fmt.Fprintf(&b, " from=%d", int32(be32(pdu[8:])))
	}
	for i := 0; i+4 <= len(pdu); i += 4 {
		if i%32 == 0 {
			fmt.Fprintf(&b, "\n%03d: ", i/4)
		}
		fmt.Fprintf(&b, "%8x ", be32(pdu[i:]))
	}
	b.WriteByte('\n')
	return b.String()
}

func be32(b []byte) uint32 {
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

// descriptor returns the number of a connection, -1 if there is none.
func descriptor(conn net.Conn) int {
	fd := -1
	if s, ok := conn.(syscall.Conn); ok {
		if raw, err := s.SyscallConn(); err == nil {
			raw.Control(func(n uintptr) { fd = int(n) })
		}
	}
	return fd
}
