package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-pcp/pcp/agent"
	"github.com/go-pcp/pcp/agent/simple"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary our program under all its names.
func TestMain(m *testing.M) {
	programs := map[string]func(){"pcp": main}
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
			socket, err := collect(env)
			if err != nil {
				return err
			}
			env.Setenv("PMCD_SOCKET", socket)
			env.Setenv("PMCD_PORT", "1") // there is no other way to it
			env.Setenv("TZ", "UTC")
			env.Setenv("PCP_DERIVED_CONFIG", "")
			return nil
		},
	})
}

// collect starts a collector for a script and returns its socket.
func collect(env *testscript.Env) (string, error) {
	a, err := simple.New(simple.Config{Domain: simple.Domain})
	if err != nil {
		return "", err
	}
	// The path of a socket must be short.
	dir, err := os.MkdirTemp("", "pcp")
	if err != nil {
		return "", err
	}
	socket := filepath.Join(dir, "s")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		return "", err
	}
	server, err := pmcd.New(pmcd.Config{
		Agents: []pmcd.AgentSpec{
			{Name: "pmcd", Domain: 2, Open: func(s *pmcd.Server) (pmda.Agent, error) {
				b, _ := agent.Named("pmcd")
				return b.Open(agent.Env{Collector: s, Version: "test"})
			}},
			{Name: "simple", Domain: simple.Domain, Agent: a},
		},
		Listeners: []net.Listener{ln},
		HostName:  "testhost",
	})
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	env.Defer(func() {
		cancel()
		if err := <-done; err != nil {
			env.T().Log("collector:", err)
		}
		os.RemoveAll(dir)
	})
	return socket, nil
}
