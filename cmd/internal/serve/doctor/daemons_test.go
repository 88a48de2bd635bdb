//go:build linux

package doctor

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/pmiestats"
	"github.com/go-pcp/pcp/internal/testing/await"
)

// TestDaemons stages faults of running daemons, of the clock and of a firewall.
func TestDaemons(t *testing.T) {
	t.Parallel()
	testStaged(t, []staged{
		{"daemon.old", func(g *stage) {
			exe, err := os.Executable()
			if err != nil {
				g.t.Fatal(err)
			}
			if err := copyFile(g.path("pcp"), exe); err != nil {
				g.t.Fatal(err)
			}
			g.up("--no-record", "--no-web")
			if err := os.Remove(g.path("pcp")); err != nil {
				g.t.Fatal(err)
			}
			g.program() // another file
		}, "/pcp is another file", nil},
		{"clock.jump", func(g *stage) {
			g.up("--no-record", "--no-web")
			before := time.Now().Add(-3 * time.Hour)
			if err := os.Chtimes(g.path("state/pcp/pmcd.socket"), before, before); err != nil {
				g.t.Fatal(err)
			}
		}, "was set ahead by 3h0m", nil},
		{"port.firewall", func(g *stage) {
			g.up("--no-record", "--no-web", "--all")
			if ownAddress() == nil {
				g.t.Skip("this host has no address but loopback ones")
			}
			g.site = func(s *site) {
				s.reach = func(ctx context.Context, address string) error {
					if strings.HasPrefix(address, "127.") {
						return dialTCP(ctx, address)
					}
					return &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EPERM)}
				}
			}
		}, "does not reach it: operation not permitted", nil},
	})
}

func copyFile(to, from string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o755)
}

// TestServers stages faults of servers of options.
func TestServers(t *testing.T) {
	t.Parallel()
	testStaged(t, []staged{
		{"receiver.push", func(g *stage) {
			g.up("--no-web", "--push", "http://127.0.0.1:"+freePort(g))
		}, "Connection refused", nil},
		{"receiver.unreachable", func(g *stage) {
			g.up("--no-record", "--engine", "http://127.0.0.1:"+freePort(g))
		}, "the --engine of", nil},
		{"receiver.behind", func(g *stage) {
			g.up("--no-web", "--push", "http://127.0.0.1:"+freePort(g))
			var growing []string
			await.Until(g.t, "an archive begins", func() bool {
				var err error
				growing, err = filepath.Glob(g.path("state/pcp/pmlogger/*/*.meta"))
				return err == nil && len(growing) > 0
			})
			g.archive(strings.TrimPrefix(filepath.Dir(growing[0]), g.dir+"/")+"/20260101", time.Now().Add(-5*time.Hour))
		}, "1 finished archive is not pushed, the oldest of which ended 5h0m0s ago", []string{"receiver.push"}},
	})
}

// TestRuleMetrics has rules of Prometheus whose metrics the collector has, or archives have.
func TestRuleMetrics(t *testing.T) {
	t.Parallel()
	g := newStage(t)
	rules := g.write("rules.yml", `groups:
- name: a
  rules:
  - record: versions
    expr: count(pmcd_version)
  - alert: Known
    expr: versions > 1 and disk_all_read > 2 and absent(not_there)
  - alert: Unknown
    expr: no_such_metric > 1
`)
	g.write("etc/pmie/control", "$version=1.1\nLOCALHOSTNAME y n PCP_LOG_DIR/pmie/pmie.log -c "+rules+"\n")
	g.archive("log/pmlogger/www/20260101", time.Now().Add(-time.Minute))
	g.pmcd(bareConf)
	found := g.examine()
	if len(found) != 1 || found[0].id != "rules.metric" || !strings.Contains(found[0].text, "has the metric no_such_metric") {
		t.Errorf("found\n%s", show(found))
	}
}

// TestEngineRuns has a pmie that runs, by its file.
func TestEngineRuns(t *testing.T) {
	t.Parallel()
	g := newStage(t)
	g.write("etc/pmie/control", "$version=1.1\nLOCALHOSTNAME y n PCP_LOG_DIR/pmie/pmie.log -c config.default\n")
	log := g.write("log/pmie/pmie.log", "")
	g.mkdir("tmp/pmie")
	f, err := pmiestats.Create(g.path("tmp/pmie"), os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Remove()
	if err := f.Write(pmiestats.Stats{Log: log, Version: pmiestats.Version}); err != nil {
		t.Fatal(err)
	}
	s := newSite(g.env(io.Discard), "")
	defer s.close()
	s.pmcdPID, s.root = os.Getpid(), g.dir
	if found := checkEngines(context.Background(), s); len(found) > 0 {
		t.Errorf("found\n%s", show(found))
	}
	f.Remove()
	if found := checkEngines(context.Background(), s); len(found) != 1 {
		t.Errorf("without it found\n%s", show(found))
	}
}

// TestJump compares the start of this process by two ways.
func TestJump(t *testing.T) {
	t.Parallel()
	start, ok := startTime(os.Getpid())
	if age := time.Since(start); !ok || age < -time.Second || age > 10*time.Hour {
		t.Errorf("this process started at %v, %v", start, ok)
	}
	if _, ok := startTime(1 << 30); ok {
		t.Error("a process that does not exist has a start")
	}
}

// TestReachOwn requires that a port that listens is reached.
func TestReachOwn(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := dialTCP(context.Background(), ln.Addr().String()); err != nil {
		t.Error(err)
	}
	ln.Close()
	if err := dialTCP(context.Background(), ln.Addr().String()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("of a closed port: %v", err)
	}
	if !slices.Equal(addresses([]string{"up", "--push", "http://a, http://b", "--push=http://c"}, "push"), []string{"http://a", "http://b", "http://c"}) {
		t.Error("addresses of --push differ")
	}
}
