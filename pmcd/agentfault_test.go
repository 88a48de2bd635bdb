package pmcd_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// status returns the state of an agent.
func (s *testServer) status(domain int) (status int, connected bool) {
	for _, a := range s.AgentStates() {
		if a.Domain == domain {
			return a.Status, a.Connected
		}
	}
	return -1, false
}

// TestAgentFaults has an agent in another process break the rules. Only that agent
// is dropped, with one line in the log, while clients get the others' values. The
// agent that hangs has never answered before; see TestSlowAgentKeepsItsNames for
// one with earlier answers.
func TestAgentFaults(t *testing.T) {
	for _, c := range []struct {
		mode   string
		first  pcp.Error // what the request that it spoils gets
		later  pcp.Error // and those after it
		status int       // of the agent then, -1 if connected
		log    string
	}{
		{"hang", pcp.ErrTimeout, pcp.ErrNoAgent, 8, "did not answer within"},
		{"die", pcp.ErrIPC, pcp.ErrNoAgent, 8 | 7<<8, "in the middle of a PDU"},
		{"eof", pcp.ErrIPC, pcp.ErrNoAgent, 8, "closed its connection"},
		{"wrong", pcp.ErrIPC, pcp.ErrNoAgent, 8, "other metrics than it was asked for"},
		{"short", pcp.ErrIPC, pcp.ErrNoAgent, 8, "other metrics than it was asked for"},
		{"type", pcp.ErrIPC, pcp.ErrNoAgent, 8, "answered a FETCH PDU with a TEXT PDU"},
		{"huge", pcp.ErrIPC, pcp.ErrNoAgent, 8, "bytes where"},
		{"garbage", pcp.ErrIPC, pcp.ErrNoAgent, 8, "RESULT PDU"},
		{"error", pcp.ErrAppVersion, 0, -1, ""},
	} {
		t.Run(c.mode, func(t *testing.T) {
			s := start(t, pmcd.Config{
				Agents: []pmcd.AgentSpec{
					builtin(t, "pmcd"),
					inProcess("other", 301, &scripted{}),
					{Name: "fake", Domain: fakeAgentDomain, Transport: conf.Transport{Kind: conf.Pipe, Args: fakeAgentCommand(t, c.mode)}},
				},
			})
			before := fakeGood
			if c.mode == "hang" {
				before = pcp.NewPMID(301, 0, 42)
			}
			bystander := dial(t, "unix", s.Socket)
			bystander.fetch(before)

			cl := dial(t, "unix", s.Socket)
			if res := cl.fetch(before); res.Sets[0].Err != 0 || res.Sets[0].Values[0].As(pcp.Type32).Int32() != 42 {
				t.Fatalf("agent does not work to begin with: %+v", res.Sets)
			}
			// All clients get the state change before the next result.
			changed := func(cl *rawClient, id pcp.PMID) *wire.Result {
				cl.send(&wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{id}})
				if c.status >= 0 {
					var e wire.Error
					cl.expect(&e)
					if e.Code != 4 { // PMCD_DROP_AGENT
						t.Errorf("state change is %d, want PMCD_DROP_AGENT", e.Code)
					}
				}
				res := &wire.Result{HighRes: true}
				cl.expect(res)
				return res
			}
			if c.mode == "hang" {
				s.Control().SetAgentTimeout(200 * time.Millisecond)
			}
			if res := changed(cl, fakeMetric); res.Sets[0].Err != c.first {
				t.Errorf("spoiled request gets %v, want %v", res.Sets[0].Err, c.first)
			}
			s.Control().SetAgentTimeout(time.Minute)
			changed(bystander, fakeGood)
			res := cl.fetch(fakeGood, pcp.NewPMID(301, 0, 5))
			if res.Sets[0].Err != c.later {
				t.Errorf("requests after it get %v, want %v", res.Sets[0].Err, c.later)
			}
			if len(res.Sets[1].Values) != 1 || res.Sets[1].Values[0].As(pcp.TypeU32).Uint32() != 5 {
				t.Errorf("the other agent's value is %+v", res.Sets[1])
			}
			status, connected := s.status(fakeAgentDomain)
			if c.status < 0 {
				if !connected || status != 0 {
					t.Errorf("agent's status is %#x, connected %v", status, connected)
				}
				return
			}
			// How its process ended is known a moment later.
			if connected {
				t.Error("agent is still connected")
			}
			eventually(t, fmt.Sprintf("agent's status %#x becomes %#x", status, c.status), func() bool {
				status, _ := s.status(fakeAgentDomain)
				return status == c.status
			})
			if lines := s.Log.lines("agent dropped"); len(lines) != 1 || !strings.Contains(lines[0], c.log) {
				t.Errorf("log has %q, want one line with %q", lines, c.log)
			}
		})
	}
}

