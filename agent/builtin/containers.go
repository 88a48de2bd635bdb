package builtin

import (
	"errors"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/rootproto"
)

// Containers finds the processes of containers.
type Containers interface {
	// ProcessID returns the first process of a container.
	ProcessID(container string) (int, error)
}

// Containers asks the host of the agent for the processes of containers, if it has a
// method ProcessIDIn, as a collector has it, and else the root helper of the installation,
// which is looked for when it is first needed.
func (e Env) Containers() Containers {
	installed := rootproto.NewClient(rootproto.DefaultPath(e.Config))
	if h, ok := e.Host.(containerHost); ok {
		return hostContainers{h, installed}
	}
	return installed
}

// A containerHost may know the processes of containers, or else returns
// pcp.ErrNotConn.
type containerHost interface {
	ProcessIDIn(container string) (int, error)
}

// hostContainers asks the host, and the helper of the installation if the host is not
// connected to one.
type hostContainers struct {
	host      containerHost
	installed Containers
}

func (h hostContainers) ProcessID(container string) (int, error) {
	pid, err := h.host.ProcessIDIn(container)
	if errors.Is(err, pcp.ErrNotConn) {
		return h.installed.ProcessID(container)
	}
	return pid, err
}
