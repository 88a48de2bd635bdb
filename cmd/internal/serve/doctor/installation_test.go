package doctor

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/pmapi"
)

// ended returns the number of a process that has ended.
func ended(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

// conf writes a pmcd.conf for a collector that does not run.
func (g *stage) conf(lines string) { g.write("etc/pmcd/pmcd.conf", bareConf+lines) }

// TestAgents stages faults of agents.
func TestAgents(t *testing.T) {
	t.Parallel()
	testStaged(t, []staged{
		{"agent.not-started", func(g *stage) { g.pmcd(bareConf + "bad 400 pipe binary /bin/false\n") }, "the agent bad", []string{"agent.ended"}},
		{"agent.ended", func(g *stage) {
			g.withSimple()
			g.simpleAnswers()
			kill(g, "pmdasimple", syscall.SIGKILL)
			await.Until(g.t, "the collector notices", func() bool {
				b, err := os.ReadFile(g.path("log/pmcd/pmcd.log"))
				return err == nil && strings.Contains(string(b), "signal(9)")
			})
		}, "by signal 9", nil},
		{"agent.service", func(g *stage) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				g.t.Fatal(err)
			}
			g.t.Cleanup(func() { ln.Close() })
			go func() {
				for {
					c, err := ln.Accept()
					if err != nil {
						return
					}
					io.WriteString(c, "-NOAUTH Authentication required.\r\n")
					c.Close()
				}
			}()
			g.write(".config/pcp/redis.conf", "host = "+ln.Addr().String()+"\n")
		}, "the agent redis cannot read its service", nil},
		{"agent.slow", func(g *stage) {
			g.withSimple("notready")
		}, "the agent simple does not answer", nil},
		{"agent.bpf", (*stage).withRefusedBPF, "modules of the agent bpf do not run: biolatency, oomkill, runqlat; the first: ", nil},
		{"agent.protocol", func(g *stage) {
			g.withSimpleAfter("(while [ ! -e " + g.path("damage") + " ]; do sleep 0.02; done; echo this is not a PDU) &\n")
			c, ids := g.simpleAnswers()
			status, err := c.LookupName(context.Background(), "pmcd.agent.status")
			if err != nil {
				g.t.Fatal(err)
			}
			g.write("damage", "")
			await.Until(g.t, "the collector gives up the agent", func() bool {
				_, _ = c.Fetch(context.Background(), ids)
				res, err := c.Fetch(context.Background(), status)
				return err == nil && slices.ContainsFunc(res.Sets[0].Values, func(v pcp.Value) bool { return v.Inst == 253 && v.Int32()&agentProtocol != 0 })
			})
		}, "broke the protocol", nil},
		{"agent.fenced", func(g *stage) {
			g.withSimple()
			c, err := pmapi.Dial(context.Background(), "unix:"+g.path("run/pmcd.socket"))
			if err != nil {
				g.t.Fatal(err)
			}
			defer c.Close()
			ids, err := c.LookupName(context.Background(), "pmcd.agent.fenced")
			if err == nil {
				err = c.Store(context.Background(), &pcp.Result{Sets: []pcp.ValueSet{{PMID: ids[0], Values: []pcp.Value{pcp.Uint32Value(1).WithInst(253)}}}})
			}
			if err != nil {
				g.t.Fatal(err)
			}
		}, "is fenced off", nil},
		{"agent.configuration-missing", func(g *stage) {
			g.pmcd(bareConf)
			c, err := pmapi.Dial(context.Background(), "unix:"+g.path("run/pmcd.socket")) // it has read its configuration
			if err != nil {
				g.t.Fatal(err)
			}
			c.Close()
			if err := os.Remove(g.path("etc/pmcd/pmcd.conf")); err != nil {
				g.t.Fatal(err)
			}
		}, "does not exist", nil},
		{"agent.configuration", func(g *stage) { g.conf("nonsense\n") }, "line 2", nil},
		{"agent.program-missing", func(g *stage) { g.conf("x 400 pipe binary /no/such/pmdax\n") }, "/no/such/pmdax of the agent x", nil},
		{"agent.program-rights", func(g *stage) { g.conf("x 400 pipe binary " + g.write("pmdax", "#!/bin/sh\n") + "\n") }, "0644", nil},
		{"agent.object-missing", func(g *stage) { g.conf("x 400 dso x_init /no/such/pmda_x.so\n") }, "/no/such/pmda_x.so", nil},
		{"agent.socket-missing", func(g *stage) { g.conf("x 400 socket unix /no/such/socket\n") }, "/no/such/socket", nil},
		{"agent.gpu-program", func(g *stage) {
			g.write("root/dev/nvidiactl", "")
			g.site = func(s *site) { s.root = g.path("root") }
		}, "no program pcp-gpu", nil},
		{"names.missing", func(g *stage) { g.conf(""); os.Remove(g.path("var/pmns/root")) }, "pmns/root", nil},
		{"names.damaged", func(g *stage) { g.conf(""); g.write("var/pmns/root", "root {\n kernel\n") }, "pmns/root", nil},
	})
}

