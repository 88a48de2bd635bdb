package pmapi

import (
	"context"
	"fmt"
	"os"
	"syscall"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/internal/debugname"
	"github.com/go-pcp/pcp/wire"
)

// An identity is as whom a client comes to a collector.
type identity struct {
	container string
	login     *login
	security  security
}

// another returns a copy for another connection.
func (id *identity) another() identity {
	return identity{id.container, id.login.another(), id.security}
}

// handshake reads the collector's greeting, identifies the client, and sends
// attributes (connect.c: __pmConnectHandshake).
func (id *identity) handshake(ctx context.Context, c *conversation, to *target, at place) error {
	hdr, body, err := c.read()
	if err != nil {
		return err
	}
	if hdr.Type != wire.TypeError {
		return fmt.Errorf("greeting is a PDU of type %v: %w", hdr.Type, pcp.ErrIPC)
	}
	var hello wire.Error
	if err := hello.DecodeBody(body); err != nil {
		return err
	}
	c.trace.greeted(c.conn, &hello)
	if hello.Code < 0 {
		return hello.Code
	}
	info := wire.UnpackInfo(hello.Info)
	if !hello.Extended || info.Version != wire.PDUVersion {
		return fmt.Errorf("collector speaks version %d of the protocol, not %d: %w", info.Version, wire.PDUVersion, pcp.ErrIPC)
	}
	features := info.Features
	flags, err := id.security.flags(features, at.local)
	if err != nil {
		return err
	}
	if id.container != "" && features&wire.FeatureContainer == 0 {
		return fmt.Errorf("collector does not know containers: %w", errNotSupported)
	}
	login, err := id.login.flags(features)
	if err != nil {
		return err
	}
	flags |= login
	if id.container != "" {
		flags |= wire.FeatureContainer
	}
	c.features = features
	creds := []wire.Cred{wire.VersionCred(wire.PDUVersion, flags)}
	c.trace.creds(creds)
	c.out = wire.Append(c.out[:0], int32(os.Getpid()), &wire.Creds{Creds: creds})
	if login != 0 || flags&wire.FeatureSecure != 0 {
		if err := c.write(); err != nil {
			return err
		}
		c.trace.tls("__pmSecureClientHandshake: entered")
		if err := id.security.begin(&c.pduConn, to, flags, at.unix()); err != nil {
			return err
		}
		if err := id.login.authenticate(ctx, &c.pduConn, to, flags, at.unix()); err != nil {
			return err
		}
		c.out = c.out[:0]
		if id.container == "" {
			return nil
		}
	}
	if id.container != "" {
		if c.trace.on(debugname.Context) {
			c.trace.printf("connect.c:__pmConnectHandshake container=\"%s\" [%d]\n", clean(id.container), len(id.container))
		}
		attr := &wire.Attr{Attr: wire.AttrContainer, Value: []byte(id.container)}
		c.trace.attr("__pmSendAttr", attr, len(attr.Value))
		c.out = wire.Append(c.out, wire.FromAnon, attr)
	}
	return c.write()
}

// checkContainer returns an error if name cannot be that of a container, as names
// end up in label sets (context.c: __pmCheckAttribute).
func checkContainer(name string) error {
	for _, c := range []byte(name) {
		if c != '.' && c != '-' && c != '_' && !ctext.IsAlnum(c) {
			return fmt.Errorf("container name %q: %w", name, -pcp.Error(syscall.EINVAL))
		}
	}
	return nil
}
