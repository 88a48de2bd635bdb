package pmcd_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// TestAgentThatCannotBeMade has an agent in process that cannot be made, and
// another that panics. The others are served, and these have the status 4 that
// the C collector gives to a DSO that it cannot load, until SIGHUP makes them.
func TestAgentThatCannotBeMade(t *testing.T) {
	broken := true
	spec := func(name string, domain int, open func() error) pmcd.AgentSpec {
		return pmcd.AgentSpec{Name: name, Domain: domain, Transport: conf.Transport{Path: "/there/pmda_" + name + ".so"}, Open: func(*pmcd.Server) (pmda.Agent, error) {
			if broken {
				return nil, open()
			}
			return &scripted{}, nil
		}}
	}
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{
		builtin(t, "pmcd"),
		spec("fails", 301, func() error { return errors.New("the disk is full of eels") }),
		spec("panics", 302, func() error { panic("eels") }),
		spec("none", 303, func() error { return nil }),
		inProcess("good", 304, &scripted{}),
	}})
	for _, name := range []string{"fails", "panics", "none"} {
		if lines := s.Log.lines("agent not started agent=" + name); len(lines) != 1 {
			t.Errorf("the log has %q", lines)
		}
	}
	s.Log.waitFor(t, "dso=/there/pmda_fails.so err=\"the disk is full of eels\"")
	statuses := func() map[int]int {
		m := map[int]int{}
		for _, a := range s.AgentStates() {
			m[a.Domain] = a.Status
			if a.Connected != (a.Status == 0) {
				t.Errorf("agent %+v", a)
			}
		}
		return m
	}
	for domain, want := range map[int]int{2: 0, 301: 4, 302: 4, 303: 4, 304: 0} {
		if got, ok := statuses()[domain]; !ok || got != want {
			t.Errorf("status of the agent with domain %d: %d, %v, want %d", domain, got, ok, want)
		}
	}
	c := dial(t, "unix", s.Socket)
	bad, good := pcp.NewPMID(301, 0, 1), pcp.NewPMID(304, 0, 1)
	res := c.fetch(bad, good)
	if res.Sets[0].Err != pcp.ErrNoAgent || len(res.Sets[1].Values) != 1 {
		t.Errorf("a fetch gets %+v", res.Sets)
	}
	for _, req := range []wire.PDU{
		&wire.DescReq{PMID: bad}, &wire.TextReq{Ident: uint32(bad), Kind: pcp.TextPMID},
		&wire.InstanceReq{InDom: pcp.NewInDom(301, 1), Inst: pcp.InNull}, &wire.PMNSIDs{PMIDs: []pcp.PMID{bad}},
	} {
		c.send(req)
		var e wire.Error
		if c.expect(&e); e.Code != pcp.ErrNoAgent {
			t.Errorf("%v gets %v", req.Type(), e.Code)
		}
	}

	broken = false
	s.HangUp()
	for domain, got := range statuses() {
		if got != 0 {
			t.Errorf("after a restart the agent with domain %d has status %d", domain, got)
		}
	}
	c = dial(t, "unix", s.Socket)
	if res := c.fetch(bad); len(res.Sets[0].Values) != 1 {
		t.Errorf("after a restart a fetch gets %+v", res.Sets)
	}
}

// TestAbsentAgentIsTriedAgain has an agent that can be made at the third try,
// after the interval and twice the interval, and then not again.
func TestAbsentAgentIsTriedAgain(t *testing.T) {
	const interval = 50 * time.Millisecond
	var mu sync.Mutex
	var tries []time.Time
	s := start(t, pmcd.Config{RestartInterval: interval, Agents: []pmcd.AgentSpec{
		inProcess("good", 304, &scripted{}),
		{Name: "late", Domain: 301, Open: func(*pmcd.Server) (pmda.Agent, error) {
			mu.Lock()
			defer mu.Unlock()
			if tries = append(tries, time.Now()); len(tries) < 3 {
				return nil, errors.New("the disk is full of eels")
			}
			return &scripted{}, nil
		}},
	}})
	early := dial(t, "unix", s.Socket)
	id := pcp.NewPMID(301, 0, 1)
	early.send(&wire.Profile{})
	eventually(t, "the agent is up", func() bool { _, up := s.status(301); return up })
	if _, vs := early.changes(id); vs.Err != 0 {
		t.Errorf("the client that was there gets %v", vs.Err)
	}
	time.Sleep(4 * interval)
	mu.Lock()
	defer mu.Unlock()
	if len(tries) != 3 {
		t.Fatalf("it was made %d times", len(tries))
	}
	for i, want := range []time.Duration{interval, 2 * interval} {
		if got := tries[i+1].Sub(tries[i]); got < want {
			t.Errorf("try %d came after %v, want at least %v", i+2, got, want)
		}
	}
	if n := len(s.Log.lines("Auto-restarting agents.")); n != 2 || s.Control().HangUps() != 0 {
		t.Errorf("%d restarts and %d hang-ups are told", n, s.Control().HangUps())
	}
}

// TestEmptyNames has names that are empty among others. The wanted answers are
// those of the C collector.
func TestEmptyNames(t *testing.T) {
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{builtin(t, "pmcd")}})
	c := dial(t, "unix", s.Socket)
	const good = "pmcd.control.timeout"
	id := pcp.NewPMID(2, 0, 4)
	for _, x := range []struct {
		names []string
		want  []pcp.PMID // nil: PM_ERR_IPC
	}{
		{[]string{good, "", good}, []pcp.PMID{id, pcp.PMIDNull, id}},
		{[]string{"", good}, []pcp.PMID{pcp.PMIDNull, id}},
		{[]string{good, ""}, []pcp.PMID{id, pcp.PMIDNull}},
		{[]string{"", "nope"}, []pcp.PMID{pcp.PMIDNull, pcp.PMIDNull}},
		{[]string{"nope", ""}, nil},
		{[]string{"", ""}, nil},
		{[]string{""}, nil},
	} {
		c.send(&wire.PMNSNames{Names: x.names})
		switch p := c.receive().(type) {
		case *wire.Error:
			if x.want != nil || p.Code != pcp.ErrIPC {
				t.Errorf("%q: %v", x.names, p.Code)
			}
		case *wire.PMNSIDs:
			n := 0
			for i, got := range p.PMIDs {
				if x.want == nil || got != x.want[i] {
					t.Errorf("%q: %v, want %v", x.names, p.PMIDs, x.want)
					break
				}
				if got != pcp.PMIDNull {
					n++
				}
			}
			if int(p.Status) != n {
				t.Errorf("%q: status %d, want %d", x.names, p.Status, n)
			}
		}
	}
}
