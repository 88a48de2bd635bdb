package pmcd

import (
	"fmt"
	"io"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// Debug options, as bits of Config.Debug and Server.SetDebug. Others mean
// nothing to a Server.
const (
	DebugPDU    = 1 << 0  // pdu: each PDU, in hexadecimal with its meaning
	DebugIO     = 1 << 11 // appl0: clients that come and go, their requests and what goes wrong with these
	DebugAccess = 1 << 12 // appl1: what clients may do when they come
	DebugConfig = 1 << 13 // appl2: agents of a configuration as they were understood
)

// Debug are the debug options in effect.
func (s *Server) Debug() int32 { return s.debug.Load() }

// SetDebug changes them.
func (s *Server) SetDebug(flags int32) {
	s.debug.Store(flags)
	shown := uint32(0)
	if flags&DebugPDU != 0 {
		shown = traceDebug
	}
	s.events.setMask(traceDebug, shown)
}

// debugging tells whether an option is in effect.
func (s *Server) debugging(bit int32) bool { return s.debug.Load()&bit != 0 }

// debugRequest shows what became of a request.
func (s *Server) debugRequest(c *client, t wire.Type, err error) {
	s.log.Info("request", "client", c.pub.ID, "pdu", t.String(), "status", pcp.Code(err))
}

// DescribeAgents writes agents as a configuration names them, for DebugConfig.
func DescribeAgents(w io.Writer, agents []AgentSpec) error {
	var b strings.Builder
	for i := range agents {
		a := &agents[i]
		fmt.Fprintf(&b, "config: agent %q domain %d %v", a.Name, a.Domain, a.Kind)
		switch a.Kind {
		case DSO:
			fmt.Fprintf(&b, " entry %q path %q", a.Entry, a.Path)
		case Socket:
			fmt.Fprintf(&b, " %s %q", a.Network, a.Address)
		}
		for j, arg := range a.Args {
			fmt.Fprintf(&b, " argv[%d]=%q", j, arg)
		}
		if a.NotReady {
			b.WriteString(" notready")
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}
