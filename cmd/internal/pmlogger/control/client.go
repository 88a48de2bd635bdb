package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// A Client is a connection to the control port of a pmlogger, which serves one client at a
// time. It must be used by one goroutine. After a request fails with an error other than
// the pmlogger's refusal, the connection cannot be used any more.
type Client struct {
	conn    net.Conn
	r       *wire.Reader
	pid     int
	version wire.LogVersion
	timeout time.Duration // for each answer; 0 means no limit
	buf     []byte
}

// A Stage is the stage at which a request failed.
type Stage int

// Stages of a request.
const (
	StageSend       Stage = iota // the request could not be sent
	StageReceive                 // no answer arrived
	StageUnexpected              // the answer has the wrong type
	StageDecode                  // the answer is damaged
	StageRefused                 // the pmlogger refused the request
)

// A RequestError describes a failed request of a Client.
type RequestError struct {
	Stage Stage
	Type  wire.Type // of the answer, for StageUnexpected
	Err   error     // wraps pcp.ErrIPC if the connection broke, pcp.ErrTimeout if the answer took too long
}

// Error implements error.
func (e *RequestError) Error() string {
	switch e.Stage {
	case StageSend:
		return "send request to pmlogger: " + e.Err.Error()
	case StageReceive:
		return "receive answer of pmlogger: " + e.Err.Error()
	case StageUnexpected:
		return fmt.Sprintf("pmlogger answered with a PDU %v: %v", e.Type, e.Err)
	case StageDecode:
		return "decode answer of pmlogger: " + e.Err.Error()
	}
	return "pmlogger: " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *RequestError) Unwrap() error { return e.Err }

// newClient shakes hands with a pmlogger and learns its PID. On an error the PID is
// known if the pmlogger has sent it.
func newClient(ctx context.Context, conn net.Conn, timeout time.Duration) (*Client, error) {
	c := &Client{conn: conn, r: wire.NewReader(conn), timeout: timeout, pid: NoPID}
	c.r.Max = wire.MaxPDU
	done := c.limit(ctx)
	defer done()
	h, body, err := c.r.Next()
	if err != nil {
		return c, broken(ctx, err)
	}
	if h.Type != wire.TypeError {
		return c, fmt.Errorf("pmlogger greets with a PDU %v: %w", h.Type, pcp.ErrIPC)
	}
	var hello wire.Error
	if err := hello.DecodeBody(body); err != nil {
		return c, fmt.Errorf("greeting of pmlogger: %w", err)
	}
	c.pid = int(h.From)
	if hello.Code < 0 {
		return c, hello.Code
	}
	c.version = min(wire.LogVersion(hello.Code), wire.LogVersion3)
	creds := &wire.Creds{Creds: []wire.Cred{wire.VersionCred(uint8(c.version), 0)}}
	if _, err := conn.Write(wire.Append(nil, int32(os.Getpid()), creds)); err != nil {
		return c, broken(ctx, err)
	}
	return c, nil
}

// limit applies the time limit and ctx to the connection until the returned function
// is called.
func (c *Client) limit(ctx context.Context) (done func()) {
	var deadline time.Time
	if c.timeout > 0 {
		deadline = time.Now().Add(c.timeout)
	}
	c.conn.SetDeadline(deadline)
	stop := context.AfterFunc(ctx, func() { c.conn.SetDeadline(time.Unix(1, 0)) })
	return func() { stop() }
}

// broken returns the status of a connection after an error.
func broken(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%w: %w", pcp.ErrTimeout, err)
	case errors.Is(err, pcp.ErrIPC):
		return err
	case err == io.EOF:
		return fmt.Errorf("pmlogger closed the connection: %w", pcp.ErrIPC)
	}
	return fmt.Errorf("%w: %w", pcp.ErrIPC, err)
}

// PID returns the process number of the pmlogger.
func (c *Client) PID() int { return c.pid }

// Version returns the negotiated protocol version.
func (c *Client) Version() wire.LogVersion { return c.version }

// Close closes the connection, so that the pmlogger can serve another client.
func (c *Client) Close() error { return c.conn.Close() }

