package service

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// MaxAnswer is the largest answer of a service, in bytes.
const MaxAnswer = 8 << 20

// maxLine is the longest line of an answer.
const maxLine = 64 << 10

// ErrTooBig is the error of an answer that is larger than MaxAnswer, or has a line that is too long.
var ErrTooBig = errors.New("the answer is too long")

// ErrCredentials is the error of a service that requires a name or a password which the agent does not have, or refuses them.
var ErrCredentials = errors.New("the service requires a name and a password")

// A Conn is a connection to a service that is kept between readings. It is for one goroutine.
type Conn struct {
	Network, Address string
	// Greet, which may be nil, is called on each new connection. It returns the connection to be used from then on, from which r must read.
	Greet func(c net.Conn, r *bufio.Reader) (net.Conn, error)
	// Once is set if the service closes the connection after each answer.
	Once bool

	conn net.Conn
	r    *bufio.Reader
}

// Do calls f with the connection, which it opens first if necessary, until ctx ends. If f fails on a connection of before, which the service may have closed
// meanwhile, it is called again with a new one.
func (c *Conn) Do(ctx context.Context, f func(conn net.Conn, r *bufio.Reader) error) error {
	kept := c.conn != nil
	err := c.do(ctx, f)
	if err != nil && kept && ctx.Err() == nil {
		err = c.do(ctx, f)
	}
	return err
}

func (c *Conn) do(ctx context.Context, f func(conn net.Conn, r *bufio.Reader) error) error {
	greet := false
	if c.conn == nil {
		conn, err := new(net.Dialer).DialContext(ctx, c.Network, c.Address)
		if err != nil {
			return err
		}
		c.conn, c.r, greet = conn, bufio.NewReaderSize(conn, 4096), c.Greet != nil
	}
	conn := c.conn
	raw := conn // its deadline is that of a connection over it too
	stop := context.AfterFunc(ctx, func() { raw.SetDeadline(time.Unix(1, 0)) })
	err := error(nil)
	if greet {
		var secured net.Conn
		if secured, err = c.Greet(conn, c.r); err == nil {
			c.conn, conn = secured, secured
		}
	}
	if err == nil {
		err = f(conn, c.r)
	}
	ended := !stop()
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	if err != nil || c.Once || ended {
		c.Close()
	}
	return err
}

// Close closes the connection.
func (c *Conn) Close() {
	if c.conn != nil {
		c.conn.Close()
		c.conn, c.r = nil, nil
	}
}

// Line reads a line without its end.
func Line(r *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return "", ErrTooBig
		case err == nil:
			line = line[:len(line)-1]
			if n := len(line); n > 0 && line[n-1] == '\r' {
				line = line[:n-1]
			}
			return string(line), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return "", io.ErrUnexpectedEOF
		default:
			return "", err
		}
	}
}

// All reads everything until the service closes the connection.
func All(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxAnswer+1))
	if err == nil && len(b) > MaxAnswer {
		err = ErrTooBig
	}
	return b, err
}

// A Page is a web page that a service answers. It is for one goroutine.
type Page struct {
	URL            string
	User, Password string // of basic authentication; "" for none
	// Socket is the path of a Unix socket in place of the host of URL; "" for none.
	Socket string

	client *http.Client
}

// Get returns the contents of the page.
func (p *Page) Get(ctx context.Context) ([]byte, error) { return p.get(ctx, p.URL) }

// GetAt returns the contents of another page of the server, whose URL is URL followed by path.
func (p *Page) GetAt(ctx context.Context, path string) ([]byte, error) { return p.get(ctx, p.URL+path) }

func (p *Page) get(ctx context.Context, url string) ([]byte, error) {
	if p.client == nil {
		tr := &http.Transport{MaxIdleConns: 2, MaxConnsPerHost: 2, DisableCompression: true, IdleConnTimeout: 2 * time.Minute, ResponseHeaderTimeout: Limit, MaxResponseHeaderBytes: maxLine}
		if p.Socket != "" {
			tr.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "unix", p.Socket)
			}
		}
		p.client = &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "go-pcp")
	if p.User != "" || p.Password != "" {
		req.SetBasicAuth(p.User, p.Password)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		return All(resp.Body)
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, fmt.Errorf("%s: %s: %w", url, resp.Status, ErrCredentials)
	}
	return nil, fmt.Errorf("%s: %s", url, resp.Status)
}

// Close closes the connections.
func (p *Page) Close() {
	if p.client != nil {
		p.client.CloseIdleConnections()
	}
}