func TestAgentsThatDoNotStart(t *testing.T) {
	s := start(t, pmcd.Config{
		CredsTimeout: 200 * time.Millisecond,
		Agents: []pmcd.AgentSpec{
			{Name: "silent", Domain: 310, Transport: conf.Transport{Kind: conf.Pipe, Args: fakeAgentCommand(t, "silent")}},
			{Name: "noise", Domain: 311, Transport: conf.Transport{Kind: conf.Pipe, Args: fakeAgentCommand(t, "noise")}},
			{Name: "exit", Domain: 312, Transport: conf.Transport{Kind: conf.Pipe, Args: fakeAgentCommand(t, "exit")}},
			{Name: "missing", Domain: 313, Transport: conf.Transport{Kind: conf.Pipe, Args: []string{"/no/such/agent"}}},
			{Name: "nobody", Domain: 314, Transport: conf.Transport{Kind: conf.Socket, Network: "unix", Address: "/no/such/socket"}},
			inProcess("other", 301, &scripted{}),
		},
	})
	cl := dial(t, "tcp", s.TCP)
	res := cl.fetch(pcp.NewPMID(310, 0, 0), pcp.NewPMID(314, 0, 0), pcp.NewPMID(301, 0, 1))
	if res.Sets[0].Err != pcp.ErrNoAgent || res.Sets[1].Err != pcp.ErrNoAgent || len(res.Sets[2].Values) != 1 {
		t.Errorf("fetch gives %+v", res.Sets)
	}
	for domain := 310; domain <= 314; domain++ {
		if status, connected := s.status(domain); connected || status != 4 {
			t.Errorf("status of %d is %d, want 4", domain, status)
		}
	}
	for _, name := range []string{"silent", "noise", "exit", "missing", "nobody"} {
		if lines := s.Log.lines("agent not started agent=" + name); len(lines) != 1 {
			t.Errorf("log has %d lines about %s", len(lines), name)
		}
	}
}

func TestAgentThatIsNotReady(t *testing.T) {
	command, ready := fakeAgentThatWaits(t, "notready")
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{
		{Name: "fake", Domain: fakeAgentDomain, Transport: conf.Transport{Kind: conf.Pipe, NotReady: true, Args: command}},
	}})
	cl := dial(t, "unix", s.Socket)
	if res := cl.fetch(fakeGood); res.Sets[0].Err != pcp.ErrAgain {
		t.Errorf("before it is ready a request gets %v, want %v", res.Sets[0].Err, pcp.ErrAgain)
	}
	if status, _ := s.status(fakeAgentDomain); status != 1 {
		t.Errorf("status is %d, want 1", status)
	}
	ready()
	s.Log.waitFor(t, "agent is ready")
	if res := cl.fetch(fakeGood); len(res.Sets[0].Values) != 1 {
		t.Errorf("when it is ready a request gets %+v", res.Sets[0])
	}
}

// TestAgentThatIsReady has an agent report unasked that it is ready, as those do whose line should have the word notready. It is
// kept, and the log explains what to do; an agent that sends nothing else is dropped.
func TestAgentThatIsReady(t *testing.T) {
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{
		{Name: "fake", Domain: fakeAgentDomain, Transport: conf.Transport{Kind: conf.Pipe, Args: fakeAgentCommand(t, "ready")}},
	}})
	cl := dial(t, "unix", s.Socket)
	for _, id := range []pcp.PMID{fakeGood, fakeMetric, fakeGood} {
		if res := cl.fetch(id); len(res.Sets[0].Values) != 1 {
			t.Errorf("a request gets %+v", res.Sets[0])
		}
	}
	if lines := s.Log.lines("add the word notready"); len(lines) != 1 {
		t.Errorf("the log has %d lines about it", len(lines))
	}
	s = start(t, pmcd.Config{Agents: []pmcd.AgentSpec{
		{Name: "fake", Domain: fakeAgentDomain, Transport: conf.Transport{Kind: conf.Pipe, Args: fakeAgentCommand(t, "ready, ready")}},
	}})
	cl = dial(t, "unix", s.Socket)
	cl.send(&wire.DescReq{PMID: fakeGood})
	if e, ok := cl.receive().(*wire.Error); !ok || e.Code >= 0 {
		t.Errorf("a request gets %+v", e)
	}
	s.Log.waitFor(t, "agent reported twice")
}

