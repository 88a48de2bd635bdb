package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// idleConns is the number of connections that are kept without a request.
	idleConns = 8
	// idleTimeout is the time for which they are kept. Servers close them earlier: VictoriaMetrics after a minute, Prometheus after five.
	idleTimeout = 10 * time.Minute
	// maxBreaks is the number of breaks whose times are kept.
	maxBreaks = 64
)

// Connections are the connections to a server that Clients share. They notice when the server may have been restarted: a break is a time without any
// connection, or a request without a reply. Connections may be used by several goroutines.
type Connections struct {
	tr   atomic.Pointer[http.Transport]
	dial func(ctx context.Context, network, addr string) (net.Conn, error)

	mu     sync.Mutex
	open   map[string]int // by address; 0 if there was one
	alive  time.Time      // the last time at which the server is known to have run
	count  int            // of breaks
	breaks []time.Time    // the last ones: the server ran without a restart until then
}

// NewConnections returns Connections that use a configuration for URLs that begin with https; nil means the zero Config.
func NewConnections(cfg *tls.Config) *Connections {
	c := &Connections{open: make(map[string]int)}
	c.dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 15 * time.Second}).DialContext
	c.SetTLS(cfg)
	return c
}

// SetTLS sets the configuration of new connections, and closes idle ones.
func (c *Connections) SetTLS(cfg *tls.Config) {
	tr := http.DefaultTransport.(*http.Transport).Clone()
	tr.TLSClientConfig = cfg
	tr.DialContext = c.connect
	tr.MaxIdleConnsPerHost = idleConns
	tr.IdleConnTimeout = idleTimeout
	if old := c.tr.Swap(tr); old != nil {
		old.CloseIdleConnections()
	}
}

// RoundTrip makes a request.
func (c *Connections) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := c.tr.Load().RoundTrip(req)
	if err != nil {
		c.failed(req.Context())
	}
	return resp, err
}

// failed notes a request without a reply, unless the client has ended it.
func (c *Connections) failed(ctx context.Context) {
	if errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken()
}

// CloseIdleConnections closes the connections that no request uses.
func (c *Connections) CloseIdleConnections() { c.tr.Load().CloseIdleConnections() }

// Breaks returns the number of breaks. until belongs to the first break after the number n: the server ran without a restart until then. It is the zero
// time if that is not known.
func (c *Connections) Breaks(n int) (now int, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := n - (c.count - len(c.breaks)); k >= 0 && k < len(c.breaks) {
		until = c.breaks[k]
	}
	return c.count, until
}

// broken notes a break, with c.mu.
func (c *Connections) broken() {
	if n := len(c.breaks); n > 0 && c.breaks[n-1].Equal(c.alive) {
		return // the same one
	}
	if c.count++; len(c.breaks) == maxBreaks {
		c.breaks = append(c.breaks[:0], c.breaks[1:]...)
	}
	c.breaks = append(c.breaks, c.alive)
}

// connect makes a connection.
func (c *Connections) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := c.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if n, ok := c.open[addr]; ok && n == 0 {
		c.broken()
	}
	c.open[addr]++
	return &watched{Conn: conn, of: c, addr: addr}, nil
}

// A watched is one of Connections.
type watched struct {
	net.Conn
	of   *Connections
	addr string
	once sync.Once
}

// Read reads. A server that sends something, or the end of its data, was not restarted since the connection was made. If it was cut off, or resets the
// connection, that is not known.
func (w *watched) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if n > 0 || errors.Is(err, io.EOF) {
		w.of.mu.Lock()
		w.of.alive = time.Now()
		w.of.mu.Unlock()
	}
	if err != nil {
		w.ended()
	}
	return n, err
}

// Close closes the connection.
func (w *watched) Close() error {
	w.ended()
	return w.Conn.Close()
}

// ended removes the connection from the number of open ones, once.
func (w *watched) ended() {
	w.once.Do(func() {
		w.of.mu.Lock()
		w.of.open[w.addr]--
		w.of.mu.Unlock()
	})
}
