package export

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"time"
)

// A cutReplyConn is a connection to a server that may close it behind the status line or a header
// of a reply, as scripts do in place of a real server. As in Python the reply, the first on the
// connection, then has no further headers, and no body.
type cutReplyConn struct {
	net.Conn
	last [4]byte // of the reply so far
	n    int     // bytes of the reply
	head bool    // its headers are not over
	rest []byte  // read in place of the end
}

// forgiving returns a transport of such connections.
func forgiving() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	d := net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := d.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &cutReplyConn{Conn: c, head: true}, nil
	}
	return t
}

// Read implements net.Conn.
func (c *cutReplyConn) Read(b []byte) (int, error) {
	if len(c.rest) > 0 {
		n := copy(b, c.rest)
		c.rest = c.rest[n:]
		return n, nil
	}
	n, err := c.Conn.Read(b)
	for _, x := range b[:n] {
		if !c.head {
			break
		}
		if c.n == 0 && x != 'H' { // TLS, or not HTTP
			c.head = false
			break
		}
		c.last[0], c.last[1], c.last[2], c.last[3] = c.last[1], c.last[2], c.last[3], x
		c.n++
		c.head = !bytes.HasSuffix(c.last[:], []byte("\n\n")) && !bytes.HasSuffix(c.last[:], []byte("\n\r\n"))
	}
	if err == io.EOF && n == 0 && c.head && c.n > 0 && c.last[3] == '\n' {
		c.head, c.rest = false, []byte("\r\n")
		return c.Read(b)
	}
	return n, err
}
