//go:build unix

package pmcd_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/root"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/wire"
)

// A testHelper is our root helper, as far as a test's privileges go.
type testHelper struct {
	path string
	log  *logBuffer
	stop func()
}

// startHelper starts a helper that starts the commands.
func startHelper(t *testing.T, commands ...[]string) *testHelper {
	t.Helper()
	dir := tempDir(t)
	h := &testHelper{path: filepath.Join(dir, "root.socket"), log: new(logBuffer)}
	log := slog.New(slog.NewTextHandler(h.log, nil))
	conf := ""
	for i, words := range commands {
		conf += fmt.Sprintf("agent%d %d pipe binary %s\n", i, 400+i, strings.Join(words, " "))
	}
	file := filepath.Join(dir, "pmcd.conf")
	if err := os.WriteFile(file, []byte(conf), 0o644); err != nil {
		t.Fatal(err)
	}
	a, err := root.New(root.Config{Sockets: dir, Docker: dir, LXC: dir + "/none", PodmanData: dir, PodmanRun: dir, CGroup: dir, CGroupCheck: dir + "/none", Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	s, err := a.Listen(root.ServerConfig{Path: h.path, Users: []int{os.Getuid()}, Commands: file})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	h.stop = func() {
		if cancel == nil {
			return
		}
		cancel()
		cancel = nil
		if err := <-done; err != nil {
			t.Errorf("helper: %v", err)
		}
	}
	t.Cleanup(func() {
		h.stop()
		if t.Failed() {
			t.Logf("helper's log:\n%s", h.log)
		}
	})
	return h
}

// client returns the way to it.
func (h *testHelper) client(t *testing.T) *pmcd.RootHelper {
	c := pmcd.NewRootHelper(h.path)
	t.Cleanup(func() { c.Close() })
	return c
}

func fakeSpec(command []string) pmcd.AgentSpec {
	return pmcd.AgentSpec{Name: "fake", Domain: fakeAgentDomain, Transport: conf.Transport{Kind: conf.Pipe, Args: command}}
}

// pidOfFake returns the process of the fake agent, from the log.
func (s *testServer) pidOfFake(t *testing.T) int {
	t.Helper()
	var b strings.Builder
	if err := s.WriteStatus(&b); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if f := strings.Fields(line); len(f) > 3 && f[0] == "fake" {
			var pid int
			if _, err := fmt.Sscan(f[2], &pid); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			return pid
		}
	}
	t.Fatalf("no such agent: %s", &b)
	return 0
}

func gone(pid int) bool { return syscall.Kill(pid, 0) == syscall.ESRCH }

// answers reports whether the fake agent does.
func (s *testServer) answers(t *testing.T) bool {
	t.Helper()
	cl := dial(t, "unix", s.Socket)
	defer cl.conn.Close()
	res := cl.fetch(fakeGood)
	return res.Sets[0].Err == 0 && res.Sets[0].Values[0].As(pcp.Type32).Int32() == 42
}

// TestRootHelper has agents started by our helper.
func TestRootHelper(t *testing.T) {
	command := fakeAgentCommand(t, "good")
	h := startHelper(t, command)
	var agents []pmcd.AgentSpec
	cfg := pmcd.Config{
		Agents: []pmcd.AgentSpec{builtin(t, "pmcd"), fakeSpec(command)}, Root: h.client(t),
		Reload: func() *pmcd.Setup { return &pmcd.Setup{Agents: agents} },
	}
	s := start(t, cfg)
	if !s.answers(t) {
		t.Fatal("the agent does not answer")
	}
	if n := len(h.log.lines("Starting fake agent")); n != 1 {
		t.Errorf("the helper started it %d times", n)
	}

	// An agent that is killed.
	pid := s.pidOfFake(t)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// The status depends on the first event noticed: the end of the process, or
	// the failure to send the notice of a client's end.
	eventually(t, "end of the agent noticed, and how", func() bool {
		status, up := s.status(fakeAgentDomain)
		return !up && (status == 2|9<<16 || status == 8|9<<16)
	})
	s.Log.waitFor(t, "agent dropped")

	// It comes again with a restart, and goes when it is taken out.
	agents = cfg.Agents
	s.HangUp()
	if !s.answers(t) {
		t.Error("the agent does not answer after a restart")
	}
	pid = s.pidOfFake(t)
	agents = cfg.Agents[:1]
	s.HangUp()
	if !gone(pid) {
		t.Error("the process that was taken out runs on")
	}
	agents = cfg.Agents
	s.HangUp()
	pid = s.pidOfFake(t)
	s.stop(t)
	if !gone(pid) {
		t.Error("the process runs on without its collector")
	}
	if n := len(h.log.lines("Starting fake agent")); n != 3 {
		t.Errorf("the helper started it %d times", n)
	}
}

// TestRootHelperExit has an agent end by itself.
func TestRootHelperExit(t *testing.T) {
	command := fakeAgentCommand(t, "die")
	h := startHelper(t, command)
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{fakeSpec(command)}, Root: h.client(t)})
	if !s.answers(t) {
		t.Fatal("the agent does not answer")
	}
	cl := dial(t, "unix", s.Socket)
	cl.send(&wire.Profile{})
	cl.send(&wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{fakeMetric}})
	eventually(t, "status with the agent's own", func() bool {
		status, up := s.status(fakeAgentDomain)
		return !up && (status == 8|7<<8 || status == 2|7<<8)
	})
}

