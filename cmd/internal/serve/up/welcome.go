package up

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pmcd"
)

// running describes the collector to other commands.
func running(set *settings, lns []net.Listener, page *page) *cli.Running {
	r := &cli.Running{PID: os.Getpid(), Socket: set.absSocket(), Dir: set.dir}
	if page != nil {
		r.Page, r.Token = page.link, page.token
	}
	for _, ln := range lns {
		if ln.Addr().Network() != "unix" {
			r.Addresses = append(r.Addresses, ln.Addr().String())
		}
	}
	return r
}

// openWarning follows the welcome of a collector that serves the network.
const openWarning = `
Warning: --all lets every host that can reach the ports above read all metrics.
`

func agentNames(server *pmcd.Server) []string {
	var names []string
	for _, a := range server.AgentStates() {
		if a.Connected {
			names = append(names, a.Name)
		}
	}
	return names
}

// welcome prints the addresses of all services, and what to do next.
func welcome(env *cli.Env, set *settings, host string, agents []string, lns []net.Listener, page *page, logPath string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Collecting from %s.\n\n", host)
	fmt.Fprintf(&b, "  agents   %s\n", strings.Join(agents, ", "))
	for _, ln := range lns {
		if ln.Addr().Network() == "unix" {
			fmt.Fprintf(&b, "  socket   %s\n", ln.Addr())
		}
	}
	at := ""
	for _, ln := range lns {
		if ln.Addr().Network() == "unix" {
			continue
		}
		fmt.Fprintf(&b, "  address  %s\n", ln.Addr())
		if tcp, ok := ln.Addr().(*net.TCPAddr); ok && at == "" && !found(env, lns, tcp.Port) {
			at = " -h localhost"
			if tcp.Port != pmcd.DefaultPort {
				at += ":" + strconv.Itoa(tcp.Port)
			}
		}
	}
	if at != "" && set.socket != "" { // over TCP the collector does not know the client's user, and shows no processes
		at = " -h " + cli.SocketHost(set.absSocket())
	}
	switch {
	case set.otlp && slices.Contains(agents, receiver):
		fmt.Fprintf(&b, "  otlp     http://%s\n", cmp.Or(set.otlpAddress, "localhost:4318"))
	case set.otlp:
		fmt.Fprintf(&b, "  otlp     not running, see the log; tried again every minute\n")
	}
	if page != nil {
		fmt.Fprintf(&b, "  page     %s\n", page.address())
	}
	if set.statsd != "" {
		fmt.Fprintf(&b, "  statsd   %s\n", set.statsd)
	}
	fmt.Fprintf(&b, "  log      %s\n", logPath)
	if !set.noRecord {
		fmt.Fprintf(&b, "  records  %s\n           %s; --no-record turns it off\n", set.archives(host), set.caps())
	}
	for _, t := range set.targets {
		fmt.Fprintf(&b, "  sends    to %s\n", strings.Join(t.URLs, ", "))
	}
	if len(set.push) > 0 {
		fmt.Fprintf(&b, "  pushes   to %s\n", strings.Join(set.push, ", "))
	}
	if r := set.registers; r != nil {
		fmt.Fprintf(&b, "  registers  %s with %s\n", r.Address, set.register)
	}
	if set.rules {
		name := builtinRules
		if len(set.rulesFiles) > 0 {
			name = strings.Join(set.rulesFiles, ", ")
		}
		fmt.Fprintf(&b, "  rules    %s; %s alerts lists those that are true\n", name, env.Pcp())
	}
	b.WriteString("\n")
	fmt.Fprintf(&b, "Next, in another terminal:\n\n")
	hints := [][2]string{
		{"info" + at + " kernel", "the metrics below kernel"},
		{"info" + at + " -f kernel.all.load", "current values"},
		{"val" + at + " kernel.all.load", "refreshed every second"},
		{"top" + at, "everything, live in the terminal"},
	}
	for _, h := range hints {
		fmt.Fprintf(&b, "  %s %-*s   %s\n", env.Pcp(), len(hints[1][0]), h[0], h[1])
	}
	b.WriteString("\nCtrl-C stops it.\n")
	return b.String()
}

// found reports whether commands find a collector on a port without options: at the socket of
// this user or on the default port, if no other collector serves the socket where they look
// first.
func found(env *cli.Env, lns []net.Listener, port int) bool {
	own := slices.ContainsFunc(lns, func(ln net.Listener) bool {
		return ln.Addr().Network() == "unix" && ln.Addr().String() == env.Config().OwnSocket()
	})
	if !own && (port != pmcd.DefaultPort || env.Getenv("PMCD_PORT") != "") {
		return false
	}
	socket := env.Getenv("PMCD_SOCKET")
	if socket == "" {
		socket = filepath.Join(env.Config().Get("PCP_RUN_DIR"), "pmcd.socket")
	}
	conn, err := net.DialTimeout("unix", socket, time.Second)
	if err == nil {
		conn.Close()
	}
	return err != nil
}
