package agentcmd_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/cmd/internal/agent"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
)

// ourCollector starts our collector with our agents root, pmcd and linux, the last
// optionally in its own process, and returns its socket.
func ourCollector(t testing.TB, e engineTree, names *pmns.Tree, root string, linux ...string) (socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "stack") // short, for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	env := append(e.env(), "PCP_VAR_DIR="+dir)
	helper := pmcd.NewRootHelper(filepath.Join(dir, "pmcd", "root.socket"))
	inProcess := func(name string, domain int) pmcd.AgentSpec {
		b, ok := agent.Named(name)
		if !ok {
			t.Fatalf("no agent %s", name)
		}
		return pmcd.AgentSpec{Name: name, Domain: domain, Open: func(s *pmcd.Server) (pmda.Agent, error) {
			return b.Open(builtin.Env{Host: s.Host(), Version: "test"})
		}}
	}
	last := inProcess("linux", 60)
	if len(linux) > 0 {
		last = pmcd.AgentSpec{Name: "linux", Domain: 60, Transport: conf.Transport{Kind: conf.Pipe, Args: linux}}
	}
	socket = filepath.Join(dir, "socket")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan struct{})
	s, err := pmcd.New(pmcd.Config{
		Agents:    []pmcd.AgentSpec{{Name: "root", Domain: 1, Transport: conf.Transport{Kind: conf.Pipe, Args: []string{root}}}, inProcess("pmcd", 2), last},
		NameSpace: names, Listeners: []net.Listener{ln}, Root: helper, AgentEnv: env, Dir: dir,
		AgentTimeout: time.Minute, CredsTimeout: time.Minute,
		Started: func() { close(started) },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		helper.Close()
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(dir, "root.log"))
			t.Logf("root.log:\n%s", log)
		}
	})
	select {
	case <-started:
	case <-time.After(time.Minute):
		t.Fatal("our collector does not start")
	}
	return socket
}

// TestOracleContainerStack compares our collector and agents with the real
// ones, as a user of containers sees them.
func TestOracleContainerStack(t *testing.T) {
	oracle.Require(t)
	e := newEngineTree(t)
	e.fill(t, newBox(t, "boxname"))
	dir := links(t)
	real := oracle.StartPMCD(t, oracle.Config{
		Agents: []string{"pmcd", "linux"},
		Lines:  []string{"root 1 pipe binary " + realRoot, "pmcd 2 dso pmcd_init $PMDAS/pmcd/pmda_pmcd.so", "linux 60 pipe binary $PMDAS/linux/pmdalinux"},
		PMNS:   rootNames,
		Env:    append(e.env(), "PCP_PMDAS_DIR=/var/lib/pcp/pmdas"),
	})
	names, err := pmns.Load(real.PMNS, true)
	if err != nil {
		t.Fatal(err)
	}
	run := func(socket, container string, args ...string) oracle.Output {
		t.Helper()
		host := "unix://" + socket
		if container != "" {
			host += "?container=" + container
		}
		out := oracle.Run(t, "pminfo", append([]string{"-h", host}, args...)...)
		out.Stderr = strings.ReplaceAll(out.Stderr, socket, "SOCKET")
		return out
	}
	metrics := []string{"network.interface.total.bytes", "kernel.uname.nodename", "pmcd.hostname", "containers", "pmcd.feature.containers"}
	for what, socket := range map[string]string{
		"all ours":                               ourCollector(t, e, names, dir+"/pmdaroot", dir+"/pmdalinux"),
		"linux in process":                       ourCollector(t, e, names, dir+"/pmdaroot"),
		"our collector and the real agents":      ourCollector(t, e, names, realRoot, "/var/lib/pcp/pmdas/linux/pmdalinux"),
		"our collector and linux, and real root": ourCollector(t, e, names, realRoot, dir+"/pmdalinux"),
	} {
		for _, s := range []string{real.Socket, socket} { // so that the numbers of instances are the host's
			run(s, "", "-f", "network.interface.total.bytes")
		}
		for _, container := range []string{"web", "pod", "crate", hexID("a1")[:7]} {
			args := append([]string{"-f"}, metrics...)
			if d := cmp.Diff(run(real.Socket, container, args...), run(socket, container, args...)); d != "" {
				t.Errorf("%s: in %s (-real +ours):\n%s", what, container, d)
			}
		}
		// A client can also select a container by the variable.
		out := oracle.RunEnv(t, []string{"PCP_CONTAINER=web"}, "pminfo", "-h", "unix://"+socket, "-f", "pmcd.hostname", "pmcd.client.container")
		if !strings.Contains(out.Stdout, `value "boxname"`) || !strings.Contains(out.Stdout, `value "web"`) {
			t.Errorf("%s: %+v", what, out)
		}
		out = run(socket, "web", "-l", "hinv.ncpu")
		if !strings.Contains(out.Stdout, `"container":"web"`) {
			t.Errorf("%s: %+v", what, out)
		}
		// A container that does not exist. C's pmcd.hostname is then the host's.
		args := []string{"-f", "network.interface.total.bytes", "kernel.uname.nodename", "hinv.ncpu"}
		if d := cmp.Diff(run(real.Socket, "no-such", args...), run(socket, "no-such", args...)); d != "" {
			t.Errorf("%s: in none (-real +ours):\n%s", what, d)
		}
		if out := run(socket, "no-such", "-f", "pmcd.hostname"); !strings.Contains(out.Stdout, "Error: Container not found") {
			t.Errorf("%s: in none: %+v", what, out)
		}
		// A container that does not run. C returns the host's values.
		for _, stopped := range []string{"halted", "asleep", "empty"} {
			if what != "all ours" {
				continue
			}
			out := run(socket, stopped, "-f", "kernel.uname.nodename", "pmcd.hostname", "network.interface.in.bytes")
			if strings.Count(out.Stdout, "Error:") != 3 {
				t.Errorf("%s: in %s: %+v", what, stopped, out)
			}
		}
	}
}