// TestRefusedModules has modules of the agent bpf that run, are off, and are refused.
func TestRefusedModules(t *testing.T) {
	s := &site{env: new(cli.Env)}
	if list := s.refusedModules(map[string]string{"runqlat": "running", "netatop": "off"}); len(list) != 0 {
		t.Errorf("all run: %s", show(list))
	}
	list := s.refusedModules(map[string]string{"runqlat": "EPERM: the agent needs CAP_BPF", "biolatency": "no such tracepoint", "netatop": "off"})
	if len(list) != 1 || !strings.Contains(list[0].text, "do not run: biolatency, runqlat; the first: no such tracepoint") || !strings.Contains(list[0].command, "bpf.module.state") {
		t.Errorf("two are refused: %s", show(list))
	}
}

// withSimple runs a pmcd with the agent simple in a process.
func (g *stage) withSimple(words ...string) {
	g.t.Helper()
	g.withSimpleAfter("", words...)
}

// withSimpleAfter is withSimple with commands that the agent's script runs first.
func (g *stage) withSimpleAfter(commands string, words ...string) {
	g.t.Helper()
	g.vars["PMCD_RESTART_AGENTS"] = "0"
	g.write("gone", "#!/bin/sh\n"+commands+"exec "+g.program()+" pmdasimple \"$@\"\n")
	if err := os.Chmod(g.path("gone"), 0o755); err != nil {
		g.t.Fatal(err)
	}
	g.write("var/pmns/root", pmcdNames+"simple {\n numfetch 253:0:0\n}\n")
	g.pmcd(bareConf+"simple 253 pipe binary "+strings.Join(words, " ")+" "+g.path("gone")+" -d 253 -l "+g.path("log/pmcd/simple.log")+"\n", "-t", "1")
}

// simpleAnswers waits until the agent simple answers, and returns a connection and the PMID of a metric.
func (g *stage) simpleAnswers() (*pmapi.Context, []pcp.PMID) {
	g.t.Helper()
	return g.metricAnswers("simple.numfetch")
}

// withRefusedBPF runs a pmcd with the agent bpf, to which the kernel gives no rights although it may be root's.
func (g *stage) withRefusedBPF() {
	g.t.Helper()
	command := g.program() + " pmdabpf -d 157 -l " + g.path("log/pmcd/bpf.log")
	if os.Geteuid() == 0 {
		setpriv, err := exec.LookPath("setpriv")
		if err != nil {
			g.t.Fatal(err)
		}
		command = setpriv + " --bounding-set=-all --inh-caps=-all " + command
	}
	g.write("var/pmns/root", strings.Replace(pmcdNames, "\tsimple\n", "\tbpf\n", 1)+"bpf {\n module\n}\nbpf.module {\n state 157:1100:1\n}\n")
	g.pmcd(bareConf+"bpf 157 pipe binary "+command+"\n", "-t", "60")
	g.metricAnswers("bpf.module.state")
}

// metricAnswers waits until a metric has values, and returns a connection and the PMID.
func (g *stage) metricAnswers(name string) (*pmapi.Context, []pcp.PMID) {
	g.t.Helper()
	c, err := pmapi.Dial(context.Background(), "unix:"+g.path("run/pmcd.socket"))
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { c.Close() })
	ids, err := c.LookupName(context.Background(), name)
	if err != nil {
		g.t.Fatal(err)
	}
	await.Until(g.t, "the agent answers", func() bool {
		res, err := c.Fetch(context.Background(), ids)
		return err == nil && len(res.Sets) == 1 && res.Sets[0].Err == 0
	})
	return c, ids
}

// kill sends a signal to the agent of a stage, by its directory in the command line.
func kill(g *stage, name string, sig syscall.Signal) {
	g.t.Helper()
	await.Until(g.t, "the agent runs", func() bool {
		list, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			return false
		}
		for _, path := range list {
			b, err := os.ReadFile(path)
			if err == nil && strings.Contains(string(b), name+"\x00") && strings.Contains(string(b), g.dir+"/log/") {
				pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
				return err == nil && syscall.Kill(pid, sig) == nil
			}
		}
		return false
	})
}

