package pmcd

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

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
	s.agents.describe(b)
	b.WriteString(s.entry.rules.Load().Describe())
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
func (s control) DumpClients() {
	var b strings.Builder
	fmt.Fprintf(&b, "\n->Current PMCD clients at %s\n", time.Now().Format(time.ANSIC))
	s.clients.describe(&b)
	io.WriteString(s.report, b.String())
}
