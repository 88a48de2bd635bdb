package pmcd_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// A sluggish agent has a dynamic name, "slow.one", and an instance domain. A fetch takes until a test lets it
// continue. The value of a metric is its item.
type sluggish struct {
	scripted
	namer pmda.TreeNamer
	wait  atomic.Bool // the next fetch waits; it is the only one
	began chan struct{}
	goOn  chan struct{}
	free  func()   // closes goOn
	ended chan int // numbers of clients that are gone
}

func newSluggish(t *testing.T) *sluggish {
	t.Helper()
	tree := pmns.New()
	if err := tree.Add("slow.one", slowOne); err != nil {
		t.Fatal(err)
	}
	a := &sluggish{namer: pmda.TreeNamer{Tree: tree}, began: make(chan struct{}), goOn: make(chan struct{}), ended: make(chan int, 20)}
	a.free = sync.OnceFunc(func() { close(a.goOn) })
	a.fetch = func(req *pmda.FetchRequest) error {
		if a.wait.CompareAndSwap(true, false) {
			a.began <- struct{}{}
			<-a.goOn
		}
		for _, id := range req.PMIDs {
			req.Result.AddSet(id)
			req.Result.Add(pcp.Uint32Value(uint32(id.Item())))
		}
		return nil
	}
	return a
}

var (
	slowOne   = pcp.NewPMID(305, 0, 1)
	slowTwo   = pcp.NewPMID(305, 0, 2)
	slowInDom = pcp.NewInDom(305, 1)
)

func (a *sluggish) Instances(_ context.Context, indom pcp.InDom) ([]pcp.Instance, error) {
	if indom != slowInDom {
		return nil, pcp.ErrInDom
	}
	return []pcp.Instance{{Inst: 3, Name: "three"}, {Inst: 4, Name: "four"}}, nil
}

func (a *sluggish) LookupName(ctx context.Context, name string) (pcp.PMID, error) {
	return a.namer.LookupName(ctx, name)
}

func (a *sluggish) Names(ctx context.Context, id pcp.PMID) ([]string, error) {
	return a.namer.Names(ctx, id)
}

func (a *sluggish) Children(ctx context.Context, name string, traverse bool) ([]pmns.Child, error) {
	return a.namer.Children(ctx, name, traverse)
}

func (a *sluggish) EndContext(c *pmda.Client) {
	select {
	case a.ended <- c.ID:
	default:
	}
}

// answer returns the answer to a request, an error or not, as text.
func (c *rawClient) answer(p wire.PDU) string {
	c.t.Helper()
	c.send(p)
	switch p := c.receive().(type) {
	case *wire.Error:
		return p.Code.Error()
	default:
		return fmt.Sprintf("%+v", p)
	}
}

