package httpmmv

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync/atomic"
)

// A call is the http.ResponseWriter of one request, and its counts.
type call struct {
	w       http.ResponseWriter
	code    int // 0 until it is written
	written int64
	body    body
}

func (c *call) Header() http.Header { return c.w.Header() }

// Unwrap is for http.ResponseController.
func (c *call) Unwrap() http.ResponseWriter { return c.w }

func (c *call) WriteHeader(code int) {
	// Codes below 200 are information that comes before the response, except 101.
	if c.code == 0 && (code >= 200 || code == http.StatusSwitchingProtocols) {
		c.code = code
	}
	c.w.WriteHeader(code)
}

func (c *call) Write(b []byte) (int, error) {
	c.begin()
	n, err := c.w.Write(b)
	c.written += int64(n)
	return n, err
}

// WriteString saves io.WriteString a copy.
func (c *call) WriteString(s string) (int, error) {
	c.begin()
	n, err := io.WriteString(c.w, s)
	c.written += int64(n)
	return n, err
}

// begin records the code of a response that starts without one.
func (c *call) begin() {
	if c.code == 0 {
		c.code = http.StatusOK
	}
}

func (c *call) flush() {
	c.begin()
	c.w.(http.Flusher).Flush()
}

func (c *call) flushError() error {
	c.begin()
	return http.NewResponseController(c.w).Flush()
}

// A flushWriter is the call of a server whose responses can be flushed.
type flushWriter struct{ call }

func (f *flushWriter) Flush() { f.flush() }

// FlushError is called by http.ResponseController.
func (f *flushWriter) FlushError() error { return f.flushError() }

// A fullWriter is the call of a server with all features of an HTTP/1 server.
type fullWriter struct{ call }

func (f *fullWriter) Flush() { f.flush() }

// FlushError is called by http.ResponseController.
func (f *fullWriter) FlushError() error { return f.flushError() }

func (f *fullWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := f.w.(http.Hijacker).Hijack()
	if err == nil && f.code == 0 {
		f.code = http.StatusSwitchingProtocols
	}
	return conn, rw, err
}

// ReadFrom lets the server send a file without copying it.
func (f *fullWriter) ReadFrom(r io.Reader) (int64, error) {
	f.begin()
	n, err := f.w.(io.ReaderFrom).ReadFrom(r)
	f.written += n
	return n, err
}

// A body counts the bytes read from a request. A handler may leave a goroutine
// behind that still reads.
type body struct {
	r io.ReadCloser
	n atomic.Int64
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.n.Add(int64(n))
	return n, err
}

func (b *body) Close() error { return b.r.Close() }