// call sends a request and returns the answer, which is valid until the next request.
func (c *Client) call(ctx context.Context, req wire.PDU) (wire.Header, []byte, error) {
	done := c.limit(ctx)
	defer done()
	c.buf = wire.Append(c.buf[:0], wire.FromAnon, req)
	if _, err := c.conn.Write(c.buf); err != nil {
		return wire.Header{}, nil, &RequestError{Stage: StageSend, Err: broken(ctx, err)}
	}
	h, body, err := c.r.Next()
	if err != nil {
		return h, nil, &RequestError{Stage: StageReceive, Err: broken(ctx, err)}
	}
	return h, body, nil
}

// refused returns the error in an answer of type ERROR.
func refused(body []byte) error {
	var p wire.Error
	if err := p.DecodeBody(body); err != nil {
		return &RequestError{Stage: StageDecode, Err: err}
	}
	return &RequestError{Stage: StageRefused, Err: p.Code}
}

// Status requests the status of the pmlogger.
func (c *Client) Status(ctx context.Context) (*wire.LogStatus, error) {
	h, body, err := c.call(ctx, &wire.LogRequest{Request: wire.LogStatusRequest})
	if err != nil {
		return nil, err
	}
	switch h.Type {
	case wire.TypeError:
		return nil, refused(body)
	case wire.TypeLogStatus, wire.TypeLogStatusV2:
	default:
		return nil, &RequestError{Stage: StageUnexpected, Type: h.Type, Err: pcp.ErrIPC}
	}
	st := &wire.LogStatus{V2: h.Type == wire.TypeLogStatusV2}
	if err := st.DecodeBody(body); err != nil {
		return nil, &RequestError{Stage: StageDecode, Err: err}
	}
	return st, nil
}

// Request sends a request whose answer is a number.
func (c *Client) Request(ctx context.Context, kind wire.LogRequestKind) (int, error) {
	h, body, err := c.call(ctx, &wire.LogRequest{Request: kind})
	if err != nil {
		return 0, err
	}
	if h.Type != wire.TypeError {
		return 0, &RequestError{Stage: StageUnexpected, Type: h.Type, Err: pcp.ErrIPC}
	}
	var p wire.Error
	if err := p.DecodeBody(body); err != nil {
		return 0, &RequestError{Stage: StageDecode, Err: err}
	}
	if p.Code < 0 {
		return 0, &RequestError{Stage: StageRefused, Err: p.Code}
	}
	return int(p.Code), nil
}

// NewVolume makes the pmlogger start another volume, and returns its number.
func (c *Client) NewVolume(ctx context.Context) (int, error) {
	return c.Request(ctx, wire.LogNewVolume)
}

// Sync makes the pmlogger write out its buffers.
func (c *Client) Sync(ctx context.Context) error {
	_, err := c.Request(ctx, wire.LogSync)
	return err
}

// Control queries or changes the recording of metrics. The result has a set for each metric of req, in
// order, whose values have the bits of a [wire.LogValue]; it is valid until the next request.
func (c *Client) Control(ctx context.Context, req *wire.LogControl) (*pcp.Result, error) {
	switch {
	case len(req.Metrics) == 0:
		return nil, &RequestError{Stage: StageSend, Err: pcp.ErrTooSmall}
	case req.Delta < 0, req.Control == wire.LogAdvisory && req.State == wire.LogMaybe:
		return nil, &RequestError{Stage: StageSend, Err: fmt.Errorf("not a valid change: %w", errInvalid)}
	}
	h, body, err := c.call(ctx, req)
	if err != nil {
		return nil, err
	}
	switch h.Type {
	case wire.TypeError:
		return nil, refused(body)
	case wire.TypeResult:
	default:
		return nil, &RequestError{Stage: StageUnexpected, Type: h.Type, Err: pcp.ErrIPC}
	}
	var p wire.Result
	if err := p.DecodeBody(body); err != nil {
		return nil, &RequestError{Stage: StageDecode, Err: err}
	}
	if len(p.Sets) != len(req.Metrics) {
		return nil, &RequestError{Stage: StageDecode, Err: fmt.Errorf("%d metrics in the answer to a request of %d: %w", len(p.Sets), len(req.Metrics), pcp.ErrIPC)}
	}
	for i := range p.Sets {
		if p.Sets[i].PMID != req.Metrics[i].PMID {
			return nil, &RequestError{Stage: StageDecode, Err: fmt.Errorf("metric %v in the answer where %v was asked for: %w", p.Sets[i].PMID, req.Metrics[i].PMID, pcp.ErrIPC)}
		}
	}
	return &p.Result, nil
}