// TestSlowAgentKeepsItsNames has a fetch run into the time limit. It is answered at the limit, with the values of the
// other agents. Until the agent answers its names, descriptors and instances are those of before; then it serves
// again, and is the same agent all the time.
func TestSlowAgentKeepsItsNames(t *testing.T) {
	for _, place := range []string{"in process", "in another process"} {
		t.Run(place, func(t *testing.T) {
			a := newSluggish(t)
			spec := inProcess("slow", 305, a)
			if place != "in process" {
				spec = socketAgent(t, "slow", 305, a)
			}
			names := pmns.New()
			other := pcp.NewPMID(301, 0, 5)
			for name, id := range map[string]pcp.PMID{"slow": pcp.DynamicRoot(305), "other": other} {
				if err := names.Add(name, id); err != nil {
					t.Fatal(err)
				}
			}
			t.Cleanup(a.free) // before that of the socket, which waits for the agent
			s := start(t, pmcd.Config{NameSpace: names, Agents: []pmcd.AgentSpec{inProcess("other", 301, &scripted{}), spec}})
			requests := []wire.PDU{
				&wire.PMNSNames{Names: []string{"slow.one", "other"}},
				&wire.PMNSNames{Names: []string{"slow.one"}},
				&wire.PMNSIDs{PMIDs: []pcp.PMID{slowOne}},
				&wire.PMNSChild{Name: "slow", WithStatus: true},
				&wire.PMNSTraverse{Name: "slow"},
				&wire.PMNSTraverse{Name: ""},
				&wire.DescReq{PMID: slowOne},
				&wire.DescIDs{PMIDs: []pcp.PMID{other, slowOne}},
				&wire.InstanceReq{InDom: slowInDom, Inst: pcp.InNull},
				&wire.InstanceReq{InDom: slowInDom, Inst: 4},
				&wire.InstanceReq{InDom: slowInDom, Inst: pcp.InNull, Name: "three"},
			}
			early := dial(t, "unix", s.Socket)
			before := make([]string, len(requests))
			for i, p := range requests {
				if before[i] = early.answer(p); strings.Contains(before[i], "Unknown") {
					t.Fatalf("to begin with %v %+v gets %s", p.Type(), p, before[i])
				}
			}
			victim, leaver, late := dial(t, "unix", s.Socket), dial(t, "unix", s.Socket), dial(t, "unix", s.Socket)
			for _, c := range []*rawClient{early, victim, leaver, late} {
				c.fetch(other, slowTwo)
			}

			a.wait.Store(true)
			s.Control().SetAgentTimeout(300 * time.Millisecond)
			victim.send(&wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{slowOne, other}})
			<-a.began
			res := &wire.Result{HighRes: true}
			if victim.expect(res); res.Sets[0].Err != pcp.ErrAgain || len(res.Sets[1].Values) != 1 {
				t.Errorf("the fetch that takes too long gets %+v, want %v and the other agent's value", res.Sets, pcp.ErrAgain)
			}
			s.Control().SetAgentTimeout(time.Hour) // so that every goroutine that waits for the agent hangs
			for _, c := range []*rawClient{early, victim, late} {
				for i, p := range requests {
					if diff := cmp.Diff(before[i], c.answer(p)); diff != "" {
						t.Errorf("while the agent is overdue %v %+v (-before +now):\n%s", p.Type(), p, diff)
					}
				}
				if got := c.answer(&wire.DescReq{PMID: slowTwo}); got != pcp.ErrAgain.Error() {
					t.Errorf("while the agent is overdue a descriptor that it was not asked for before is %s", got)
				}
				if res := c.fetchAgain(slowTwo, other); res.Sets[0].Err != pcp.ErrAgain || len(res.Sets[1].Values) != 1 {
					t.Errorf("while the agent is overdue a fetch gets %+v", res.Sets)
				}
			}
			if status, connected := s.status(305); status != 1 || !connected {
				t.Errorf("the status is %d, connected %v", status, connected)
			}
			leaver.conn.Close()
			eventually(t, "the client that leaves is gone", func() bool { return len(s.Control().ClientStates()) == 3 })

			// The answer that comes late is not taken for that of another request.
			a.free()
			s.Log.waitFor(t, "agent answers again")
			for _, c := range []*rawClient{early, victim, late} {
				res := c.fetch(slowTwo, other, slowOne)
				for i, want := range []uint32{2, 5, 1} {
					if vs := res.Sets[i]; len(vs.Values) != 1 || vs.Values[0].As(pcp.TypeU32).Uint32() != want {
						t.Errorf("when it is back value %d is %+v, want %d", i, vs, want)
					}
				}
				for i, p := range requests {
					if diff := cmp.Diff(before[i], c.answer(p)); diff != "" {
						t.Errorf("when it is back %v %+v (-before +now):\n%s", p.Type(), p, diff)
					}
				}
			}
			select {
			case <-a.ended:
			case <-time.After(time.Minute):
				t.Error("the agent does not hear of the client that left meanwhile")
			}
			if status, _ := s.status(305); status != 0 {
				t.Errorf("when it is back the status is %d", status)
			}
			if lines := s.Log.lines("agent dropped"); len(lines) > 0 {
				t.Errorf("the agent was dropped: %q", lines)
			}
			if n := len(s.Log.lines("does not answer")); n != 1 {
				t.Errorf("the log has %d lines about it:\n%s", n, s.Log)
			}
		})
	}
}

// TestKnownForItsUserAlone has two users whose instances differ. While the agent is overdue neither gets those of the other.
func TestKnownForItsUserAlone(t *testing.T) {
	a := &perClient{sluggish: newSluggish(t)}
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{inProcess("slow", 305, a)}})
	known, stranger := dial(t, "unix", s.Socket), dial(t, "tcp", s.TCP) // the collector knows the user by the Unix socket only
	all := &wire.InstanceReq{InDom: slowInDom, Inst: pcp.InNull}
	if got := known.answer(all); !strings.Contains(got, "secret") {
		t.Skipf("the collector does not know the user of a Unix socket here: %s", got)
	}
	t.Cleanup(a.free)
	known.fetch(slowTwo)
	a.wait.Store(true)
	s.Control().SetAgentTimeout(100 * time.Millisecond)
	known.send(&wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{slowOne}})
	<-a.began
	known.expect(&wire.Result{HighRes: true})
	if got := stranger.answer(all); got != pcp.ErrAgain.Error() {
		t.Errorf("another client gets %s", got)
	}
	if got := known.answer(all); !strings.Contains(got, "secret") {
		t.Errorf("the client that asked before gets %s", got)
	}
	a.free()
	s.Log.waitFor(t, "agent answers again")
}

