package pmcd_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmcd/access"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// tellingAgent is a fake agent whose starts the log counts.
func tellingAgent(t *testing.T, name string, domain int, mode string) pmcd.AgentSpec {
	command := append([]string{"/bin/sh", "-c", `echo "start of ` + name + `" >&2; exec "$@"`, "sh"}, fakeAgentCommand(t, mode)...)
	return pmcd.AgentSpec{Name: name, Domain: domain, Transport: conf.Transport{Kind: conf.Pipe, Args: command}}
}

// changes fetches, and returns the state bits that came first.
func (c *rawClient) changes(id pcp.PMID) (pmapi.Changes, pcp.ValueSet) {
	c.t.Helper()
	c.send(&wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{id}})
	var changes pmapi.Changes
	for {
		switch p := c.receive().(type) {
		case *wire.Error:
			changes |= pmapi.Changes(p.Code)
			if p.Code <= 0 {
				c.t.Fatalf("fetch gets %v", p.Code)
			}
		case *wire.Result:
			return changes, p.Sets[0]
		default:
			c.t.Fatalf("fetch gets %+v", p)
		}
	}
}

func TestHangUp(t *testing.T) {
	var setup atomic.Pointer[pmcd.Setup]
	report := new(logBuffer)
	keep := tellingAgent(t, "keep", fakeAgentDomain, "die")
	local := inProcess("local", 309, &scripted{})
	s := start(t, pmcd.Config{
		Agents: []pmcd.AgentSpec{
			builtin(t, "pmcd"), keep, local,
			tellingAgent(t, "change", 301, "good"), tellingAgent(t, "drop", 302, "good"), inProcess("away", 308, &scripted{}),
		},
		Reload: func() *pmcd.Setup { return setup.Load() },
		Report: report,
	})
	c := dial(t, "unix", s.Socket)
	for _, domain := range []int{fakeAgentDomain, 301, 302, 308, 309} {
		if res := c.fetch(pcp.NewPMID(domain, 0, 2)); res.Sets[0].Err != 0 {
			t.Fatalf("domain %d is not there to begin with: %v", domain, res.Sets[0].Err)
		}
	}
	seq := s.Control().SequenceNumber()
	want := func(what string, bits pmapi.Changes, more uint32, err pcp.Error) {
		t.Helper()
		if got, vs := c.changes(fakeGood); got != bits || vs.Err != err {
			t.Errorf("%s: a fetch brings the changes %#x and %v, want %#x and %v", what, got, vs.Err, bits, err)
		}
		if got, _ := c.changes(fakeGood); got != 0 {
			t.Errorf("%s: the next fetch brings the changes %#x", what, got)
		}
		if got := s.Control().SequenceNumber() - seq; got != more {
			t.Errorf("%s: the sequence number grew by %d, want %d", what, got, more)
		}
		seq = s.Control().SequenceNumber()
	}
	starts := func(name string, n int) {
		t.Helper()
		// Its output reaches the log with a delay.
		eventually(t, name+" is started", func() bool { return len(s.Log.lines("start of "+name+"\n")) >= n })
		if got := len(s.Log.lines("start of " + name + "\n")); got != n {
			t.Errorf("%s was started %d times, want %d", name, got, n)
		}
	}

	s.HangUp()
	want("nothing changed", 0, 0, 0)
	if len(report.lines(s.Socket[:min(len(s.Socket), 40)]+" ")) != 1 {
		t.Errorf("the client is not listed in %s", report)
	}
	if len(report.lines("(no agents required restarting)")) != 1 || len(s.Log.lines("pmcd RESTARTED at ")) != 1 {
		t.Errorf("report is %s", report)
	}

	renamed := keep
	renamed.Name = "kept"
	setup.Store(&pmcd.Setup{
		Agents: []pmcd.AgentSpec{
			tellingAgent(t, "add", 303, "good"), builtin(t, "pmcd"), renamed, local, tellingAgent(t, "changed", 301, "good"),
		},
		Access: new(access.Rules),
	})
	s.HangUp()
	want("agents come and go", pmapi.AddAgent|pmapi.DropAgent, 2, 0)
	starts("keep", 1)
	starts("changed", 1)
	starts("add", 1)
	var names []string
	for _, a := range s.AgentStates() {
		if !a.Connected {
			t.Errorf("%s is not connected", a.Name)
		}
		names = append(names, a.Name)
	}
	if want := []string{"pmcd", "kept", "changed", "add", "local"}; !slices.Equal(names, want) {
		t.Errorf("agents are %q, want %q", names, want)
	}
	for domain, want := range map[int]pcp.Error{301: 0, 302: pcp.ErrNoAgent, 303: 0, 308: pcp.ErrNoAgent, 309: 0} {
		if _, vs := c.changes(pcp.NewPMID(domain, 0, 2)); vs.Err != want {
			t.Errorf("fetch from domain %d gets %v, want %v", domain, vs.Err, want)
		}
	}
	if len(report.lines(`Cleanup "drop" agent (dom 302): unconfigured`)) != 1 {
		t.Errorf("report is %s", report)
	}

	// An agent that died is restarted; the others are left alone.
	setup.Store(nil)
	if _, vs := c.changes(fakeMetric); vs.Err == 0 {
		t.Error("the agent did not die")
	}
	want("agent died", 0, 0, pcp.ErrNoAgent)
	s.HangUp()
	want("agent restarted", pmapi.AddAgent|pmapi.RestartAgent, 2, 0)
	starts("keep", 2)
	starts("add", 1)
	if len(report.lines(`    "kept" agent`)) != 1 {
		t.Errorf("report is %s", report)
	}

	// An invalid set-up has no effect.
	setup.Store(&pmcd.Setup{Agents: []pmcd.AgentSpec{local, inProcess("other", 309, &scripted{})}})
	s.HangUp()
	want("two agents of a domain", 0, 0, 0)
	s.Log.waitFor(t, "configuration left unchanged")

	tree := pmns.New()
	if err := tree.Add("fresh.name", fakeGood); err != nil {
		t.Fatal(err)
	}
	setup.Store(&pmcd.Setup{NameSpace: tree})
	s.HangUp()
	want("names", pmapi.NamesChange, 0, 0)
	c.send(&wire.PMNSNames{Names: []string{"fresh.name"}})
	var ids wire.PMNSIDs
	if c.expect(&ids); ids.PMIDs[0] != fakeGood {
		t.Errorf("fresh.name is %v", ids.PMIDs[0])
	}
	if s.Control().HangUps() != 5 {
		t.Errorf("%d hang-ups were counted", s.Control().HangUps())
	}
}

