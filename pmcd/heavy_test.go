package pmcd_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// countingAgent counts the heavy fetches that it has answered. It does not answer
// them until hold is closed.
type countingAgent struct {
	scripted
	hold  chan struct{}
	began chan struct{}
	heavy atomic.Int32
	seen  atomic.Int32 // how many heavy ones there had been at the small one
}

func (a *countingAgent) script(req *pmda.FetchRequest) error {
	if len(req.PMIDs) > 1 {
		if a.heavy.Add(1) == 1 {
			close(a.began)
		}
		<-a.hold
	} else {
		a.seen.Store(a.heavy.Load())
	}
	for _, id := range req.PMIDs {
		req.Result.AddSet(id)
		req.Result.Add(pcp.Uint32Value(7))
	}
	return nil
}

// TestSmallBeforeHeavy has 20 clients send fetches of 16,000 metrics, and then
// one ask the same agent for one metric. It waits for those that the agent has
// begun, and for no other, whether the heavy ones wait for a place or, when
// they had to wait for too long, in the agent's queue.
func TestSmallBeforeHeavy(t *testing.T) {
	const n = 20
	for _, c := range []struct {
		name   string
		places int // at the gate
		want   int32
	}{{"at the gate", 1, 1}, {"in the queue", n, 2}} {
		t.Run(c.name, func(t *testing.T) {
			a := &countingAgent{hold: make(chan struct{}), began: make(chan struct{})}
			a.fetch = a.script
			s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{inProcess("agent", 301, refresher{&a.scripted})}})
			s.SetGate(c.places, time.Hour)
			ids := make([]pcp.PMID, 16000)
			for i := range ids {
				ids[i] = pcp.NewPMID(301, 0, i%1000)
			}
			heavy := wire.Append(nil, 0, &wire.Fetch{HighRes: true, PMIDs: ids})
			clients := make([]*rawClient, n)
			for i := range clients {
				clients[i] = dial(t, "unix", s.Socket)
				clients[i].send(&wire.Profile{})
				clients[i].write(heavy)
			}
			fetches := int(wire.TypeHighResFetch - wire.TypeError)
			<-a.began
			eventually(t, "all heavy requests are here", func() bool {
				return s.Control().PDUsIn(fetches) == n && s.Waiting(301)+s.AtGate() == n-1
			})
			small := dial(t, "unix", s.Socket)
			small.send(&wire.Profile{})
			small.send(&wire.Fetch{HighRes: true, PMIDs: ids[:1]})
			eventually(t, "the small request waits", func() bool { return s.Waiting(301)+s.AtGate() == n })
			close(a.hold)
			res := &wire.Result{HighRes: true}
			small.expect(res)
			if got := a.seen.Load(); got > c.want {
				t.Errorf("the small request was served after %d heavy ones, want at most %d", got, c.want)
			}
			for _, cl := range clients {
				cl.expect(res)
				if len(res.Sets) != len(ids) {
					t.Errorf("a heavy fetch gets %d metrics", len(res.Sets))
				}
			}
		})
	}
}

// TestGateAfterHang has an agent hang in a heavy fetch. Its place is given away
// when the client is answered.
func TestGateAfterHang(t *testing.T) {
	a := &countingAgent{hold: make(chan struct{}), began: make(chan struct{})}
	a.fetch = a.script
	s := start(t, pmcd.Config{AgentTimeout: 200 * time.Millisecond, Agents: []pmcd.AgentSpec{
		inProcess("agent", 301, &a.scripted), inProcess("other", 302, &scripted{}),
	}})
	defer close(a.hold)
	s.SetGate(1, time.Hour)
	ids := make([]pcp.PMID, 16000)
	for i := range ids {
		ids[i] = pcp.NewPMID(301, 0, i%1000)
	}
	hung, next := dial(t, "unix", s.Socket), dial(t, "unix", s.Socket)
	hung.send(&wire.Profile{})
	hung.send(&wire.Fetch{HighRes: true, PMIDs: ids})
	<-a.began
	for i := range ids {
		ids[i] = pcp.NewPMID(302, 0, i%1000)
	}
	if res := next.fetch(ids...); res.Sets[0].Err != 0 {
		t.Errorf("a fetch from another agent gets %+v", res.Sets[0])
	}
	res := &wire.Result{HighRes: true}
	hung.expect(res)
	if got := res.Sets[0].Err; got != pcp.ErrAgain {
		t.Errorf("the fetch that hangs gets %v", got)
	}
	if n := s.AtGate(); n != 0 {
		t.Errorf("%d wait at the gate", n)
	}
}
