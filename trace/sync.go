package trace

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/go-pcp/pcp/internal/pacing"
)

// errClosed is the error of a call after Close.
var errClosed error = &failure{ErrIPC, net.ErrClosed}

// A backoff has the time of the next attempt to connect.
type backoff struct {
	pacing.Attempts
	err error // of the last attempt
}

// failed records a failed attempt.
func (b *backoff) failed(pauses []time.Duration, err error) time.Duration {
	b.err = err
	return b.Failed(time.Now(), pauses)
}

// wait returns the error of the last attempt while it is too early for another.
func (b *backoff) wait() error {
	if b.err != nil && b.Left(time.Now()) > 0 {
		return b.err
	}
	return nil
}

// synchronous is the state of a client whose calls wait for the agent. One call at a time has the token
// and may use the rest.
type synchronous struct {
	token   chan struct{}
	link    *link
	backoff backoff
	used    bool // there has been a connection, or an attempt
	skipped bool // without an agent, the first connection was skipped
	buf     []byte
}

func (s *synchronous) init() {
	s.token = make(chan struct{}, 1)
	s.token <- struct{}{}
}

func (s *synchronous) lock()   { <-s.token }
func (s *synchronous) unlock() { s.token <- struct{}{} }

// acquire waits for the token, for at most d.
func (s *synchronous) acquire(ctx context.Context, d time.Duration) error {
	select {
	case <-s.token:
		return nil
	default:
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-s.token:
		return nil
	case <-ctx.Done():
		return failed(context.Cause(ctx))
	case <-t.C:
		return &failure{ErrTimeout, errors.New("other calls wait for the agent")}
	}
}

func (c *Client) connectSync(ctx context.Context) error {
	if err := c.syn.acquire(ctx, c.timeout+c.requestTimeout); err != nil {
		return err
	}
	defer c.syn.unlock()
	return c.connected(ctx)
}

// connected makes a connection unless there is one, or an attempt has failed recently.
func (c *Client) connected(ctx context.Context) error {
	s := &c.syn
	if c.isClosed() {
		return errClosed
	}
	if s.link != nil {
		return nil
	}
	if err := s.backoff.wait(); err != nil {
		if c.State()&StateComms != 0 {
			c.debugf("_pmtracereconnect: too soon to retry (%d seconds remain)\n", int(s.backoff.Left(time.Now()).Seconds()))
		}
		return err
	}
	s.used = true
	l, err := c.dial(ctx)
	if err != nil {
		pause := s.backoff.failed(c.reconnect, err)
		if c.State()&StateComms != 0 {
			c.debugf("_pmtraceupdatewait: next attempt after %d seconds\n", int(pause.Seconds()))
		}
		return err
	}
	s.link, s.backoff = l, backoff{}
	return nil
}

// sendSync sends a measurement and waits until the agent has it. If the agent has gone since
// the last call, it tries once more with a new connection.
func (c *Client) sendSync(kind Kind, tag string, value float64) error {
	s := &c.syn
	if err := s.acquire(context.Background(), c.requestTimeout); err != nil {
		return err
	}
	defer s.unlock()
	fresh := s.link == nil
	if err := c.connected(context.Background()); err != nil {
		return err
	}
	err := c.exchange(kind, tag, value)
	if err != nil && !fresh && hungUp(err) {
		if err := c.connected(context.Background()); err != nil {
			return err
		}
		err = c.exchange(kind, tag, value)
	}
	return err
}

// exchange sends a record and reads its acknowledgement. After an error there is no connection.
func (c *Client) exchange(kind Kind, tag string, value float64) error {
	s := &c.syn
	l := s.link
	s.buf = appendRecord(s.buf[:0], c.pid, syncAlign, kind, true, value, tag)
	c.showPDU("__pmtracexmitPDU", l, s.buf)
	err := l.SetDeadline(time.Now().Add(c.requestTimeout))
	if err == nil {
		_, err = l.Write(s.buf)
	}
	if err != nil {
		err = failed(err)
	} else {
		if c.State()&StateComms != 0 {
			c.debugf("_pmtracegetack: awaiting ack ...\n")
		}
		var ack Ack
		if ack, err = c.ack(l); err == nil && ack == Ack(kind) {
			return nil
		}
		if err == nil {
			err = refused(ack)
		}
	}
	l.Close()
	s.link = nil
	return err
}

// closeSync closes the connection. A call that uses it ends with an error at its own time.
func (c *Client) closeSync() {
	if err := c.syn.acquire(context.Background(), c.requestTimeout); err != nil {
		return
	}
	defer c.syn.unlock()
	if c.syn.link != nil {
		c.syn.link.Close()
		c.syn.link = nil
	}
}
