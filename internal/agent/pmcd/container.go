package pmcd

import (
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// A containerNamer is a collector that knows the host name inside a container.
type containerNamer interface {
	HostNameIn(container string) (string, error)
}

// valueFor returns the value of a metric that depends on the client: pmcd.hostname.
// For a container it is never the host's own name, which C uses as a fallback.
func (a *Agent) valueFor(req *pmda.FetchRequest, _ *pmda.Metric, _ int32, _ int) (pcp.Value, error) {
	container := ""
	if req.Client != nil {
		container = req.Client.Attrs[pmda.AttrContainer]
	}
	if container == "" {
		return text(a.c.HostName())
	}
	n, ok := a.c.(containerNamer)
	if !ok {
		return pcp.Value{}, pcp.ErrNotConn
	}
	name, err := n.HostNameIn(container)
	if err != nil {
		return pcp.Value{}, fmt.Errorf("host name in container %q: %w", container, err)
	}
	return text(name)
}