// TestHangUpAccess checks that new rules apply to connected clients.
func TestHangUpAccess(t *testing.T) {
	setup := &pmcd.Setup{Agents: []pmcd.AgentSpec{builtin(t, "pmcd")}}
	s := start(t, pmcd.Config{
		Agents: setup.Agents, Access: new(access.Rules),
		Reload: func() *pmcd.Setup { return setup },
	})
	rules := func(text string) {
		t.Helper()
		f, err := conf.Parse(strings.NewReader("pmcd 2 dso pmcd_init /x.so\n[access]\n" + text))
		if err != nil {
			t.Fatal(err)
		}
		setup = &pmcd.Setup{Agents: setup.Agents, Access: f.Access}
		s.HangUp()
	}
	timeout := pcp.NewPMID(2, 0, 4)
	store := func(c *rawClient, want pcp.Error) {
		t.Helper()
		set := &wire.Result{Result: pcp.Result{Sets: []pcp.ValueSet{{PMID: timeout, Values: []pcp.Value{pcp.Uint32Value(6)}}}}}
		c.send(set)
		var e wire.Error
		if c.expect(&e); e.Code != want {
			t.Errorf("store gets %v, want %v", e.Code, want)
		}
	}
	tcp, unix := dial(t, "tcp", s.TCP), dial(t, "unix", s.Socket)
	for _, c := range []*rawClient{tcp, unix} {
		store(c, 0)
		c.fetch(timeout)
	}
	rules("disallow .* : store;\n")
	store(tcp, pcp.ErrPermission)
	store(unix, 0)
	rules("allow .* : all, maximum 1 connections;\n")
	store(tcp, 0)
	second := dialOnly(t, "tcp", s.TCP)
	if last := second.gone(); len(last) != 1 || last[0].(*wire.Error).Code != pcp.ErrConnLimit {
		t.Errorf("a second connection gets %+v", last)
	}
	rules("disallow .* : all;\n")
	if last := tcp.gone(); len(last) != 1 || last[0].(*wire.Error).Code != pcp.ErrPermission {
		t.Errorf("one who is not welcome any more gets %+v", last)
	}
	store(unix, 0)
	// It is not counted any more.
	rules("allow .* : all, maximum 1 connections;\n")
	dial(t, "tcp", s.TCP).fetch(timeout)
}

