package pmcd

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/go-pcp/pcp/pmcd/access"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/wire"
)

// WriteStatus writes what pmcd's log starts with: the tables of agents, of
// access rules and of request ports, in the layout that scripts know.
func (s *Server) WriteStatus(w io.Writer) error {
	var b strings.Builder
	s.describeTables(&b)
	fmt.Fprintf(&b, "\npmcd: PID = %d, PDU version = %d\n", os.Getpid(), wire.PDUVersion)
	b.WriteString("pmcd request port(s):\n" +
		"  sts fd   port  family address\n" +
		"  === ==== ===== ====== =======\n")
	for _, ln := range s.cfg.Listeners {
		describeListener(&b, ln)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// describeTables writes the tables of agents and of access rules.
func (s *Server) describeTables(b *strings.Builder) {
	b.WriteString("\nactive agent dom   pid  in out ver protocol parameters\n" +
		"============ === ===== === === === ======== ==========\n")
	for _, ag := range s.agents() {
		if ag.connected.Load() {
			ag.be.describe(b)
		}
	}
	b.WriteByte('\n')
	b.WriteString(s.access.Load().Describe())
	b.WriteByte('\n')
}

func (l *local) describe(b *strings.Builder) {
	spec := &l.ag.spec
	lib, entry := spec.Path, spec.Entry
	if lib == "" {
		lib = "built-in"
	}
	if entry == "" {
		entry = fmt.Sprintf("%T", l.run.Agent())
	}
	fmt.Fprintf(b, "%-12s %3d               %3d dso i:%d  lib=%s entry=%s\n",
		l.ag.name(), spec.Domain, wire.PDUVersion, pmdaInterface, lib, entry)
}

func (r *remote) describe(b *strings.Builder) {
	a, spec := r.ag, &r.ag.spec
	fmt.Fprintf(b, "%-12s %3d %5d %3d %3d %3d bin ", a.name(), spec.Domain, cmp.Or(a.pid.Load(), -1), r.inFD, r.outFD, wire.PDUVersion)
	command := strings.Join(spec.Args, " ")
	switch {
	case spec.Kind == conf.Pipe:
		b.WriteString("pipe cmd=" + command)
	default:
		b.WriteString("sock dom=" + spec.Family() + " port=" + spec.Address)
		if command != "" {
			b.WriteString(" cmd=" + command)
		}
	}
	b.WriteByte('\n')
}

// pmdaInterface is the version of the interface between collector and agent
// that agents in process have in full (PMDA_INTERFACE_7).
const pmdaInterface = 7

// describeClients writes the table of clients. It shows their addresses only and
// does not ask a name server.
func (s *Server) describeClients(b *strings.Builder) {
	b.WriteString("Current PMCD clients ...\n")
	s.listClients(b)
}

// listClients writes the table itself.
func (s *Server) listClients(b *strings.Builder) {
	b.WriteString("     fd  client connection from                    ipc ver  operations denied\n" +
		"     ==  ========================================  =======  =================\n")
	s.clients.Lock()
	defer s.clients.Unlock()
	for _, c := range s.clients.slots {
		if c == nil {
			continue
		}
		fmt.Fprintf(b, "    %3s  %-40.40s  %7d", descriptorOf(c.conn), c.from(), wire.PDUVersion)
		if deny := c.denied(); deny != 0 {
			b.WriteString("  ")
			if deny&access.OpFetch != 0 {
				b.WriteString("fetch ")
			}
			if deny&access.OpStore != 0 {
				b.WriteString("store ")
			}
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
}

func describeListener(b *strings.Builder, ln net.Listener) {
	family, port, address := "unix", "", ln.Addr().String()
	if tcp, ok := ln.Addr().(*net.TCPAddr); ok {
		family, port, address = "ipv6", fmt.Sprint(tcp.Port), tcp.IP.String()
		if tcp.IP.To4() != nil {
			family = "inet"
		}
		if tcp.IP.IsUnspecified() {
			address = "INADDR_ANY"
		}
	}
	fmt.Fprintf(b, "  %-3s %4s %5s %-6s %s\n", "ok", descriptorOf(ln), port, family, address)
}
