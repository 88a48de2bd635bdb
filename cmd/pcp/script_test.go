package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/cmd/internal/agent"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/agent/sample"
	"github.com/go-pcp/pcp/internal/agent/simple"
	"github.com/go-pcp/pcp/internal/agent/txmon"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary our program under all its names.
func TestMain(m *testing.M) {
	programs := map[string]func(){"pcp": main, "pcp7": main, "pmloglabel7": main}
	for _, c := range commands() {
		if c.Link != "" {
			programs[c.Link] = main
		}
	}
	testscript.Main(m, programs)
}

// TestScripts runs the scripts in testdata/script. Each has a collector of its
// own behind "local:", with the agents pmcd and simple. UPDATE=1 writes the outputs into
// the scripts.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       os.Getenv("UPDATE") != "",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			socket, _, err := collect(collectorSpec{agents: []string{"simple"}, atEnd: env.Defer, log: t.Logf})
			if err != nil {
				return err
			}
			env.Setenv("PMCD_SOCKET", socket)
			env.Setenv("PMCD_PORT", "1") // there is no other way to it
			env.Setenv("TZ", "UTC")
			env.Setenv("PCP_DERIVED_CONFIG", "")
			env.Setenv("PCP_TMP_DIR", filepath.Join(env.WorkDir, ".tmp")) // other tests list the pmie processes of the machine
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "root" {
				return false, fmt.Errorf("no condition is named %q", name)
			}
			return os.Getuid() == 0, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"transactions": transactions},
	})
}

// transactions starts a collector with the agent txmon, which counts transactions of
// the given types, in shared memory of its own.
func transactions(ts *testscript.TestScript, _ bool, types []string) {
	key := 0x30000000 | os.Getpid()
	a, err := txmon.New(txmon.Config{Types: types, Key: key})
	ts.Check(err)
	ts.Defer(func() { a.Close() })
	socket, _, err := collect(collectorSpec{more: []pmcd.AgentSpec{{Name: "txmon", Domain: txmon.Domain, Agent: a}}, atEnd: ts.Defer, log: ts.Logf})
	ts.Check(err)
	ts.Setenv("PMCD_SOCKET", socket)
	ts.Setenv("PCP_TXMON_KEY", strconv.Itoa(key))
}

// A collectorSpec describes a collector of one test.
type collectorSpec struct {
	agents []string // besides pmcd: simple, sample
	more   []pmcd.AgentSpec
	tcp    bool
	atEnd  func(func())
	log    func(format string, args ...any)
}

// collect starts a collector and returns its socket, and its port if it has one. The collector
// does not see the daemons of the machine, which other tests start and end.
func collect(spec collectorSpec) (socket, port string, err error) {
	// The path of a socket must be short.
	dir, err := os.MkdirTemp("", "pcp")
	if err != nil {
		return "", "", err
	}
	cfg := config.New(func(name string) string {
		switch name {
		case "PCP_TMP_DIR", "PCP_RUN_DIR":
			return dir
		}
		return os.Getenv(name)
	})
	agents := []pmcd.AgentSpec{{Name: "pmcd", Domain: 2, Open: func(s *pmcd.Server) (pmda.Agent, error) {
		b, _ := agent.Named("pmcd")
		return b.Open(builtin.Env{Host: s.Host(), Version: "test", Config: cfg})
	}}}
	for _, name := range spec.agents {
		var a pmda.Agent
		domain := simple.Domain
		if name == "simple" {
			a, err = simple.New(simple.Config{Domain: simple.Domain})
		} else {
			domain = sample.Domain
			a, err = sample.New(sample.Config{DynamicPath: "/nonexistent"})
		}
		if err != nil {
			return "", "", err
		}
		agents = append(agents, pmcd.AgentSpec{Name: name, Domain: domain, Agent: a})
	}
	agents = append(agents, spec.more...)
	socket = filepath.Join(dir, "s")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		return "", "", err
	}
	listeners := []net.Listener{ln}
	if spec.tcp {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", "", err
		}
		listeners = append(listeners, ln)
		_, port, _ = net.SplitHostPort(ln.Addr().String())
	}
	server, err := pmcd.New(pmcd.Config{Agents: agents, Listeners: listeners, HostName: "testhost"})
	if err != nil {
		return "", "", err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	spec.atEnd(func() {
		cancel()
		if err := <-done; err != nil {
			spec.log("collector: %v", err)
		}
		os.RemoveAll(dir)
	})
	return socket, port, nil
}
