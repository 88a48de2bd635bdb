package agenttest

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
)

// Serve starts a collector with one agent, and returns its host specification. The collector
// ends with the test, and closes the agent.
func Serve(t testing.TB, name string, domain int, a pmda.Agent) (host string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "agent") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	sock := filepath.Join(dir, "pmcd.socket")
	ln, err := net.Listen("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan struct{})
	server, err := pmcd.New(pmcd.Config{
		Agents:    []pmcd.AgentSpec{{Name: name, Domain: domain, Agent: a}},
		Listeners: []net.Listener{ln}, Started: func() { close(started) },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	<-started
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "unix:" + sock
}