// TestRootHelperMissing has no helper, a helper that refuses, and a helper that
// goes away.
func TestRootHelperMissing(t *testing.T) {
	none := pmcd.NewRootHelper(filepath.Join(t.TempDir(), "none"))
	root := pmcd.AgentSpec{Name: "root", Domain: 1, Transport: conf.Transport{Kind: conf.Pipe, Args: []string{"/nonexistent/pmdaroot"}}}
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{root, fakeSpec(fakeAgentCommand(t, "good"))}, Root: none})
	if !s.answers(t) {
		t.Error("without a helper the agent is not started")
	}
	if n := len(s.Log.lines("root helper is unavailable")); n != 1 {
		t.Errorf("told %d times that there is no helper", n)
	}
	if _, err := s.Control().HostNameIn("box"); pcp.Code(err) != pcp.ErrNotConn {
		t.Errorf("name of the host in a container: %v", err)
	}
	s.stop(t)

	// The helper does not start programs that others can write to.
	dir := tempDir(t)
	script := filepath.Join(dir, "agent")
	text := "#!/bin/sh\nexec " + strings.Join(fakeAgentCommand(t, "good"), " ") + "\n"
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(script, 0o777); err != nil {
		t.Fatal(err)
	}
	h := startHelper(t, []string{script})
	s = start(t, pmcd.Config{Agents: []pmcd.AgentSpec{fakeSpec([]string{script})}, Root: h.client(t)})
	if !s.answers(t) {
		t.Error("what the helper refuses is not started by the server")
	}
	if len(s.Log.lines("root helper does not start agent")) != 1 || len(h.log.lines("others may write")) != 1 {
		t.Error("the refusal is not told")
	}
	s.stop(t)

	command := fakeAgentCommand(t, "good")
	h = startHelper(t, command)
	s = start(t, pmcd.Config{Agents: []pmcd.AgentSpec{fakeSpec(command)}, Root: h.client(t)})
	if !s.answers(t) {
		t.Error("the agent is not started")
	}
	h.stop()
	eventually(t, "the agent goes with its helper", func() bool { _, up := s.status(fakeAgentDomain); return !up })
	s.HangUp()
	if !s.answers(t) {
		t.Error("without its helper the agent is not started again")
	}
}

// TestRealRootHelper has the real pmdaroot start agents of ours, which then see
// the same statuses.
func TestRealRootHelper(t *testing.T) {
	oracle.Require(t)
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: pmdaroot needs root")
	}
	const pmdaroot = "/var/lib/pcp/pmdas/root/pmdaroot"
	if _, err := os.Stat(pmdaroot); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	dir := tempDir(t)
	path := filepath.Join(dir, "pmcd", "root.socket")
	helper := pmcd.NewRootHelper(path)
	t.Cleanup(func() { helper.Close() })
	command := fakeAgentCommand(t, "good")
	s := start(t, pmcd.Config{
		Agents: []pmcd.AgentSpec{
			{Name: "root", Domain: 1, Transport: conf.Transport{Kind: conf.Pipe, Args: []string{pmdaroot}}}, builtin(t, "pmcd"), fakeSpec(command),
		},
		Root: helper, AgentEnv: []string{"PCP_VAR_DIR=" + dir}, Dir: dir,
	})
	if !s.answers(t) {
		t.Fatal("the agent does not answer")
	}
	pid := s.pidOfFake(t)
	log, _ := os.ReadFile(filepath.Join(dir, "root.log"))
	if !strings.Contains(string(log), "Starting fake agent: "+strings.Join(command, " ")) {
		t.Errorf("the helper did not start it: %s", log)
	}
	if _, err := s.Control().HostNameIn("no-such-container"); pcp.Code(err) != pcp.ErrNoContainer {
		t.Errorf("host name in a container that is not there: %v", err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "end of the agent noticed", func() bool { _, up := s.status(fakeAgentDomain); return !up })
	// It loses an ending now and then, when it looks for one itself first.
	if status, _ := s.status(fakeAgentDomain); status != 2|9<<16 && status != 2 && status != 8|9<<16 && status != 8 {
		t.Errorf("status is %#x, want that of signal 9", status)
	}
	s.HangUp()
	if !s.answers(t) {
		t.Error("the agent does not answer after a restart")
	}
	pid = s.pidOfFake(t)
	s.stop(t)
	eventually(t, "the process ends with its collector", func() bool { return gone(pid) })
}
