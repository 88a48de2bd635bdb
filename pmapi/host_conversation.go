package pmapi

import (
	"context"
	"net"

	"github.com/go-pcp/pcp/wire"
)

// A conversation is a pduConn with what collector and client know of each other
// since its handshake.
type conversation struct {
	pduConn
	features   wire.Features // of the collector
	profileGen uint64        // generation of the profile that the collector has
}

// attach makes conn the connection, and calls shake, which sets the features, as its first
// request.
func (c *conversation) attach(ctx context.Context, conn net.Conn, shake func() error) error {
	c.use(conn)
	c.features, c.profileGen = 0, 0
	err := c.begin(ctx)
	if err == nil {
		err = c.end(ctx, shake())
	}
	if err != nil {
		c.fail(err)
	}
	return err
}

// has reports whether the collector has a feature.
func (c *conversation) has(f wire.Features) bool { return c.features&f != 0 }

// addProfile appends the profile to the requests if the collector does not have
// it, and returns its generation, which is profileGen once they are sent.
func (c *conversation) addProfile(p profile) (uint64, error) {
	if p.gen == c.profileGen {
		return p.gen, nil
	}
	c.trace.sendProfile(p.Profile)
	return p.gen, c.add(&wire.Profile{Context: slot, Profile: *p.Profile})
}
