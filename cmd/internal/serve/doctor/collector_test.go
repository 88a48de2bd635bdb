package doctor

import (
	"context"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd"
)

const bareConf = "pmcd 2 dso pmcd_init /usr/lib/pmda_pmcd.so\n"

// TestCollector stages faults of collectors.
func TestCollector(t *testing.T) {
	t.Parallel()
	testStaged(t, []staged{
		{"collector.unreachable", func(*stage) {}, "no collector answers on this machine (socket", nil},
		{"collector.hangs", func(g *stage) {
			g.listen(func(net.Conn) {})
			g.host = "localhost:" + g.vars["PMCD_PORT"]
		}, "accepts connections but does not answer within", nil},
		{"collector.broken", func(g *stage) {
			g.host = "localhost:" + g.vars["PMCD_PORT"]
			g.listen(func(c net.Conn) { io.WriteString(c, "HTTP/1.0 400 Bad Request\r\n\r\n"); c.Close() })
		}, "does not answer as a collector", nil},
		{"collector.foreign", func(g *stage) { g.listen(func(net.Conn) {}) }, "in use by the program doctor.test", nil},
		{"collector.refuses", func(g *stage) { g.pmcd(bareConf + "[access]\ndisallow \"*\" : all;\n") }, "does not admit this client", nil},
		{"collector.full", func(g *stage) {
			g.pmcd(bareConf + "[access]\nallow \"*\" : maximum 1 connections;\n")
			g.host = "localhost:" + g.vars["PMCD_PORT"]
			c, err := pmapi.Dial(context.Background(), g.host)
			if err != nil {
				g.t.Fatal(err)
			}
			g.t.Cleanup(func() { c.Close() })
		}, "as many clients as", nil},
		{"collector.tls", func(g *stage) {
			g.pmcd(bareConf)
			g.host = "pcps://localhost:" + g.vars["PMCD_PORT"]
		}, "TLS with the collector", nil},
		{"collector.slow", func(g *stage) {
			g.pmcd(bareConf)
			g.host = "localhost:" + g.relay(slow+100*time.Millisecond)
			g.site = func(s *site) { s.patience, s.each = 30*time.Second, time.Minute }
		}, "to answer", nil},
		{"collector.empty", func(g *stage) {
			ln, err := net.Listen("tcp", "127.0.0.1:"+g.vars["PMCD_PORT"])
			if err != nil {
				g.t.Fatal(err)
			}
			srv, err := pmcd.New(pmcd.Config{Listeners: []net.Listener{ln}}) // without agents
			if err != nil {
				g.t.Fatal(err)
			}
			ctx, stop := context.WithCancel(context.Background())
			ended := make(chan error)
			go func() { ended <- srv.Run(ctx) }()
			g.t.Cleanup(func() { stop(); <-ended })
			g.host = "localhost:" + g.vars["PMCD_PORT"]
		}, "has no names of metrics", nil},
		{"collector.address", func(g *stage) { g.vars["PMCD_HOST"] = "no-such-host.invalid"; g.host = "no-such-host.invalid" }, "no-such-host", nil},
		{"collector.socket-rights", func(g *stage) {
			g.pmcd(bareConf)
			if err := os.Chmod(g.path("run/pmcd.socket"), 0o700); err != nil {
				g.t.Fatal(err)
			}
		}, "permissions 0700", nil},
		{"collector.version", func(g *stage) {
			g.up("--no-record", "--no-web")
			g.site = func(s *site) { e := *s.env; e.Version = "99.9"; s.env = &e }
		}, "the installed program version 99.9", nil},
		{"collector.two", func(g *stage) {
			g.pmcd(bareConf)
			port, socket := g.vars["PMCD_PORT"], g.vars["PMCD_SOCKET"]
			g.vars["PMCD_PORT"] = freePort(g)
			g.up("--no-record", "--no-web")
			g.vars["PMCD_PORT"] = port
			_ = socket
		}, "two collectors run", nil},
	})
}

// relay makes a port that leads to the collector's, and is slow at first.
func (g *stage) relay(delay time.Duration) string {
	g.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				time.Sleep(delay)
				to, err := net.Dial("tcp", "127.0.0.1:"+g.vars["PMCD_PORT"])
				if err != nil {
					return
				}
				defer to.Close()
				go io.Copy(to, conn)
				io.Copy(conn, to)
			}()
		}
	}()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		g.t.Fatal(err)
	}
	return port
}

func freePort(g *stage) string { return strconv.Itoa(oracle.FreePort(g.t)) }

// TestSound requires that sound machines have no finding, and that --quiet is fast and silent.
func TestSound(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*stage){
		"up":   func(g *stage) { g.up() },
		"pmcd": func(g *stage) { g.pmcd(bareConf) },
		"c":    soundC,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newStage(t)
			start(g)
			if found := g.examine(); len(found) > 0 {
				t.Errorf("found on a sound machine:\n%s", show(found))
			}
			best := time.Hour
			for range 3 {
				out := new(strings.Builder)
				begin := time.Now()
				if status := Command.Run(context.Background(), g.env(out, "--quiet")); status != 0 || out.Len() > 0 {
					t.Errorf("--quiet: status %d, output %q", status, out)
				}
				best = min(best, time.Since(begin))
			}
			t.Logf("--quiet takes %v", best)
			if best > time.Second { // 100 ms on a machine with nothing else to do
				t.Errorf("--quiet takes %v", best)
			}
		})
	}
}

// soundC is a collector of C PCP, with its own agents.
func soundC(g *stage) {
	oracle.Require(g.t)
	d := oracle.StartPMCD(g.t, oracle.Config{Agents: []string{"pmcd", "linux", "simple"}})
	for _, v := range d.Env {
		name, value, _ := strings.Cut(v, "=")
		g.vars[name] = value
	}
}
