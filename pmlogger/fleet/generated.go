package fleet

import (
	"context"

	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmlogger/logconf"
)

// Generated is a [Configure] that makes a configuration for what a host has, of the groups of
// metrics that come with package logconf.
func Generated(ctx context.Context, c *pmapi.Context, _ Host) ([]byte, string, error) {
	text, err := logconf.Generate(ctx, c, logconf.Builtin(), logconf.Config{})
	return text, "the configuration made for this host", err
}