// TestAgentThatIsBusy has an agent refuse requests for a while.
func TestAgentThatIsBusy(t *testing.T) {
	command, ready := fakeAgentThatWaits(t, "busy")
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{
		{Name: "fake", Domain: fakeAgentDomain, Transport: conf.Transport{Kind: conf.Pipe, Args: command}},
	}})
	cl := dial(t, "unix", s.Socket)
	for _, id := range []pcp.PMID{fakeMetric, fakeGood} {
		if res := cl.fetch(id); res.Sets[0].Err != pcp.ErrAgain {
			t.Errorf("request gets %v, want %v", res.Sets[0].Err, pcp.ErrAgain)
		}
	}
	ready()
	s.Log.waitFor(t, "agent is ready")
	if res := cl.fetch(fakeGood); len(res.Sets[0].Values) != 1 {
		t.Errorf("afterwards a request gets %+v", res.Sets[0])
	}
}

func TestAgentWritesToLog(t *testing.T) {
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{
		{Name: "fake", Domain: fakeAgentDomain, Transport: conf.Transport{Kind: conf.Pipe, Args: fakeAgentCommand(t, "stderr")}},
	}})
	s.Log.waitFor(t, "agent says hello")
}

// TestInProcessAgentHangs blocks a call for good. Its requests must be answered
// at the time limit, other agents before it, and when it returns it must work
// again.
func TestInProcessAgentHangs(t *testing.T) {
	release := make(chan struct{})
	blocked := make(chan struct{}, 8)
	hang := &scripted{domain: 302}
	hang.fetch = func(req *pmda.FetchRequest) error {
		if req.PMIDs[0].Item() == 1 {
			blocked <- struct{}{}
			<-release
		}
		for _, id := range req.PMIDs {
			req.Result.AddSet(id)
			req.Result.Add(pcp.Uint32Value(7))
		}
		return nil
	}
	s := start(t, pmcd.Config{
		Agents: []pmcd.AgentSpec{inProcess("hang", 302, hang), inProcess("other", 301, &scripted{})},
	})
	bad, good, other := pcp.NewPMID(302, 0, 1), pcp.NewPMID(302, 0, 2), pcp.NewPMID(301, 0, 3)

	victim, waiter, bystander := dial(t, "unix", s.Socket), dial(t, "unix", s.Socket), dial(t, "unix", s.Socket)
	for _, c := range []*rawClient{victim, waiter, bystander} {
		c.fetch(other)
	}
	// Long, for the calls that do not hang.
	s.Control().SetAgentTimeout(2 * time.Second)
	victim.send(&wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{other, bad, good}})
	<-blocked
	waiter.send(&wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{good, other}})

	if res := bystander.fetchAgain(other); len(res.Sets[0].Values) != 1 {
		t.Errorf("bystander gets %+v", res.Sets)
	}
	check := func(who string, c *rawClient, others, hung int) {
		t.Helper()
		res := &wire.Result{HighRes: true}
		c.expect(res)
		if vs := res.Sets[others]; len(vs.Values) != 1 {
			t.Errorf("%s: the other agent's metric is %+v", who, vs)
		}
		if vs := res.Sets[hung]; vs.Err != pcp.ErrAgain {
			t.Errorf("%s: the hanging agent's metric is %+v, want %v", who, vs, pcp.ErrAgain)
		}
	}
	check("victim", victim, 0, 1)
	check("waiter", waiter, 1, 0)
	if status, _ := s.status(302); status != 1 {
		t.Errorf("status is %d, want 1", status)
	}
	// All kinds of requests are refused without a wait, which would have no
	// end now, by the same connections.
	s.Control().SetAgentTimeout(time.Hour)
	for _, c := range []*rawClient{victim, waiter} {
		if res := c.fetchAgain(good, other); res.Sets[0].Err != pcp.ErrAgain || len(res.Sets[1].Values) != 1 {
			t.Errorf("while it hangs a fetch gives %+v", res.Sets)
		}
		c.send(&wire.DescReq{PMID: good})
		var e wire.Error
		c.expect(&e)
		if e.Code != pcp.ErrAgain {
			t.Errorf("while it hangs a descriptor is %v", e.Code)
		}
	}
	s.Log.waitFor(t, "agent does not answer")
	if n := len(s.Log.lines("agent does not answer")); n != 1 {
		t.Errorf("log has %d lines about it", n)
	}

	close(release)
	s.Log.waitFor(t, "agent answers again")
	for _, c := range []*rawClient{victim, waiter, bystander} {
		if res := c.fetchAgain(bad, good, other); len(res.Sets[0].Values) != 1 || len(res.Sets[1].Values) != 1 {
			t.Errorf("when it is back a fetch gives %+v", res.Sets)
		}
	}
}

// TestStopWhileAgentHangs must not wait for a call that never returns.
func TestStopWhileAgentHangs(t *testing.T) {
	release := make(chan struct{})
	blocked := make(chan struct{})
	hang := &scripted{fetch: func(*pmda.FetchRequest) error {
		close(blocked)
		<-release
		return nil
	}}
	s := start(t, pmcd.Config{AgentTimeout: -1, Agents: []pmcd.AgentSpec{inProcess("hang", 302, hang)}})
	c := dial(t, "unix", s.Socket)
	c.send(&wire.Profile{})
	c.send(&wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{pcp.NewPMID(302, 0, 1)}})
	<-blocked
	s.stop(t) // gives up after a while
	close(release)
}

