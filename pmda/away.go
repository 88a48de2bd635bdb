package pmda

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// An agent returns a NotReadyError if it will not answer before a time, or
// before something has happened; with neither, it answers again at once. A
// collector at the other end of a connection is notified
// (PM_ERR_PMDANOTREADY), sends no more requests, and is notified again when
// the agent answers (PM_ERR_PMDAREADY). In the collector's own process clients
// get pcp.ErrAgain.
type NotReadyError struct {
	Until time.Time       // zero if only Ready ends it
	Ready <-chan struct{} // closed when the agent will answer, before Until; may be nil
}

// Error returns a fixed message.
func (e *NotReadyError) Error() string { return "agent is not ready" }

// Unwrap makes clients see pcp.ErrAgain.
func (e *NotReadyError) Unwrap() error { return pcp.ErrAgain }

// A Finisher is asked after each request whether it wants to end; [Serve] then
// returns as if the collector had closed the connection (pmdaSetDoneCallBack).
// In the collector's own process an agent cannot end.
type Finisher interface {
	Done() bool
}

// A Checker is asked before each request. If it returns an error, such as
// pcp.ErrAgain while its source is missing, that is the answer and the agent is
// not called (pmdaSetCheckCallBack(3)). The agent still receives attributes and
// is notified of clients that leave. For each request the order is Check, the
// call, Done.
type Checker interface {
	Check(ctx context.Context) error
}

// A Narrator describes its current work, such as "value of disk.reads 60.0.4
// instance 2", for messages about an agent that panicked or takes too long. It
// returns "" if unknown. Any goroutine may call it.
type Narrator interface {
	Doing() string
}

// A Debugger receives the debug options of -D that the framework does not know,
// and returns those that it does not know either (pmSetDebug(3)).
type Debugger interface {
	Debug(names []string) (unknown []string)
}

// A DebugPrinter receives the writer for the lines of its debug options, which are
// written unchanged, without date and severity. It is called before Debug. A collector
// does not call it: its log is for all agents.
type DebugPrinter interface {
	DebugTo(w io.Writer)
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
	var timer <-chan time.Time
	if !n.Until.IsZero() || n.Ready == nil {
		wait := time.NewTimer(time.Until(n.Until))
		defer wait.Stop()
		timer = wait.C
		s.log.Info("agent is not ready", "until", n.Until)
	} else {
		s.log.Info("agent is not ready")
	}
	heard := s.listen()
	for waiting := true; waiting; {
		select {
		case <-timer:
			waiting = false
		case <-n.Ready:
			waiting = false
		case <-ctx.Done():
			return true, context.Cause(ctx)
		case m := <-heard:
			switch {
			case m.err != nil: // for the main loop: the collector has gone
				s.early = make(chan message, 1)
				s.early <- m
				return true, nil
			case silent(m.h.Type): // a client leaves, for example
				s.early = nil
				s.answer(ctx, m.h, m.body)
				heard = s.listen()
			default: // the collector asks all the same: let it wait
				s.early = make(chan message, 1)
				s.early <- m
				heard = nil
			}
		}
	}
	s.log.Info("agent is ready")
	return true, s.send(wire.FromAnon, &wire.Error{Code: pcp.ErrPMDAReady})
}

// A message is a PDU read from the collector.
type message struct {
	h    wire.Header
	body []byte // valid until the next one is read
	err  error
}

// listen starts to read the next message before its turn, so that an agent that
// is away notices when the collector goes. The main loop then takes the message
// from s.early.
func (s *session) listen() <-chan message {
	heard := make(chan message, 1)
	s.early = heard
	go func() {
		var m message
		m.h, m.body, m.err = s.r.Next()
		heard <- m
	}()
	return heard
}

// next reads the next message.
func (s *session) next() (wire.Header, []byte, error) {
	if s.early == nil {
		return s.r.Next()
	}
	m := <-s.early
	s.early = nil
	return m.h, m.body, m.err
}

// silent reports whether PDUs of a type get no answer.
func silent(t wire.Type) bool {
	switch t {
	case wire.TypeError, wire.TypeProfile, wire.TypeAttr, wire.TypeCreds:
		return true
	}
	return false
}

type clientKey struct{}

// WithClient returns a context in which [ClientFrom] finds client. It is for
// programs that serve agents.
func WithClient(ctx context.Context, client *Client) context.Context {
	return context.WithValue(ctx, clientKey{}, client)
}

// ClientFrom returns the client for which an agent's method was called, if it
// is known (pmdaGetContext). Fetch and Store have it among their arguments, and
// only there.
func ClientFrom(ctx context.Context) (client *Client, ok bool) {
	client, ok = ctx.Value(clientKey{}).(*Client)
	return client, ok
}
