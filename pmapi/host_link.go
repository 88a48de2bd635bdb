package pmapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
)

// A link is a connection that carries one request at a time. A request can be given up by
// its context or by close, from any goroutine; the connection is then of no more use.
//
// The goroutine whose turn it is calls all methods but close, and reads conn
// without the mutex, as no other goroutine changes it.
type link struct {
	timeout time.Duration // of requests; 0 means unlimited

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

var longAgo = time.Unix(1, 0)

// replace makes conn the connection, and closes the one before.
func (l *link) replace(conn net.Conn) {
	l.mu.Lock()
	old := l.conn
	l.conn, l.broken, l.limited = conn, nil, false
	l.mu.Unlock()
	if old != nil {
		old.Close()
	}
}

// wrap makes conn, which is over the connection, the connection.
func (l *link) wrap(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn = conn
}

// begin starts a request: it arms the time-out and watches ctx.
func (l *link) begin(ctx context.Context) error {
	var deadline time.Time
	if l.timeout > 0 {
		deadline = time.Now().Add(l.timeout)
	}
	return l.beginUntil(ctx, deadline)
}

// beginUntil starts a request that may take until deadline.
func (l *link) beginUntil(ctx context.Context, deadline time.Time) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if done := ctx.Done(); done != l.done {
		l.unwatch()
		if done != nil && !l.closed {
			l.done, l.stop = done, context.AfterFunc(ctx, func() { l.interrupt(done) })
		}
	}
	switch {
	case l.closed:
		return errClosed
	case l.broken != nil:
		return fmt.Errorf("connection was lost: %w (%v)", pcp.ErrIPC, l.broken)
	}
	l.setDeadline(deadline)
	l.inFlight = true
	if ctx.Err() != nil { // interrupt may have come before inFlight
		l.inFlight = false
		return context.Cause(ctx)
	}
	return nil
}

// setDeadline sets when a request is over; mu is held.
func (l *link) setDeadline(t time.Time) {
	if l.limited || !t.IsZero() {
		l.conn.SetDeadline(t)
	}
	l.limited = !t.IsZero()
}

// unwatch lets go of the context of the last request; mu is held.
func (l *link) unwatch() {
	if l.stop != nil {
		l.stop()
	}
	l.done, l.stop = nil, nil
}

// interrupt ends the request that is under way if it is of the context that
// done belongs to.
func (l *link) interrupt(done <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inFlight && l.done == done {
		l.setDeadline(longAgo)
	}
}

// end finishes a request. err is a status that the collector answered, which
// it returns as it is, or a failure of the connection.
func (l *link) end(ctx context.Context, err error) error {
	l.mu.Lock()
	l.inFlight = false
	closed := l.closed
	l.mu.Unlock()
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
	l.fail(err)
	return err
}

// fail closes the connection because of err.
func (l *link) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken == nil && l.conn != nil {
		l.broken = err
		l.conn.Close()
	}
}

// extend has the request end at another time than before, unless it is given up or that time is past.
func (l *link) extend(ctx context.Context, deadline time.Time) bool {
	if !deadline.IsZero() && !time.Now().Before(deadline) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || ctx.Err() != nil {
		return false
	}
	l.setDeadline(deadline)
	return true
}

// suspend stops the time limit of the request, and resume starts it again.
func (l *link) suspend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.setDeadline(time.Time{})
}

func (l *link) resume() {
	if l.timeout > 0 {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.setDeadline(time.Now().Add(l.timeout))
	}
}

// usable returns the connection, and whether it is of use.
func (l *link) usable() (net.Conn, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn, l.conn != nil && l.broken == nil
}

// ended reports whether close was called.
func (l *link) ended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// close may be called at any time; a request that is under way then fails.
func (l *link) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errClosed
	}
	l.closed = true
	l.unwatch()
	if l.conn == nil || l.broken != nil {
		return nil
	}
	return l.conn.Close()
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
