package pmcd_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// A picky agent refuses requests on demand.
type picky struct {
	*pmda.Table
	refuse atomic.Bool
}

func (p *picky) Check(context.Context) error {
	if p.refuse.Load() {
		return pcp.ErrAgain
	}
	return nil
}

// TestInProcessAgentIsNamed checks that the log names the value of an agent that
// takes too long, and the value that made it panic.
func TestInProcessAgentIsNamed(t *testing.T) {
	release, blocked := make(chan struct{}), make(chan struct{}, 8)
	table, err := pmda.NewTable(pmda.Config{Name: "slow", Domain: 302, Metrics: []pmda.Metric{{
		Name: "slow.value", Item: 1, Type: pcp.TypeU32,
		InDom: &pmda.InDom{Instances: []pcp.Instance{{Inst: 3, Name: "quick"}, {Inst: 4, Name: "slow"}}},
		Value: func(inst int32, _ int) (pcp.Value, error) {
			if inst == 4 {
				blocked <- struct{}{}
				<-release
			}
			return pcp.Uint32Value(1), nil
		},
	}, {
		Name: "slow.panic", Item: 2, Type: pcp.TypeU32,
		Value: func(int32, int) (pcp.Value, error) { panic("no such luck") },
	}, {
		Name: "slow.fine", Item: 3, Type: pcp.TypeU32,
		Value: func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(1), nil },
	}}})
	if err != nil {
		t.Fatal(err)
	}
	a := &picky{Table: table}
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{inProcess("slow", 302, a)}})
	c := dial(t, "unix", s.Socket)
	fine := pcp.NewPMID(302, 0, 3)
	if res := c.fetch(pcp.NewPMID(302, 0, 2)); res.Sets[0].Err != pcp.ErrGeneric {
		t.Errorf("a value that panics is %v", res.Sets[0].Err)
	}
	s.Log.waitFor(t, "agent panicked")
	if lines := s.Log.lines("agent panicked"); !strings.Contains(lines[0], "value of slow.panic 302.0.2") {
		t.Errorf("the log says %s", lines)
	}

	// What the agent refuses does not reach it.
	a.refuse.Store(true)
	if res := c.fetchAgain(fine); res.Sets[0].Err != pcp.ErrAgain {
		t.Errorf("while the agent refuses a value is %v", res.Sets[0])
	}
	c.send(&wire.DescReq{PMID: fine})
	var e wire.Error
	if c.expect(&e); e.Code != pcp.ErrAgain {
		t.Errorf("while the agent refuses a descriptor is %v", e.Code)
	}
	a.refuse.Store(false)
	if res := c.fetchAgain(fine); len(res.Sets[0].Values) != 1 {
		t.Errorf("after that a value is %v", res.Sets[0])
	}

	s.Control().SetAgentTimeout(100 * time.Millisecond)
	c.send(&wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{pcp.NewPMID(302, 0, 1)}})
	<-blocked
	s.Log.waitFor(t, "agent does not answer")
	if lines := s.Log.lines("agent does not answer"); !strings.Contains(lines[0], "value of slow.value 302.0.1 instance 4") {
		t.Errorf("the log says %s", lines)
	}
	close(release)
	s.Log.waitFor(t, "agent answers again")
}
