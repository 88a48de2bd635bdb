package pmapi

import (
	"context"
	"fmt"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/sasl"
	"github.com/go-pcp/pcp/wire"
)

// loginFlags picks the features about the user's identity to ask of a collector
// that has the given ones.
func (h *host) loginFlags(features wire.Features) (wire.Features, error) {
	flags := features & wire.FeatureCredsReqd
	if h.login.wanted {
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
func (h *host) authenticate(ctx context.Context, flags wire.Features, unix bool) error {
	if flags&wire.FeatureCredsReqd != 0 && unix || flags&(wire.FeatureAuth|wire.FeatureCredsReqd) == 0 {
		return nil
	}
	h.trace.authBegins(h)
	offered, err := h.authMessage(true)
	if err != nil {
		return err
	}
	h.trace.authOffered(offered)
	mechanism, err := sasl.Choose(string(offered), h.login.method)
	if err != nil {
		h.trace.authFails("sasl_client_start", err)
		return err
	}
	if err := h.askLogin(ctx); err != nil {
		return err
	}
	c, err := sasl.NewClient(mechanism, h.login.user, h.login.password)
	if err != nil {
		return err
	}
	first := c.Start()
	h.trace.authStarts(mechanism, c.Done(), len(first))
	err = h.sendAuth(first, len(mechanism))
	if err == nil {
		err = h.answerAuth(c)
	}
	h.trace.authEnds(h.login.user, err)
	return err
}

// answerAuth answers the collector's challenges.
func (h *host) answerAuth(c *sasl.Client) error {
	for range maxAuthSteps {
		if c.Done() {
			return nil
		}
		h.trace.auth(negotiation + " awaiting server reply")
		challenge, err := h.authMessage(false)
		if err != nil {
			return err
		}
		answer, err := c.Step(challenge)
		if err != nil {
			h.trace.authFails("sasl_client_step", err)
			return err
		}
		h.trace.auth(negotiation+" step send (%d bytes)", len(answer))
		if err := h.sendAuth(answer, 0); err != nil {
			return err
		}
	}
	return fmt.Errorf("authentication takes more than %d steps: %w", maxAuthSteps, pcp.ErrIPC)
}

// askLogin completes name and password. The time limit of the request stops while
// somebody types.
func (h *host) askLogin(ctx context.Context) error {
	l := &h.login
	if l.user != "" && l.hasPassword {
		return nil
	}
	h.conn.SetDeadline(time.Time{})
	var err error
	if l.user == "" && l.askUser != nil {
		l.user, err = l.askUser(ctx)
	}
	if err == nil && l.user != "" && !l.hasPassword && l.askPassword != nil {
		l.password, err = l.askPassword(ctx, l.user, l.realm)
		l.hasPassword = err == nil
	}
	if err == nil && h.requestTimeout > 0 {
		h.conn.SetDeadline(time.Now().Add(h.requestTimeout))
	}
	if ctx.Err() != nil {
		return newConnError(context.Cause(ctx))
	}
	return err
}

// sendAuth sends a message. Its bytes from the offset secret on must not be shown.
func (h *host) sendAuth(message []byte, secret int) error {
	attr := &wire.Attr{Value: message}
	h.trace.attr("__pmSendAttr", attr, secret)
	h.out = wire.Append(h.out[:0], wire.FromAnon, attr)
	return h.write()
}

// authMessage receives a message of the collector: its methods, which are public, or a message
// that must not be shown.
func (h *host) authMessage(public bool) ([]byte, error) {
	hdr, body, err := h.read()
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
	h.trace.attr("__pmDecodeAttr", &attr, secret)
	if len(attr.Value) >= sasl.MaxMessage {
		return nil, fmt.Errorf("message of %d bytes during authentication: %w", len(attr.Value), pcp.ErrIPC)
	}
	return attr.Value, nil
}
