package pmcd_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// TestGroupFetch holds an agent's refresh while clients queue up. One more
// refresh, for the metrics of all, must serve them.
func TestGroupFetch(t *testing.T) {
	entered := make(chan struct{}, 16)
	proceed := make(chan struct{})
	a := refresher{&scripted{}}
	a.refresh = func([]pcp.PMID) error {
		entered <- struct{}{}
		<-proceed
		return nil
	}
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{inProcess("slow", 302, a)}})
	id := func(item int) pcp.PMID { return pcp.NewPMID(302, 0, item) }

	first := dial(t, "unix", s.Socket)
	first.send(&wire.Profile{})
	first.send(&wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{id(1)}})
	<-entered
	const n = 20
	var clients []*rawClient
	for i := range n {
		c := dial(t, "unix", s.Socket)
		c.send(&wire.Profile{})
		c.send(&wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{id(i % 5), id(9)}})
		clients = append(clients, c)
	}
	eventually(t, "requests wait in the agent's queue", func() bool { return s.Waiting(302) == n })
	close(proceed)
	first.expect(&wire.Result{HighRes: true})
	for i, c := range clients {
		res := &wire.Result{HighRes: true}
		c.expect(res)
		if got := res.Sets[0].Values[0].As(pcp.TypeU32).Uint32(); got != uint32(i%5) {
			t.Errorf("client %d gets %d", i, got)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	want := []pcp.PMID{id(0), id(1), id(2), id(3), id(4), id(9)}
	if len(a.refreshes) != 2 || !slices.Equal(a.refreshes[1], want) {
		t.Errorf("refreshes were for %v, want one for %v after the first", a.refreshes, want)
	}
	if a.overlap.Load() {
		t.Error("two calls of the agent ran at once")
	}
}

// TestValuesAreNotOlderThanTheirRequest reads a clock through an agent that
// reads it in Refresh, from many clients at once.
func TestValuesAreNotOlderThanTheirRequest(t *testing.T) {
	var tick atomic.Int64
	var read int64
	a := refresher{&scripted{}}
	a.refresh = func([]pcp.PMID) error {
		read = tick.Load()
		return nil
	}
	a.fetch = func(req *pmda.FetchRequest) error {
		for _, id := range req.PMIDs {
			req.Result.AddSet(id)
			req.Result.Add(pcp.Int64Value(read))
		}
		return nil
	}
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{inProcess("clock", 302, a)}})
	var wg sync.WaitGroup
	for range 16 {
		c := dial(t, "unix", s.Socket)
		c.send(&wire.Profile{})
		wg.Go(func() {
			for range 200 {
				asked := tick.Add(1)
				res := c.fetchAgain(pcp.NewPMID(302, 0, 1))
				if got := res.Sets[0].Values[0].Int64(); got < asked {
					t.Errorf("asked at %d, got a value of %d", asked, got)
					return
				}
			}
		})
	}
	wg.Wait()
	if a.overlap.Load() {
		t.Error("two calls of the agent ran at once")
	}
}

// TestMixedRequests has all kinds of requests meet at one agent.
func TestMixedRequests(t *testing.T) {
	a := refresher{&scripted{}}
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{
		inProcess("mixed", 302, a), inProcess("other", 301, &scripted{}),
		{Name: "fake", Domain: fakeAgentDomain, Transport: conf.Transport{Kind: conf.Pipe, Args: fakeAgentCommand(t, "good")}},
	}})
	var wg sync.WaitGroup
	for i := range 12 {
		c := dial(t, "unix", s.Socket)
		c.send(&wire.Profile{})
		wg.Go(func() {
			for k := range 100 {
				id := pcp.NewPMID(302, 0, (i*7+k)%1000)
				switch (i + k) % 3 {
				case 0:
					res := c.fetchAgain(id, pcp.NewPMID(301, 0, 8), fakeGood, id)
					for _, set := range []int{0, 3} {
						if got := res.Sets[set].Values[0].As(pcp.TypeU32).Uint32(); got != uint32(id.Item()) {
							t.Errorf("fetch of %v gives %d", id, got)
						}
					}
					if got := res.Sets[2].Values[0].As(pcp.TypeU32).Uint32(); got != 42 {
						t.Errorf("fetch of %v gives %d", fakeGood, got)
					}
				case 1:
					c.send(&wire.DescReq{PMID: id})
					var d wire.Desc
					c.expect(&d)
					if d.Desc.PMID != id {
						t.Errorf("descriptor of %v is that of %v", id, d.Desc.PMID)
					}
				case 2:
					c.send(&wire.InstanceReq{InDom: pcp.NewInDom(302, 1), Inst: pcp.InNull})
					var e wire.Error
					c.expect(&e)
					if e.Code != pcp.ErrInDom {
						t.Errorf("instances: %v", e.Code)
					}
				}
			}
		})
	}
	wg.Wait()
	if a.overlap.Load() {
		t.Error("two calls of the agent ran at once")
	}
}
