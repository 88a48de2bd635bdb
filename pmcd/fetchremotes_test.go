package pmcd_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// socketAgent returns an agent that the test serves by a socket.
func socketAgent(t *testing.T, name string, domain int, a pmda.Agent) pmcd.AgentSpec {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if conn, err := ln.Accept(); err == nil {
			pmda.Serve(context.Background(), conn, a, pmda.ServeOptions{})
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		ln.Close()
		<-done
	})
	_, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return pmcd.AgentSpec{Name: name, Domain: domain, Transport: conf.Transport{Kind: conf.Socket, Network: "tcp4", Address: port}}
}

// TestFetchDoesNotKeepAgents has a fetch wait for one of several agents in
// other processes. A client that asks only the others does not wait.
func TestFetchDoesNotKeepAgents(t *testing.T) {
	asked, release := make(chan struct{}), make(chan struct{})
	slow := &scripted{fetch: func(req *pmda.FetchRequest) error {
		close(asked)
		<-release
		for _, id := range req.PMIDs {
			req.Result.AddSet(id)
			req.Result.Add(pcp.Uint32Value(7))
		}
		return nil
	}}
	for _, here := range []bool{true, false} {
		asked, release = make(chan struct{}), make(chan struct{})
		agents := []pmcd.AgentSpec{
			socketAgent(t, "first", 303, &scripted{}), socketAgent(t, "slow", 304, slow), socketAgent(t, "last", 305, &scripted{}),
		}
		ids := []pcp.PMID{pcp.NewPMID(303, 0, 1), pcp.NewPMID(304, 0, 2), pcp.NewPMID(305, 0, 3)}
		if !here {
			agents = append(agents, inProcess("own", 306, &scripted{}))
			ids = append(ids, pcp.NewPMID(306, 0, 4))
		}
		s := start(t, pmcd.Config{Agents: agents})
		victim, bystander := dial(t, "unix", s.Socket), dial(t, "unix", s.Socket)
		victim.send(&wire.Profile{})
		victim.send(&wire.Fetch{HighRes: true, PMIDs: ids})
		<-asked
		for _, id := range ids {
			if id.Domain() == 304 {
				continue
			}
			if res := bystander.fetch(id); len(res.Sets[0].Values) != 1 {
				t.Errorf("while another client waits %v is %+v", id, res.Sets[0])
			}
		}
		close(release)
		res := &wire.Result{HighRes: true}
		victim.expect(res)
		for i, vs := range res.Sets {
			if len(vs.Values) != 1 {
				t.Errorf("value %d is %+v", i, vs)
			}
		}
		s.stop(t)
	}
}

// TestFaultsBesideOthers has an agent misbehave in a fetch from several.
func TestFaultsBesideOthers(t *testing.T) {
	for mode, want := range map[string]pcp.Error{
		"": 0, "die": pcp.ErrIPC, "eof": pcp.ErrIPC, "wrong": pcp.ErrIPC, "short": pcp.ErrIPC, "type": pcp.ErrIPC,
		"huge": pcp.ErrIPC, "garbage": pcp.ErrIPC, "error": pcp.ErrAppVersion, "hang": pcp.ErrNoAgent,
	} {
		t.Run("mode="+mode, func(t *testing.T) {
			if mode == "" {
				mode = "good"
			}
			spec := pmcd.AgentSpec{Name: "fake", Domain: fakeAgentDomain, Transport: conf.Transport{Kind: conf.Pipe, Args: fakeAgentCommand(t, mode)}}
			s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{spec, socketAgent(t, "other", 303, &scripted{})}})
			c := dial(t, "unix", s.Socket)
			other := pcp.NewPMID(303, 0, 1)
			if mode != "hang" { // an agent that has answered before is only late
				c.fetch(fakeGood, other)
			} else {
				c.fetch(other)
				s.Control().SetAgentTimeout(200 * time.Millisecond)
			}
			c.send(&wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{fakeMetric, other}})
			res, ok := c.receive().(*wire.Result)
			if !ok { // after the news that an agent is gone
				res = &wire.Result{HighRes: true}
				c.expect(res)
			}
			if vs := res.Sets[0]; vs.Err != want || want == 0 && len(vs.Values) != 1 {
				t.Errorf("the metric of the agent that misbehaves is %+v, want %v", vs, want)
			}
			if vs := res.Sets[1]; len(vs.Values) != 1 && mode != "hang" {
				t.Errorf("the metric of the other agent is %+v", vs)
			}
		})
	}
}

// TestLongRequestsToSeveral has requests that pipes do not hold at once.
func TestLongRequestsToSeveral(t *testing.T) {
	spec := pmcd.AgentSpec{Name: "fake", Domain: fakeAgentDomain, Transport: conf.Transport{Kind: conf.Pipe, Args: fakeAgentCommand(t, "good")}}
	other := spec
	other.Name, other.Domain = "other", 303
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{spec, other}, MaxPDU: wire.MaxPDU})
	c := dial(t, "unix", s.Socket)
	var ids []pcp.PMID
	for i := range 30000 {
		ids = append(ids, fakeGood)
		if i%100 == 0 {
			ids = append(ids, pcp.NewPMID(303, 0, 2))
		}
	}
	c.send(&wire.Profile{})
	for range 3 {
		res := c.fetchAgain(ids...)
		for i, vs := range res.Sets {
			if vs.PMID != ids[i] || len(vs.Values) != 1 {
				t.Fatalf("value %d of %v is %+v", i, ids[i], vs)
			}
		}
	}
}