// A perClient agent shows its instances to clients whose user is known.
type perClient struct{ *sluggish }

func (a *perClient) Instances(ctx context.Context, indom pcp.InDom) ([]pcp.Instance, error) {
	if c, ok := pmda.ClientFrom(ctx); ok {
		if _, ok := c.UserID(); ok {
			return []pcp.Instance{{Inst: 1, Name: "secret"}}, nil
		}
	}
	return nil, nil
}

func (a *perClient) Attribute(context.Context, *pmda.Client, wire.AttrKey, string) error { return nil }

// TestAgentStopped sends a stopped process more than a pipe holds. The rest is sent from where it stopped, and the
// answers are those of their requests.
func TestAgentStopped(t *testing.T) {
	command := append([]string{"/bin/sh", "-c", `echo $$ >&2; exec "$@"`, "sh"}, fakeAgentCommand(t, "good")...)
	s := start(t, pmcd.Config{MaxPDU: wire.MaxPDU, Agents: []pmcd.AgentSpec{
		{Name: "fake", Domain: fakeAgentDomain, Transport: conf.Transport{Kind: conf.Pipe, Args: command}},
		inProcess("other", 301, &scripted{}),
	}})
	pid := 0
	eventually(t, "the agent says who it is", func() bool {
		_, err := fmt.Sscan(s.Log.String(), &pid)
		return err == nil
	})
	long := slices.Repeat([]pcp.PMID{fakeGood}, 30000)
	for _, ids := range [][]pcp.PMID{long, append(slices.Clone(long), pcp.NewPMID(301, 0, 5))} { // alone and with another agent
		c := dial(t, "unix", s.Socket)
		c.fetch(fakeGood)
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		s.Control().SetAgentTimeout(200 * time.Millisecond)
		res := c.fetchAgain(ids...)
		if res.Sets[0].Err != pcp.ErrAgain {
			t.Errorf("from a stopped process a fetch gets %v", res.Sets[0].Err)
		}
		if last := res.Sets[len(ids)-1]; len(ids) > len(long) && len(last.Values) != 1 {
			t.Errorf("the other agent's value is %+v", last)
		}
		s.Control().SetAgentTimeout(time.Minute)
		again := len(s.Log.lines("agent answers again"))
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the agent answers again", func() bool { return len(s.Log.lines("agent answers again")) > again })
		if res := c.fetchAgain(fakeMetric, fakeGood); len(res.Sets) != 2 || res.Sets[0].PMID != fakeMetric || len(res.Sets[0].Values) != 1 {
			t.Errorf("when it goes on a fetch gets %+v", res.Sets)
		}
	}
	if lines := s.Log.lines("agent dropped"); len(lines) > 0 {
		t.Errorf("the agent was dropped: %q", lines)
	}
}

// TestAgentThatNeverComesBack is dropped when it has not answered for sixty times the time limit.
func TestAgentThatNeverComesBack(t *testing.T) {
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{
		{Name: "fake", Domain: fakeAgentDomain, Transport: conf.Transport{Kind: conf.Pipe, Args: fakeAgentCommand(t, "hang")}},
		inProcess("other", 301, &scripted{}),
	}})
	c := dial(t, "unix", s.Socket)
	c.fetch(fakeGood)
	s.Control().SetAgentTimeout(50 * time.Millisecond)
	if res := c.fetchAgain(fakeMetric); res.Sets[0].Err != pcp.ErrAgain {
		t.Errorf("the fetch that hangs gets %v", res.Sets[0].Err)
	}
	s.Log.waitFor(t, "agent dropped")
	if lines := s.Log.lines("agent dropped"); !strings.Contains(lines[0], "did not answer within 3s") {
		t.Errorf("the log has %q", lines)
	}
	eventually(t, "the agent's status is that of a protocol failure", func() bool {
		status, connected := s.status(fakeAgentDomain)
		return status == 8 && !connected
	})
	c.send(&wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{fakeGood}})
	var e wire.Error
	if c.expect(&e); e.Code != 4 { // PMCD_DROP_AGENT
		t.Errorf("state change is %d, want PMCD_DROP_AGENT", e.Code)
	}
	res := &wire.Result{HighRes: true}
	if c.expect(res); res.Sets[0].Err != pcp.ErrNoAgent {
		t.Errorf("afterwards a fetch gets %v", res.Sets[0].Err)
	}
}
