package export

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/ctext"
)

// graphite sends samples to a Graphite server, in its pickle protocol (a length, and a list of
// series, times and values) or as lines of text.
type graphite struct {
	*run
	host     string
	port     int
	pickle   bool
	protocol int
	prefix   string

	out  outbox
	conn net.Conn
}

// How long a receiver has to take a connection, and a message.
const (
	dialTimeout = 10 * time.Second
	sendTimeout = 15 * time.Second
)

// sanitize is the name of an instance as a part of a name: characters except ASCII letters, digits,
// _ and - become _.
func sanitize(name string) string {
	return "_" + strings.Map(func(r rune) rune {
		if r < 0x80 && (ctext.IsAlnum(byte(r)) || r == '_' || r == '-') {
			return r
		}
		return '_'
	}, name)
}

func (g *graphite) begin() {
	g.out = outbox{env: g.env, send: g.send, complain: func(_ message, err error) {
		fmt.Fprintf(g.env.Stderr, "Can't send message to Graphite server %s:%d, %s, continuing.\n", g.host, g.port, reason(err))
	}}
}

func (g *graphite) write(ctx context.Context, s *sample) error {
	var points []point
	var lines []byte
	now := int64(seconds(s.time))
	for i := range s.metrics {
		m := &s.metrics[i]
		for j := range m.values {
			v := &m.values[j]
			name := g.prefix + m.Name
			if v.Name != "" {
				name += "." + sanitize(v.Name)
			}
			val := rounded(v.Value, m.Precision)
			if g.pickle {
				points = append(points, point{name, now, val})
				continue
			}
			from := len(lines)
			lines = fmt.Appendf(lines, "%s %s %d\n", name, oneLine(str(val)), now)
			if g.debug {
				fmt.Fprintf(g.env.Stdout, "Sending %s: %s", s.stamp, lines[from:])
			}
		}
	}
	if !g.pickle {
		g.out.put(ctx, message{s.stamp, lines, 0})
		return nil
	}
	body := appendPickle(make([]byte, 4), points, g.protocol)
	binary.BigEndian.PutUint32(body, uint32(len(body)-4))
	if g.debug {
		fmt.Fprintf(g.env.Stdout, "Sending %s #tuples %d\n", s.stamp, len(points))
	}
	g.out.put(ctx, message{s.stamp, body, len(points)})
	return nil
}

// oneLine keeps a value from being more than one line.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, s)
}

func (g *graphite) send(ctx context.Context, m message) error {
	if g.conn == nil {
		conn, err := dial(ctx, g.host, g.port)
		if err != nil {
			return err
		}
		g.conn = conn
	}
	err := sendAll(ctx, g.conn, m.body)
	if err != nil {
		g.conn.Close()
		g.conn = nil
	}
	return err
}

func (g *graphite) end(ctx context.Context) bool {
	ok := g.out.close(ctx)
	if g.conn != nil {
		g.conn.Close()
	}
	return ok
}

func dial(ctx context.Context, host string, port int) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTimeout}
	return d.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
}

// sendAll writes to a connection until sendTimeout or ctx is done. It notices a peer that has closed its end.
func sendAll(ctx context.Context, conn net.Conn, b []byte) error {
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })
	defer stop()
	// A server that is being restarted has closed the connection, which a write alone does not show.
	conn.SetReadDeadline(time.Now().Add(time.Millisecond))
	var one [1]byte
	if _, err := conn.Read(one[:]); err != nil && !isTimeout(err) {
		return err
	}
	conn.SetWriteDeadline(time.Now().Add(sendTimeout))
	_, err := conn.Write(b)
	return err
}

func isTimeout(err error) bool {
	t, ok := err.(net.Error)
	return ok && t.Timeout()
}

// reason is the message of an error: the system's, if it is a system error.
func reason(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return cli.ErrText(errno)
	}
	return err.Error()
}