// TestDeadAgentsAreRestarted has agents die again and again.
func TestDeadAgentsAreRestarted(t *testing.T) {
	config := func(interval time.Duration) pmcd.Config {
		return pmcd.Config{
			Agents:          []pmcd.AgentSpec{builtin(t, "pmcd"), tellingAgent(t, "fake", fakeAgentDomain, "die")},
			RestartInterval: interval,
		}
	}
	die := func(t *testing.T, s *testServer) {
		t.Helper()
		c := dial(t, "unix", s.Socket)
		eventually(t, "agent is up", func() bool { _, up := s.status(fakeAgentDomain); return up })
		c.send(&wire.Profile{})
		if _, vs := c.changes(fakeMetric); vs.Err == 0 {
			t.Fatal("the agent did not die")
		}
	}
	up := func(t *testing.T, s *testServer, n int) {
		t.Helper()
		eventually(t, "agent is up again", func() bool {
			_, connected := s.status(fakeAgentDomain)
			return connected && len(s.Log.lines("start of fake\n")) == n
		})
	}
	t.Run("often", func(t *testing.T) {
		s := start(t, config(1))
		for n := range 4 {
			die(t, s)
			up(t, s, n+2)
		}
		if s.Control().HangUps() != 0 {
			t.Errorf("%d hang-ups were counted", s.Control().HangUps())
		}
	})
	t.Run("once", func(t *testing.T) {
		s := start(t, config(time.Hour))
		die(t, s)
		up(t, s, 2)
		die(t, s)
		s.HangUp() // does the work that is not due for an hour
		up(t, s, 3)
		if n := len(s.Log.lines("Auto-restarting agents.")); n != 1 {
			t.Errorf("agents were restarted %d times within the hour", n)
		}
	})
	t.Run("never", func(t *testing.T) {
		s := start(t, config(0))
		die(t, s)
		s.HangUp()
		up(t, s, 2)
		if n := len(s.Log.lines("Auto-restarting agents.")); n != 0 {
			t.Errorf("agents were restarted %d times", n)
		}
	})
}

// TestClientsComeWhileAgentsStart has a client connect between signal and
// restart. It must find the new agents.
func TestClientsComeWhileAgentsStart(t *testing.T) {
	reached, goOn := make(chan struct{}), make(chan struct{})
	s := start(t, pmcd.Config{
		Agents: []pmcd.AgentSpec{builtin(t, "pmcd"), tellingAgent(t, "fake", fakeAgentDomain, "die")},
		Reload: func() *pmcd.Setup {
			close(reached)
			<-goOn
			return nil
		},
	})
	old := dial(t, "unix", s.Socket)
	old.send(&wire.Profile{})
	old.changes(fakeMetric)
	go s.HangUp()
	<-reached
	// Connected clients are served.
	if _, vs := old.changes(fakeGood); vs.Err != pcp.ErrNoAgent {
		t.Errorf("fetch from a dead agent gets %v", vs.Err)
	}
	c := dialOnly(t, "unix", s.Socket)
	close(goOn)
	c.greet()
	c.send(&wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, 0)}})
	c.send(&wire.Profile{})
	if _, vs := c.changes(fakeGood); vs.Err != 0 {
		t.Errorf("who came during the restart gets %v", vs.Err)
	}
}

// TestHangUpProgram replaces the program of a running agent. A reload keeps the old process, as in C; the new program
// runs when the agent's line has been gone.
func TestHangUpProgram(t *testing.T) {
	program := filepath.Join(t.TempDir(), "agent")
	install := func(name string) {
		t.Helper()
		next := program + ".new"
		if err := os.WriteFile(next, []byte("#!/bin/sh\necho \"start of "+name+"\" >&2\nexec \"$@\"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, program); err != nil {
			t.Fatal(err)
		}
	}
	install("old")
	// The script is read by a shell: the kernel does not run files that other processes still write to.
	agent := pmcd.AgentSpec{Name: "replaced", Domain: fakeAgentDomain, Transport: conf.Transport{
		Kind: conf.Pipe, Args: append([]string{"/bin/sh", program}, fakeAgentCommand(t, "good")...),
	}}
	with := &pmcd.Setup{Agents: []pmcd.AgentSpec{builtin(t, "pmcd"), agent}, Access: new(access.Rules)}
	without := &pmcd.Setup{Agents: []pmcd.AgentSpec{builtin(t, "pmcd")}, Access: new(access.Rules)}
	var setup atomic.Pointer[pmcd.Setup]
	s := start(t, pmcd.Config{Agents: with.Agents, Reload: func() *pmcd.Setup { return setup.Load() }})
	c := dial(t, "unix", s.Socket)
	reload := func(next *pmcd.Setup, err pcp.Error) {
		t.Helper()
		setup.Store(next)
		s.HangUp()
		if _, vs := c.changes(fakeGood); vs.Err != err {
			t.Errorf("a fetch after the reload gets %v, want %v", vs.Err, err)
		}
	}
	if res := c.fetch(fakeGood); res.Sets[0].Err != 0 {
		t.Fatalf("the agent is not there to begin with: %v", res.Sets[0].Err)
	}
	eventually(t, "the old program is started", func() bool { return len(s.Log.lines("start of old\n")) == 1 })
	install("new")
	reload(with, 0)
	if n := len(s.Log.lines("start of new\n")); n != 0 {
		t.Errorf("the reload started the new program %d times", n)
	}
	reload(without, pcp.ErrNoAgent)
	reload(with, 0)
	eventually(t, "the new program is started", func() bool { return len(s.Log.lines("start of new\n")) == 1 })
}
