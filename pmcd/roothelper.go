package pmcd

import (
	"sync"

	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/rootproto"
	"github.com/go-pcp/pcp/pmcd/internal/backend"
)

// A RootHelper is a connection to pmdaroot(1). A server that lacks privileges
// uses it to start agents that need them; the server and agents in its process
// use it to find out about containers. It connects when it is first needed; a
// program that gives up privileges calls Connect before that.
//
// Server.Run starts the agent of domain 1, which is the helper, before others.
// Without a helper agents are processes of the server's own, and questions about
// containers are answered with pcp.ErrNotConn.
type RootHelper struct {
	// AskOnly means that the server starts agents itself all the same. Set it
	// before New.
	AskOnly bool

	client   *rootproto.Client
	launcher *backend.Launcher

	mu     sync.Mutex
	silent bool // the log already reports the missing helper
}

// quiet reports whether the log already reports the missing helper, which it does after this call.
func (h *RootHelper) quiet() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.silent
	h.silent = true
	return was
}

// connectTo connects if the helper was started as one of the agents, as the program may be
// about to give up the privileges that this takes.
func (h *RootHelper) connectTo(agents *registry) {
	if !agents.any((*agent).startedRoot) {
		return
	}
	if err := h.connect(); err != nil {
		h.miss(agents, err)
	}
}

// miss logs once that the helper is missing.
func (h *RootHelper) miss(agents *registry, err error) {
	if h.quiet() {
		return
	}
	const effect = "agents get the privileges of the collector alone, and containers cannot be looked into"
	if agents.any((*agent).isRoot) {
		agents.log.Warn("root helper is unavailable: "+effect, "err", err)
		return
	}
	agents.log.Info("no root helper is configured: " + effect)
}

// NewRootHelper returns the helper that listens at a path.
func NewRootHelper(path string) *RootHelper {
	client := rootproto.NewClient(path)
	return &RootHelper{client: client, launcher: backend.NewLauncher(client)}
}

// DefaultRootPath is where the helper of an installation listens.
func DefaultRootPath(cfg *config.Config) string { return rootproto.DefaultPath(cfg) }

// connect connects. The error is pcp.ErrNotConn if there is no helper.
func (h *RootHelper) connect() error { return h.client.Connect() }

// Close closes the connection.
func (h *RootHelper) Close() error { return h.client.Close() }

// hostName returns the name of the host in a container, and processID the number
// of the container's first process. If the container is not known, they return
// pcp.ErrNoContainer.
func (h *RootHelper) hostName(container string) (string, error) { return h.client.HostName(container) }

// processID is described at hostName.
func (h *RootHelper) processID(container string) (int, error) { return h.client.ProcessID(container) }
