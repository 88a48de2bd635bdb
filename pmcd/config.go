package pmcd

import (
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/go-pcp/pcp/pmcd/access"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// Defaults of a Config.
const (
	DefaultPort         = wire.DefaultPort
	DefaultAgentTimeout = 5 * time.Second
	DefaultCredsTimeout = 3 * time.Second
)

// Limits that keep one client from harming the others. Beyond them a request is
// refused or the client dropped, as described at each.
const (
	// maxClients is how many clients are served at a time; others are
	// refused with pcp.ErrConnLimit.
	maxClients = 16384
	// defaultMaxContexts and defaultMaxMetrics are of a Config's MaxContexts and
	// MaxMetrics.
	defaultMaxContexts = 1024
	defaultMaxMetrics  = 32768
	// maxProfileBytes bounds the profiles of one client by the size of the
	// PDUs that brought them; beyond it pcp.ErrTooBig.
	maxProfileBytes = 4 << 20
	// maxAllProfileBytes bounds likewise the profiles of all clients; beyond
	// it a client gets pcp.ErrTooBig for a request that makes its own larger
	// than smallProfileBytes, so that profiles of usual size find room.
	maxAllProfileBytes = 64 << 20
	smallProfileBytes  = 32 << 10
	// keepMetrics and keepReply are for how many metrics, and how many bytes
	// of values, a client keeps the memory of a fetch for the next one.
	keepMetrics = 4096
	keepReply   = 1 << 20
	// handshakeTimeout is how long a new client has for its credentials.
	handshakeTimeout = 30 * time.Second
	// pduTimeout is how long a client has to finish a PDU that it began, and
	// to take a reply.
	pduTimeout = 5 * time.Second
)

// A Config configures a Server. Zero fields mean the defaults.
type Config struct {
	// Agents are started in this order. Domains and names must be unique.
	Agents []AgentSpec

	// NameSpace holds the names; nil means those that the in-process agents
	// bring along (pmda.NameSpacer).
	NameSpace *pmns.Tree

	// Listeners are where clients come in. The server closes them.
	Listeners []net.Listener

	// Local is the value of pmcd.feature.local: Listeners accept connections from
	// this host only.
	Local bool

	// Access has the permissions of clients. Nil means access.Default();
	// new(access.Rules) lets all clients do everything.
	Access *access.Rules

	// Auth authenticates clients that come by TCP; nil means that they are not
	// asked. It is not used for a Unix socket, where the kernel identifies the
	// client.
	Auth access.Authenticator

	// RequireCreds means that clients must identify themselves to be served.
	// Access rules for users or groups do the same.
	RequireCreds bool

	// TLS is the configuration of encrypted connections, which begin in the
	// middle of a stream, for clients that want them; nil means that TLS is
	// not offered. Its ClientAuth decides whether certificates of clients
	// are requested.
	TLS *tls.Config

	// RequireClientCert means that clients from other hosts, and all that use
	// TLS, must present a certificate that TLS.ClientCAs trusts.
	RequireClientCert bool

	// SysConfDir is the directory of the files with labels that this host's
	// administrator sets, PCP_SYSCONF_DIR: labels/*, labels/optional/* and
	// labels.conf. Server.HangUp has them read again. "" means no such files.
	SysConfDir string

	// HostName is the value of pmcd.hostname; "" asks the system.
	HostName string

	// HostRoot is the directory in which the root directory of the host is mounted in the container that the
	// server runs in, where the labels of the host are found; "" means that there is no container.
	HostRoot string

	// AgentTimeout is how long an agent may take to answer, 0 means
	// DefaultAgentTimeout and a negative one no limit.
	AgentTimeout time.Duration

	// CredsTimeout is how long an agent process has for its first PDU, 0
	// means DefaultCredsTimeout.
	CredsTimeout time.Duration

	// MemoryLimit, if it is not 0, is the soft limit of the process's memory in
	// bytes while it has few clients (debug.SetMemoryLimit). The server raises
	// it for many, or garbage collection would take all of a processor.
	MemoryLimit int64

	// MaxPDU is the longest PDU accepted from a client in bytes; 0 means
	// wire.MaxInbound. A client that sends a longer one is dropped.
	MaxPDU int

	// MaxContexts is how many contexts of one client may have a profile; 0
	// means 1024. The next is refused with pcp.ErrAgain.
	MaxContexts int

	// MaxMetrics is how many metrics a fetch may ask for; 0 means
	// 32768. A fetch of more is refused with pcp.ErrTooBig.
	MaxMetrics int

	// Dir is where agent processes run and, by their custom, keep their logs;
	// "" means the current directory.
	Dir string

	// AgentEnv is what agent processes find in their environment, as
	// NAME=value, in addition to the environment of this process.
	AgentEnv []string

	// AgentOutput receives what agent processes write to their standard
	// error, up to 64 KiB a minute and agent; nil discards it. Output of an
	// agent to its own log file is not included.
	AgentOutput io.Writer

	// Root, if not nil, starts the processes of agents; those that it does not
	// start are the server's own.
	Root *RootHelper

	// Reload, if not nil, is called when the server hangs up: it returns the
	// set-up to serve from then on, nil if that has not changed. It is not
	// called by several goroutines at a time.
	Reload func() *Setup

	// RestartInterval is how often agents in processes that died are started
	// again: the first one at once, later ones when this time has passed since
	// the last restart. Agents in process that could not be made are tried
	// again after this time, then after twice that, up to an hour. With 0 only
	// HangUp does all that.
	RestartInterval time.Duration

	// Trace selects the events traced from the start: TraceConn, TracePDU and
	// TraceUnbuffered, or'ed.
	Trace uint32

	// Debug are debug options: DebugPDU and others, or'ed.
	Debug int32

	// Report gets the parts of pmcd's log whose layout scripts know: the end of
	// agents, restarts and traces; nil discards them.
	Report io.Writer

	// Started, if not nil, is called when agents are up and clients are let in.
	Started func()

	// Log gets what an operator should know; nil discards it.
	Log *slog.Logger
}

// A Setup is the part of a Config that can change while the server runs.
type Setup struct {
	// Agents and Access replace the present ones, if Agents is not empty. An
	// agent that is connected and reached as before keeps running.
	Agents []AgentSpec
	Access *access.Rules // nil means access.Default()

	// NameSpace, if not nil, holds the names from now on.
	NameSpace *pmns.Tree
}

// An AgentSpec describes an agent and how it is reached: in process if Agent or
// Open is set, else by Transport.
type AgentSpec struct {
	Name   string
	Domain int

	// Agent answers in process. Open makes such an agent when the server is
	// complete, for an agent that reports on the server itself.
	Agent pmda.Agent
	Open  func(*Server) (pmda.Agent, error)

	conf.Transport
}

// AgentSpecs returns the agents of a pmcd.conf. The Agent of those whose Kind is
// conf.DSO is not set yet.
func AgentSpecs(agents []conf.Agent) []AgentSpec {
	specs := make([]AgentSpec, len(agents))
	for i, a := range agents {
		specs[i] = AgentSpec{Name: a.Name, Domain: a.Domain, Transport: a.Transport}
	}
	return specs
}

func (c *Config) setDefaults() {
	if c.Access == nil {
		c.Access = access.Default()
	}
	if c.AgentTimeout == 0 {
		c.AgentTimeout = DefaultAgentTimeout
	}
	if c.CredsTimeout <= 0 {
		c.CredsTimeout = DefaultCredsTimeout
	}
	if c.MaxPDU <= 0 {
		c.MaxPDU = wire.MaxInbound
	}
	if c.MaxContexts <= 0 {
		c.MaxContexts = defaultMaxContexts
	}
	if c.MaxMetrics <= 0 {
		c.MaxMetrics = defaultMaxMetrics
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Report == nil {
		c.Report = io.Discard
	}
	if c.AgentOutput == nil {
		c.AgentOutput = io.Discard
	}
}
