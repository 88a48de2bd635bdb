package pmcd

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd/access"
	"github.com/go-pcp/pcp/wire"
)

// handshake greets a client and takes its credentials:
//
//	server   ERROR 0 with version and features, or ERROR n and the end
//	client   CREDS with its version and the features it wants to use
//	server   ERROR 0, and TLS from then on, if the client wants that
//	both     ATTR 0 until the client is authenticated, if it wants or has to be
//	client   ATTR with the name of a container, if it wants that feature
func (c *client) handshake() error {
	c.s.reloader.await(c.s.cfg.CredsTimeout)
	if refused := c.admit(); refused != nil {
		c.send(&wire.Error{Code: pcp.Code(refused), Extended: true})
		return refused
	}
	hello := wire.Info{Version: wire.PDUVersion, Licensed: 1, Features: c.s.featureSet()}
	if err := c.send(&wire.Error{Extended: true, Info: hello.Pack()}); err != nil {
		return err
	}
	if err := c.conn.SetReadDeadline(time.Now().Add(handshakeTimeout)); err != nil {
		return err
	}
	c.rd.set = true // to be undone by next
	h, body, err := c.next()
	if err != nil {
		return err
	}
	if h.Type != wire.TypeCreds {
		return fmt.Errorf("%v PDU before credentials: %w", h.Type, pcp.ErrIPC)
	}
	c.s.journal.client("client came", c)
	if err := c.credentials(body); err != nil {
		var m *malformedError
		if errors.As(err, &m) {
			err = fmt.Errorf("%v PDU: %w", h.Type, err)
		}
		return err
	}
	c.shaken = true
	if err := c.admitAccount(); err != nil {
		return c.denyAll(err)
	}
	c.meetAgents()
	return nil
}

// admit applies access control to a new connection.
func (c *client) admit() error {
	if c.s.clients.tooMany() {
		return pcp.ErrConnLimit
	}
	return c.admission.admit(c.conn.RemoteAddr(), c.unix)
}

// noteAdmission logs, if asked to, that the rules admit the client's host.
func (c *client) noteAdmission(denied access.Ops) {
	if c.s.debugging(DebugAccess) {
		c.s.log.Info("client admitted", "client", c.name, "number", c.number, "denied", denied)
	}
}

// readmit applies new access rules to an admitted client. If they refuse it,
// readmit wakes the client's own goroutine, which sends the refusal.
func (c *client) readmit() {
	c.admission.readmit(c.conn.RemoteAddr(), c.unix, func() { c.conn.SetReadDeadline(time.Unix(1, 0)) })
}

func (c *client) credentials(body []byte) error {
	var creds wire.Creds
	if err := decode(&creds, body); err != nil {
		return err
	}
	version, wanted, ok := creds.Version()
	if !ok || version != wire.PDUVersion {
		return c.refuse(fmt.Errorf("client's protocol version is %d: %w", version, pcp.ErrIPC))
	}
	const known = wire.FeatureSecure | wire.FeatureSecureAck | wire.FeatureCompress | wire.FeatureAuth |
		wire.FeatureCredsReqd | wire.FeatureCertReqd | wire.FeatureContainer
	if odd := wanted &^ known; odd != 0 {
		return c.refuse(fmt.Errorf("client wants %v, which no client can request: %w", odd, pcp.ErrIPC))
	}
	if wanted&wire.FeatureCompress != 0 {
		return c.refuse(fmt.Errorf("client wants %v, which was not offered: %w", wire.FeatureCompress, -pcp.Error(syscall.EOPNOTSUPP)))
	}
	if err := c.secure(wanted); err != nil {
		return err
	}
	if err := c.identify(wanted); err != nil {
		return err
	}
	if wanted&wire.FeatureContainer == 0 {
		return nil
	}
	if c.s.featureSet()&wire.FeatureContainer == 0 {
		return c.refuse(fmt.Errorf("client wants %v, which was not offered: %w", wire.FeatureContainer, pcp.ErrNYI))
	}
	if err := c.conn.SetReadDeadline(time.Now().Add(handshakeTimeout)); err != nil {
		return err
	}
	c.rd.set = true
	h, body, err := c.next()
	if err != nil {
		return err
	}
	if h.Type != wire.TypeAttr {
		return c.refuse(fmt.Errorf("%v PDU instead of a container's name: %w", h.Type, pcp.ErrIPC))
	}
	var attr wire.Attr
	if err := attr.DecodeBody(body); err != nil {
		return c.refuse(fmt.Errorf("%v PDU: %w", h.Type, err))
	}
	if attr.Attr != wire.AttrContainer {
		return c.refuse(fmt.Errorf("attribute %d instead of a container's name: %w", attr.Attr, pcp.ErrIPC))
	}
	if name := attr.Text(); name != "" {
		c.pub.Attrs[wire.AttrContainer] = name
		c.container.Store(name)
	}
	return nil
}
