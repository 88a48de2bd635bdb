package pmcd_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmcd/access"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// A listener is an agent that records the notices about its clients.
type listener struct {
	scripted
	mu    sync.Mutex
	heard []string
}

func (a *listener) note(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.heard = append(a.heard, fmt.Sprintf(format, args...))
}

func (a *listener) Attribute(_ context.Context, c *pmda.Client, key wire.AttrKey, value string) error {
	a.note("client %d: %d=%s", c.ID, key, value)
	return nil
}

func (a *listener) EndContext(c *pmda.Client) { a.note("client %d: end", c.ID) }

// TestAgentHearsAboutClients checks that an agent in process learns the
// attributes of a client before its first request, and that it has gone.
func TestAgentHearsAboutClients(t *testing.T) {
	a := new(listener)
	a.fetch = func(req *pmda.FetchRequest) error {
		a.note("client %d: fetch", req.Client.ID)
		req.Result.AddSet(req.PMIDs[0])
		return nil
	}
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{inProcess("listener", 305, a)}})
	id := pcp.NewPMID(305, 0, 1)
	local := dial(t, "unix", s.Socket)
	local.fetch(id)
	remote := dial(t, "tcp", s.TCP)
	remote.fetch(id)
	silent := dial(t, "unix", s.Socket) // asks this agent for nothing
	silent.fetch(pcp.NewPMID(400, 0, 0))
	for _, c := range []*rawClient{silent, local} {
		n := len(s.Control().ClientStates())
		c.conn.Close()
		eventually(t, "it leaves", func() bool { return len(s.Control().ClientStates()) < n })
	}
	again := dial(t, "unix", s.Socket) // takes the number that became free
	again.fetch(id)

	a.mu.Lock()
	defer a.mu.Unlock()
	uid, gid, pid := os.Getuid(), os.Getgid(), os.Getpid()
	want := []string{
		fmt.Sprintf("client 0: 14=%d", pid), fmt.Sprintf("client 0: 12=%d", gid), fmt.Sprintf("client 0: 11=%d", uid),
		"client 0: fetch",
		"client 1: fetch",
		"client 0: end",
		fmt.Sprintf("client 0: 14=%d", pid), fmt.Sprintf("client 0: 12=%d", gid), fmt.Sprintf("client 0: 11=%d", uid),
		"client 0: fetch",
	}
	if !slices.Equal(a.heard, want) {
		t.Errorf("it heard\n%q\nwant\n%q", a.heard, want)
	}
}

// TestProcessHearsAboutClients checks the same of an agent in another process,
// which is also notified of a client that sends it no request.
func TestProcessHearsAboutClients(t *testing.T) {
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{
		{Name: "fake", Domain: fakeAgentDomain, Transport: conf.Transport{Kind: conf.Pipe, Args: fakeAgentCommand(t, "attrs")}},
	}})
	c := dial(t, "unix", s.Socket)
	s.Log.waitFor(t, fmt.Sprintf("attribute 11=%d of client 0\n", os.Getuid()))
	s.Log.waitFor(t, fmt.Sprintf("attribute 14=%d of client 0\n", os.Getpid()))
	c.fetch(fakeGood)
	c.conn.Close()
	s.Log.waitFor(t, fmt.Sprintf("error %d of client 0\n", int32(pcp.ErrNotConn)))
	if n := len(s.Log.lines("attribute")); n != 3 {
		t.Errorf("it heard of %d attributes, want 3", n)
	}
}

// TestNewAgentHearsAboutClients has an agent replaced: the new one learns of a
// client that asks others alone.
func TestNewAgentHearsAboutClients(t *testing.T) {
	fake := pmcd.AgentSpec{Name: "fake", Domain: fakeAgentDomain, Transport: conf.Transport{Kind: conf.Pipe, Args: fakeAgentCommand(t, "attrs")}}
	other := inProcess("other", 305, &scripted{})
	again := fake
	again.Args = append(slices.Clone(fake.Args), "again")
	s := start(t, pmcd.Config{
		Agents: []pmcd.AgentSpec{fake, other},
		Reload: func() *pmcd.Setup {
			return &pmcd.Setup{Agents: []pmcd.AgentSpec{again, other}, Access: new(access.Rules)}
		},
	})
	c := dial(t, "unix", s.Socket)
	first := fmt.Sprintf("attribute 11=%d of client 0\n", os.Getuid())
	s.Log.waitFor(t, first)
	s.HangUp()
	c.ask(&wire.DescReq{PMID: pcp.NewPMID(400, 0, 1)})
	eventually(t, "the new agent hears of the client", func() bool { return len(s.Log.lines(first)) == 2 })
	c.ask(&wire.DescReq{PMID: pcp.NewPMID(400, 0, 1)})
	c.send(&wire.Profile{})
	c.changes(fakeGood)
	if n := len(s.Log.lines("attribute")); n != 6 {
		t.Errorf("attributes were told %d times, want 3 for each agent", n)
	}
}

// TestBusyAgentDelaysNobody has a client connect while an agent hangs that wants
// to know of clients.
func TestBusyAgentDelaysNobody(t *testing.T) {
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{
		{Name: "fake", Domain: fakeAgentDomain, Transport: conf.Transport{Kind: conf.Pipe, Args: fakeAgentCommand(t, "attrs")}},
	}})
	stuck := dial(t, "unix", s.Socket)
	stuck.fetch(fakeGood)
	stuck.send(&wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{fakeMetric}}) // is never answered
	for range 3 {
		c := dial(t, "unix", s.Socket)
		if e, ok := c.receiveAfter(&wire.DescReq{PMID: pcp.NewPMID(400, 0, 1)}).(*wire.Error); !ok || e.Code != pcp.ErrPMID {
			t.Errorf("answer while an agent hangs: %+v", e)
		}
		c.conn.Close()
	}
}

func (c *rawClient) receiveAfter(p wire.PDU) wire.PDU {
	c.send(p)
	return c.receive()
}
