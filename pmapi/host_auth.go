package pmapi

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/sasl"
	"github.com/go-pcp/pcp/wire"
)

// A login is what a client knows about its user's identity at the collector. It
// keeps what the user was asked for, for the next connection and for copies.
type login struct {
	wanted        bool // the specification has it
	method, realm string
	askUser       func(ctx context.Context) (string, error)
	askPassword   func(ctx context.Context, username, realm string) (string, error)

	mu          sync.Mutex
	user        string
	password    string
	hasPassword bool
}

// another returns a copy.
func (l *login) another() *login {
	user, password, has := l.known()
	return &login{
		wanted: l.wanted, method: l.method, realm: l.realm, askUser: l.askUser, askPassword: l.askPassword,
		user: user, password: password, hasPassword: has,
	}
}

// known returns name and password, as far as they are known.
func (l *login) known() (user, password string, hasPassword bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.user, l.password, l.hasPassword
}

// complete asks the user for name and password as far as they are missing.
func (l *login) complete(ctx context.Context) (user, password string, err error) {
	user, password, has := l.known()
	if user == "" && l.askUser != nil {
		user, err = l.askUser(ctx)
	}
	if err == nil && user != "" && !has && l.askPassword != nil {
		password, err = l.askPassword(ctx, user, l.realm)
		has = err == nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.user, l.password, l.hasPassword = user, password, has
	return user, password, err
}

// flags picks the features about the user's identity to ask of a collector
// that has the given ones.
func (l *login) flags(features wire.Features) (wire.Features, error) {
	flags := features & wire.FeatureCredsReqd
	if l.wanted {
		if features&wire.FeatureAuth == 0 {
			return 0, fmt.Errorf("collector does not offer authentication: %w", errNotSupported)
		}
		flags |= wire.FeatureAuth
	}
	return flags, nil
}

// maxAuthSteps is how many challenges of a collector are answered.
const maxAuthSteps = 8

// authenticate authenticates the user to the collector, if that was agreed in
// flags and the user is not known from a Unix socket (secureconnect.c:
// __pmAuthClientNegotiation). With a method like PLAIN a refusal arrives in
// answer to the first request.
func (l *login) authenticate(ctx context.Context, p *pduConn, to *target, flags wire.Features, unix bool) error {
	if flags&wire.FeatureCredsReqd != 0 && unix || flags&(wire.FeatureAuth|wire.FeatureCredsReqd) == 0 {
		return nil
	}
	p.trace.authBegins(p.conn, to.name(), l.method)
	offered, err := authMessage(p, true)
	if err != nil {
		return err
	}
	p.trace.authOffered(offered)
	mechanism, err := sasl.Choose(string(offered), l.method)
	if err != nil {
		p.trace.authFails("sasl_client_start", err)
		return err
	}
	user, password, err := l.askLogin(ctx, p)
	if err != nil {
		return err
	}
	c, err := sasl.NewClient(mechanism, user, password)
	if err != nil {
		return err
	}
	first := c.Start()
	p.trace.authStarts(mechanism, c.Done(), len(first))
	err = sendAuth(p, first, len(mechanism))
	if err == nil {
		err = answerAuth(p, c)
	}
	p.trace.authEnds(user, err)
	return err
}

// answerAuth answers the collector's challenges.
func answerAuth(p *pduConn, c *sasl.Client) error {
	for range maxAuthSteps {
		if c.Done() {
			return nil
		}
		p.trace.auth(negotiation + " awaiting server reply")
		challenge, err := authMessage(p, false)
		if err != nil {
			return err
		}
		answer, err := c.Step(challenge)
		if err != nil {
			p.trace.authFails("sasl_client_step", err)
			return err
		}
		p.trace.auth(negotiation+" step send (%d bytes)", len(answer))
		if err := sendAuth(p, answer, 0); err != nil {
			return err
		}
	}
	return fmt.Errorf("authentication takes more than %d steps: %w", maxAuthSteps, pcp.ErrIPC)
}

// askLogin completes name and password. The time limit of the request stops while
// somebody types.
func (l *login) askLogin(ctx context.Context, p *pduConn) (user, password string, err error) {
	if user, password, has := l.known(); user != "" && has {
		return user, password, nil
	}
	p.suspend()
	user, password, err = l.complete(ctx)
	if err == nil {
		p.resume()
	}
	if ctx.Err() != nil {
		err = newConnError(context.Cause(ctx))
	}
	return user, password, err
}

// sendAuth sends a message. Its bytes from the offset secret on must not be shown.
func sendAuth(p *pduConn, message []byte, secret int) error {
	attr := &wire.Attr{Value: message}
	p.trace.attr("__pmSendAttr", attr, secret)
	return p.send(wire.FromAnon, attr)
}

// authMessage receives a message of the collector: its methods, which are public, or a message
// that must not be shown.
func authMessage(p *pduConn, public bool) ([]byte, error) {
	hdr, body, err := p.read()
	if err != nil {
		return nil, err
	}
	switch hdr.Type {
	case wire.TypeAttr:
	case wire.TypeError:
		var e wire.Error
		if err := e.DecodeBody(body); err != nil {
			return nil, err
		}
		if e.Code < 0 {
			return nil, e.Code
		}
		return nil, fmt.Errorf("status %d during authentication: %w", e.Code, pcp.ErrIPC)
	default:
		return nil, fmt.Errorf("PDU of type %v during authentication: %w", hdr.Type, pcp.ErrIPC)
	}
	var attr wire.Attr
	if err := attr.DecodeBody(body); err != nil {
		return nil, err
	}
	secret := 0
	if public {
		secret = len(attr.Value)
	}
	p.trace.attr("__pmDecodeAttr", &attr, secret)
	if len(attr.Value) >= sasl.MaxMessage {
		return nil, fmt.Errorf("message of %d bytes during authentication: %w", len(attr.Value), pcp.ErrIPC)
	}
	return attr.Value, nil
}
