package pmda

import (
	"context"
	"errors"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// A NotReadyError is returned by an agent that will not answer until a time.
// A collector at the other end of a connection is told so
// (PM_ERR_PMDANOTREADY), asks nothing more, and learns when the time has come
// (PM_ERR_PMDAREADY). In the collector's own process clients get pcp.ErrAgain.
type NotReadyError struct{ Until time.Time }

// Error says that the agent is not ready.
func (e *NotReadyError) Error() string { return "agent is not ready" }

// Unwrap makes clients see pcp.ErrAgain.
func (e *NotReadyError) Unwrap() error { return pcp.ErrAgain }

// A Finisher is asked after each request whether it wants to end; [Serve] then
// returns as if the collector had closed the connection (pmdaSetDoneCallBack).
// In the collector's own process an agent cannot end.
type Finisher interface {
	Done() bool
}

// A Debugger is told which debug options of -D are not the framework's, and
// returns those that it does not know either (pmSetDebug(3)).
type Debugger interface {
	Debug(names []string) (unknown []string)
}

// away puts the collector off if err asks for that.
func (s *session) away(ctx context.Context, err error) (handled bool, _ error) {
	n, ok := errors.AsType[*NotReadyError](err)
	if !ok {
		return false, nil
	}
	if err := s.send(wire.FromAnon, &wire.Error{Code: pcp.ErrPMDANotReady}); err != nil {
		return true, err
	}
	s.log.Info("agent is not ready", "until", n.Until)
	wait := time.NewTimer(time.Until(n.Until))
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
		return true, context.Cause(ctx)
	}
	s.log.Info("agent is ready")
	return true, s.send(wire.FromAnon, &wire.Error{Code: pcp.ErrPMDAReady})
}

type clientKey struct{}

// WithClient returns a context by which [ClientFrom] finds client: for whoever
// serves an agent.
func WithClient(ctx context.Context, client *Client) context.Context {
	return context.WithValue(ctx, clientKey{}, client)
}

// ClientFrom returns the client for whom an agent's method was called, if it is
// known (pmdaGetContext). Fetch and Store have it among their arguments, and
// only there.
func ClientFrom(ctx context.Context) (client *Client, ok bool) {
	client, ok = ctx.Value(clientKey{}).(*Client)
	return client, ok
}