// TestDirectories stages faults of directories and of files that ended processes left behind.
func TestDirectories(t *testing.T) {
	t.Parallel()
	dead := func(g *stage) string { return strconv.Itoa(ended(g.t)) }
	testStaged(t, []staged{
		{"directory.missing", func(g *stage) { g.conf(""); os.RemoveAll(g.path("tmp")) }, "/tmp does not exist", nil},
		{"directory.open", func(g *stage) { g.conf(""); chmod(g, "log", 0o777) }, "0777", nil},
		{"directory.read-only", func(g *stage) { g.conf(""); chmod(g, "log/pmlogger", 0o555) }, "0555", nil},
		{"directory.owner", func(g *stage) { g.conf(""); chown(g, "run", 12345) }, "the user id 12345", nil},
		{"directory.user", func(g *stage) { g.conf(""); g.vars["PCP_USER"] = "no-such-user" }, "no-such-user", nil},
		{"state.open", func(g *stage) { g.up("--no-record", "--no-web"); chmod(g, "state/pcp", 0o755) }, "0755", nil},
		{"state.token", func(g *stage) { g.up("--no-record"); chmod(g, "state/pcp/page-token", 0o644) }, "0644", nil},
		{"state.owner", func(g *stage) { g.up("--no-record"); chown(g, "state/pcp/pmcd.log", 12345) }, "12345", nil},
		{"state.version", func(g *stage) { g.write("log/pmlogger/web1/.pushed", `{"version":2,"archives":{}}`) }, "web1/.pushed: the file has version 2, and this release reads versions up to 1", nil},
		{"leftover.pid", func(g *stage) { g.write("run/pmcd.pid", dead(g)+"\n") }, "is not a pmcd", nil},
		{"leftover.socket", func(g *stage) {
			ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: g.path("run/pmlogger.1.socket")})
			if err != nil {
				g.t.Fatal(err)
			}
			ln.SetUnlinkOnClose(false)
			ln.Close()
		}, "run/pmlogger.1.socket", nil},
		{"leftover.lock", func(g *stage) {
			path := g.write("log/pmlogger/host/lock", "")
			old := time.Now().Add(-5 * time.Hour)
			if err := os.Chtimes(path, old, old); err != nil {
				g.t.Fatal(err)
			}
		}, "is 5h0m0s old", nil},
		{"leftover.map", func(g *stage) { g.write("tmp/pmlogger/"+dead(g), "4330\n") }, "a pmlogger that has ended", nil},
		{"leftover.announcement", func(g *stage) {
			cmd := g.up("--no-record", "--no-web")
			cmd.Process.Kill()
			await.Until(g.t, "its end", func() bool { return refused(g.path("state/pcp/pmcd.socket")) })
		}, "which has ended", []string{"leftover.socket"}},
	})
}

func chmod(g *stage, name string, mode os.FileMode) {
	g.t.Helper()
	if err := os.Chmod(g.path(name), mode); err != nil {
		g.t.Fatal(err)
	}
}

func chown(g *stage, name string, uid int) {
	g.t.Helper()
	if os.Geteuid() != 0 {
		g.t.Skip("this is a test for root")
	}
	if err := os.Chown(g.path(name), uid, uid); err != nil {
		g.t.Fatal(err)
	}
}

// TestSettings stages faults of the environment and of pcp.conf.
func TestSettings(t *testing.T) {
	t.Parallel()
	set := func(name, value string) func(*stage) { return func(g *stage) { g.vars[name] = value } }
	testStaged(t, []staged{
		{"setting.file", set("PCP_CONF", "/no/such/pcp.conf"), "/no/such/pcp.conf", nil},
		{"setting.directory", func(g *stage) { os.RemoveAll(g.path("share")) }, "PCP_SHARE_DIR", nil},
		{"setting.value", set("PMCD_REQUEST_TIMEOUT", "soon"), "PMCD_REQUEST_TIMEOUT is \"soon\"", nil},
		{"setting.names", set("PMNS_DEFAULT", "/no/such/root"), "/no/such/root", nil},
		{"setting.derived", func(g *stage) { g.vars["PCP_DERIVED_CONFIG"] = g.write("derived", "a.b = kernel.all.load +\n") }, "a.b", nil},
		{"setting.zone", set("TZ", "Nowhere/City"), "Nowhere/City", nil},
		{"setting.zone-data", func(g *stage) { g.vars["TZ"] = "Europe/Berlin"; g.site = func(s *site) { s.root = g.dir } }, "Europe/Berlin", nil},
		{"setting.socket", set("PMCD_SOCKET", "/tmp/"+strings.Repeat("x", 120)), fmt.Sprint(125), nil},
	})
}