func TestInProcessAgentPanics(t *testing.T) {
	a := &scripted{fetch: func(req *pmda.FetchRequest) error {
		if req.PMIDs[0].Item() == 1 {
			panic("no such luck")
		}
		req.Result.AddSet(req.PMIDs[0])
		return nil
	}}
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{inProcess("panics", 302, a)}})
	c := dial(t, "unix", s.Socket)
	for range 3 {
		if res := c.fetch(pcp.NewPMID(302, 0, 1)); res.Sets[0].Err != pcp.ErrGeneric {
			t.Errorf("request that panics gets %v", res.Sets[0].Err)
		}
	}
	if res := c.fetch(pcp.NewPMID(302, 0, 2)); res.Sets[0].Err != 0 {
		t.Errorf("request after it gets %v", res.Sets[0].Err)
	}
	if n := len(s.Log.lines("no such luck")); n != 1 {
		t.Errorf("log has %d lines about three panics, want 1", n)
	}
}

func TestInProcessAgentAnswersForOthers(t *testing.T) {
	a := &scripted{fetch: func(req *pmda.FetchRequest) error {
		req.Result.AddSet(req.PMIDs[0] + 1)
		return nil
	}}
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{inProcess("liar", 302, a)}})
	c := dial(t, "unix", s.Socket)
	if res := c.fetch(pcp.NewPMID(302, 0, 1)); res.Sets[0].Err != pcp.ErrIPC {
		t.Errorf("fetch gives %+v", res.Sets)
	}
	s.Log.waitFor(t, "other metrics than it was asked for")
}

// TestStubbornAgent does not end when its pipe closes.
func TestStubbornAgent(t *testing.T) {
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{
		{Name: "fake", Domain: fakeAgentDomain, Transport: conf.Transport{Kind: conf.Pipe, Args: fakeAgentCommand(t, "stubborn")}},
	}})
	c := dial(t, "unix", s.Socket)
	c.fetch(fakeGood)
	s.stop(t) // gives up long before the agent would end
}

// TestAgentIsKilled has a process die while no request waits for it.
func TestAgentIsKilled(t *testing.T) {
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{
		builtin(t, "pmcd"),
		{Name: "fake", Domain: fakeAgentDomain, Transport: conf.Transport{Kind: conf.Pipe, Args: append([]string{"/bin/sh", "-c", `echo $$ >&2; exec "$@"`, "sh"}, fakeAgentCommand(t, "good")...)}},
	}})
	pid := 0
	eventually(t, "the agent says who it is", func() bool {
		_, err := fmt.Sscan(s.Log.String(), &pid)
		return err == nil
	})
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.Log.waitFor(t, "agent's process ended")
	if status, connected := s.status(fakeAgentDomain); connected || status != 2|9<<16 {
		t.Errorf("status is %#x, want that of a signal", status)
	}
	c := dial(t, "unix", s.Socket)
	if res := c.fetch(fakeGood); res.Sets[0].Err != pcp.ErrNoAgent {
		t.Errorf("fetch gives %v", res.Sets[0].Err)
	}
}

// TestSocketAgents reaches agents by sockets: a running agent, and an agent that
// must be started.
func TestSocketAgents(t *testing.T) {
	dir := tempDir(t)
	tcp, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	ended := make(chan error, 1)
	go func() {
		conn, err := tcp.Accept()
		if err == nil {
			err = pmda.Serve(context.Background(), conn, &scripted{}, pmda.ServeOptions{})
			conn.Close()
		}
		ended <- err
	}()
	_, port, err := net.SplitHostPort(tcp.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "agent")
	command := fakeAgentCommand(t, "listen")
	command = slices.Insert(command, 1, fakeAgentSocket+"="+path)
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{
		{Name: "there", Domain: 303, Transport: conf.Transport{Kind: conf.Socket, Network: "tcp4", Address: port}},
		{Name: "started", Domain: 304, Transport: conf.Transport{Kind: conf.Socket, Network: "unix", Address: path, Args: command}},
	}})
	c := dial(t, "unix", s.Socket)
	res := c.fetch(pcp.NewPMID(303, 0, 1), pcp.NewPMID(304, 0, 2))
	for i, vs := range res.Sets {
		if len(vs.Values) != 1 || vs.Values[0].As(pcp.TypeU32).Uint32() != uint32(i+1) {
			t.Errorf("value %d is %+v", i, vs)
		}
	}
	s.stop(t)
	if err := <-ended; err != nil {
		t.Errorf("the agent that was there ends with %v", err)
	}
}
