package pmcd

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/sasl"
	"github.com/go-pcp/pcp/pmcd/access"
	"github.com/go-pcp/pcp/wire"
)

const (
	// maxAuthSteps is how many messages a client may send to authenticate.
	maxAuthSteps = 8
	// failurePause is how long a client whose authentication failed waits for
	// the error. A client has one attempt for each connection.
	failurePause = 300 * time.Millisecond
)

// identify is the part of the handshake after encryption: it identifies the
// user of the client, if the client or the server wants that. For a Unix
// socket the kernel has already done so.
func (c *client) identify(wanted wire.Features) error {
	_, known := c.pub.Attrs[wire.AttrUserID]
	if wanted&wire.FeatureCredsReqd != 0 {
		if known {
			return nil
		}
		wanted |= wire.FeatureAuth
	}
	if wanted&wire.FeatureAuth == 0 {
		return nil
	}
	if c.s.entry.auth == nil {
		return c.refuse(fmt.Errorf("client wants %v, which was not offered: %w", wire.FeatureAuth, pcp.ErrNYI))
	}
	if c.shaken { // access was decided by the identity it had then
		return c.refuse(fmt.Errorf("client wants %v, after its handshake: %w", wire.FeatureAuth, pcp.ErrIPC))
	}
	ex, err := c.authenticate()
	var broke *readError
	if err == nil || errors.As(err, &broke) {
		return err
	}
	who, how := "?", "?"
	if ex != nil {
		who, how = ex.User(), ex.Mechanism()
	}
	return c.refuse(fmt.Errorf("authentication of user %.64q by %.20s: %w", who, how, err))
}

// A readError is a failure to hear from a client.
type readError struct{ error }

func (e *readError) Unwrap() error { return e.error }

// authenticate authenticates the client, in at most handshakeTimeout.
func (c *client) authenticate() (access.Exchange, error) {
	end := time.Now().Add(handshakeTimeout)
	mechanisms := strings.Join(c.s.entry.auth.Mechanisms(), " ")
	if mechanisms == "" {
		return nil, fmt.Errorf("no mechanism that can be offered: %w", sasl.ErrNoMech)
	}
	first, err := c.authMessage([]byte(mechanisms), end)
	if err != nil {
		return nil, err
	}
	var ex access.Exchange
	var challenge []byte
	err = c.attempt(end, func() (err error) {
		if ex, err = c.s.entry.auth.Begin(first); err != nil {
			return err
		}
		if challenge, err = ex.Start(); err == nil && ex.Done() {
			err = c.become(ex)
		}
		return err
	})
	for range maxAuthSteps {
		if err != nil || ex.Done() {
			return ex, err
		}
		var response []byte
		if response, err = c.authMessage(challenge, end); err != nil {
			return ex, err
		}
		err = c.attempt(end, func() (err error) {
			if challenge, err = ex.Step(response); err == nil && ex.Done() {
				err = c.become(ex)
			}
			return err
		})
	}
	if err != nil || ex.Done() {
		return ex, err
	}
	return ex, fmt.Errorf("more than %d messages: %w", maxAuthSteps, pcp.ErrIPC)
}

// authMessage sends a message of the exchange and takes the answer.
func (c *client) authMessage(out []byte, end time.Time) ([]byte, error) {
	if err := c.send(&wire.Attr{Value: out}); err != nil {
		return nil, &readError{err}
	}
	if err := c.conn.SetReadDeadline(end); err != nil {
		return nil, &readError{err}
	}
	c.rd.set = true // to be undone by next
	h, body, err := c.next()
	if err != nil {
		return nil, &readError{err}
	}
	switch h.Type {
	case wire.TypeAttr:
	case wire.TypeError:
		var e wire.Error
		if err := e.DecodeBody(body); err != nil {
			return nil, fmt.Errorf("%v PDU: %w", h.Type, err)
		}
		return nil, fmt.Errorf("client gave up with status %d: %w", e.Code, pcp.ErrIPC)
	default:
		return nil, fmt.Errorf("%v PDU instead of a message of the exchange: %w", h.Type, pcp.ErrIPC)
	}
	var attr wire.Attr
	if err := attr.DecodeBody(body); err != nil {
		return nil, fmt.Errorf("%v PDU: %w", h.Type, err)
	}
	if len(attr.Value) >= sasl.MaxMessage {
		return nil, fmt.Errorf("message of %d bytes: %w", len(attr.Value), pcp.ErrIPC)
	}
	return attr.Value, nil
}

// become gives the client the identity that it has proven. As in C it must be
// that of a user of this host.
func (c *client) become(ex access.Exchange) error {
	c.s.lines.write(slog.LevelInfo, "authenticated", fmt.Sprintf("Successful authentication for user %q", ex.User()), "client", c.name, "method", ex.Mechanism())
	who, err := access.LookupUser(ex.User())
	if err != nil {
		return err
	}
	c.pub.Attrs[wire.AttrUserName] = ex.User()
	c.pub.Attrs[wire.AttrUserID] = strconv.Itoa(who.UID)
	c.pub.Attrs[wire.AttrGroupID] = strconv.Itoa(who.GID)
	return nil
}

// admitAccount applies the access rules for users and groups, once the identity
// of the client is final.
func (c *client) admitAccount() error {
	var who *access.User
	if user, ok := c.pub.Attrs[wire.AttrUserID]; ok {
		uid, err1 := strconv.Atoi(user)
		gid, err2 := strconv.Atoi(c.pub.Attrs[wire.AttrGroupID])
		if err1 == nil && err2 == nil {
			who = &access.User{UID: uid, GID: gid}
		}
	}
	return c.admission.identify(who)
}

// denyAll denies a client all operations, and keeps the connection, as in C: its
// requests are refused, until the rules change.
func (c *client) denyAll(why error) error {
	c.admission.denyAll()
	c.s.lines.write(slog.LevelWarn, "denied", "client denied everything", "client", c.name, "user", c.pub.Attrs[wire.AttrUserName],
		"uid", c.pub.Attrs[wire.AttrUserID], "err", why)
	return c.send(&wire.Error{Code: pcp.Code(why)})
}

// attempt makes a part of an exchange that may reveal whether a password is right.
func (c *client) attempt(end time.Time, try func() error) error {
	leave, err := c.s.entry.brake.enter(brakeKey(c.from()), end, c.s.closing)
	if err != nil {
		return err
	}
	defer leave()
	err = try()
	if err != nil {
		timer := time.NewTimer(failurePause)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-c.s.closing:
		}
	}
	return err
}
