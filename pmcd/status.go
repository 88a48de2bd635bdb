package pmcd

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/go-pcp/pcp/pmcd/access"
	"github.com/go-pcp/pcp/wire"
)

// WriteStatus writes the start of pmcd's log: the tables of agents, of access
// rules and of request ports, in the layout that scripts know.
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
		if ag.Connected() {
			ag.Describe(b)
		}
	}
	b.WriteByte('\n')
	b.WriteString(s.access.Load().Describe())
	b.WriteByte('\n')
}

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

// DumpClients writes the table of clients to Config.Report.
func (s *Server) DumpClients() {
	var b strings.Builder
	fmt.Fprintf(&b, "\n->Current PMCD clients at %s\n", time.Now().Format(time.ANSIC))
	s.listClients(&b)
	io.WriteString(s.cfg.Report, b.String())
}
