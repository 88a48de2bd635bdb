package pmcd_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

const guestDomain = 320

var (
	guestMetric = pcp.NewPMID(guestDomain, 0, 1)
	guestInDom  = pcp.NewInDom(guestDomain, 1)
)

// A guest has every optional interface, and notes each call and whether it knows
// for whom it is made.
type guest struct {
	mu     sync.Mutex
	calls  []string
	refuse error // the result of Check
	failed error // what the next method but Check returns
	panics bool  // the next method but Check does
}

// note notes a call. Without a client the answer is that for an unknown client.
func (g *guest) note(what string, client *pmda.Client) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	who := "nobody"
	if client != nil {
		who = "a stranger"
		if _, ok := client.UserID(); ok {
			who = "a user"
		}
	}
	g.calls = append(g.calls, what+" for "+who)
	if strings.HasPrefix(what, "check") {
		return g.refuse
	}
	if g.panics {
		panic("asked to")
	}
	return g.failed
}

func (g *guest) of(ctx context.Context, what string) error {
	client, _ := pmda.ClientFrom(ctx)
	return g.note(what, client)
}

func (g *guest) Check(ctx context.Context) error { return g.of(ctx, "check") }

func (g *guest) Refresh(_ context.Context, ids []pcp.PMID) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls = append(g.calls, fmt.Sprint("refresh ", ids))
	return nil
}

func (g *guest) Fetch(_ context.Context, req *pmda.FetchRequest) error {
	if err := g.note("fetch", req.Client); err != nil {
		return err
	}
	only := req.Profile.InDom(guestInDom)
	for _, id := range req.PMIDs {
		if id.Item() == 2 {
			continue // a set is missing
		}
		req.Result.AddSet(id)
		for inst := range int32(2) {
			if req.Profile == nil || only.Includes(inst) {
				req.Result.Add(pcp.Uint32Value(uint32(inst) * 7).WithInst(inst))
			}
		}
	}
	return nil
}

func (g *guest) Desc(ctx context.Context, id pcp.PMID) (pcp.Desc, error) {
	return pcp.Desc{PMID: id, Type: pcp.TypeU32, InDom: guestInDom, Sem: pcp.SemInstant}, g.of(ctx, "desc")
}

func (g *guest) Instances(ctx context.Context, _ pcp.InDom) ([]pcp.Instance, error) {
	return []pcp.Instance{{Inst: 0, Name: "zero"}, {Inst: 1, Name: "one"}}, g.of(ctx, "instances")
}

func (g *guest) LookupInstance(ctx context.Context, _ pcp.InDom, name string) (int32, error) {
	return int32(len(name)), g.of(ctx, "lookup "+name)
}

func (g *guest) InstanceName(ctx context.Context, _ pcp.InDom, inst int32) (string, error) {
	return strconv.Itoa(int(inst)), g.of(ctx, "name of "+strconv.Itoa(int(inst)))
}

func (g *guest) NameSpace() *pmns.Tree {
	t := pmns.New()
	if err := t.Add("guest", pcp.DynamicRoot(guestDomain)); err != nil {
		panic(err)
	}
	return t
}

func (g *guest) LookupName(ctx context.Context, name string) (pcp.PMID, error) {
	return guestMetric, g.of(ctx, "id of "+name)
}

func (g *guest) Names(ctx context.Context, id pcp.PMID) ([]string, error) {
	return []string{"guest.metric"}, g.of(ctx, "names of "+id.String())
}

func (g *guest) Children(ctx context.Context, name string, traverse bool) ([]pmns.Child, error) {
	err := g.of(ctx, "children of "+name)
	if traverse {
		return []pmns.Child{{Name: "guest.metric", Leaf: true}}, err
	}
	return []pmns.Child{{Name: "metric", Leaf: true}}, err
}

func (g *guest) Text(ctx context.Context, _ uint32, _ pcp.TextKind) (string, error) {
	return "the text", g.of(ctx, "text")
}

func (g *guest) Labels(ctx context.Context, _ uint32, kind pcp.LabelFlags) ([]pcp.LabelSet, error) {
	if err := g.of(ctx, "labels"); err != nil {
		return nil, err
	}
	if kind.Level() == pcp.LabelContext {
		return nil, nil
	}
	var sets []pcp.LabelSet
	for inst := range int32(2) {
		set, err := pcp.StringLabels(kind, "guest", strconv.Itoa(int(inst)))
		if err != nil {
			return nil, err
		}
		set.Inst = inst
		sets = append(sets, set)
	}
	return sets, nil
}

func (g *guest) Store(_ context.Context, client *pmda.Client, res *pcp.Result) error {
	return g.note(fmt.Sprint("store ", res.Sets[0].PMID), client)
}

func (g *guest) Attribute(_ context.Context, client *pmda.Client, key wire.AttrKey, _ string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls = append(g.calls, "attribute "+key.String())
	return nil
}

func (g *guest) EndContext(client *pmda.Client) { _ = g.note("end", client) }

func (g *guest) Changes() (names, labels bool) { return true, true }

func (g *guest) Doing() string { return "guesswork" }

func (g *guest) Done() bool { return false }

// take returns the calls since the last take.
func (g *guest) take() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	calls := strings.Join(g.calls, ", ")
	g.calls = nil
	return calls
}

func (g *guest) set(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
}

// hosts are the three ways to have an agent: each returns a context that asks a.
var hosts = []struct {
	name string
	open func(t *testing.T, a pmda.Agent) *pmapi.Context
}{
	{"collector", func(t *testing.T, a pmda.Agent) *pmapi.Context {
		s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{inProcess("guest", guestDomain, a)}})
		return dialContext(t, s)
	}},
	{"connection", func(t *testing.T, a pmda.Agent) *pmapi.Context {
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			conn, err := ln.Accept()
			ln.Close()
			if err == nil {
				defer conn.Close()
				err = pmda.Serve(t.Context(), conn, a, pmda.ServeOptions{})
			}
			ended <- err
		}()
		_, port, _ := net.SplitHostPort(ln.Addr().String())
		s := start(t, pmcd.Config{
			NameSpace: a.(pmda.NameSpacer).NameSpace(),
			Agents:    []pmcd.AgentSpec{{Name: "guest", Domain: guestDomain, Transport: conf.Transport{Kind: conf.Socket, Network: "tcp4", Address: port}}},
		})
		t.Cleanup(func() {
			s.stop(t)
			<-ended
		})
		return dialContext(t, s)
	}},
	{"local context", func(t *testing.T, a pmda.Agent) *pmapi.Context {
		c, err := pmapi.OpenLocal(pmapi.LocalAgent{Name: "guest", Domain: guestDomain, Agent: a})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}},
}

func dialContext(t *testing.T, s *testServer) *pmapi.Context {
	t.Helper()
	c, err := pmapi.Dial(t.Context(), "unix:"+s.Socket)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestHostsAgree runs an agent inside the collector, behind a connection, and
// in a local context. Each must make the same calls, for a client that the
// agent knows, and give the same answers.
func TestHostsAgree(t *testing.T) {
	for _, host := range hosts {
		t.Run(host.name, func(t *testing.T) {
			g := &guest{}
			c := host.open(t, g)
			ctx := t.Context()
			ids := []pcp.PMID{guestMetric}
			fetch := func() (any, error) {
				var res pcp.Result
				state, err := c.FetchInto(ctx, ids, &res)
				if err != nil {
					return nil, err
				}
				if res.Sets[0].Err != 0 {
					return nil, res.Sets[0].Err
				}
				return fmt.Sprint(len(res.Sets[0].Values), " ", state&(wire.NamesChange|wire.LabelChange)), nil
			}
			store := func() (any, error) {
				res := &pcp.Result{Sets: []pcp.ValueSet{{PMID: guestMetric, Values: []pcp.Value{pcp.Uint32Value(1)}}}}
				return "", c.Store(ctx, res)
			}
			requests := []struct {
				name, calls, answer string
				ask                 func() (any, error)
			}{
				{"fetch", "refresh [320.0.1], fetch for a user", "2 24", fetch},
				{"descriptor", "desc for a user", "320.0.1", func() (any, error) {
					d, err := c.LookupDesc(ctx, guestMetric)
					return d.PMID, err
				}},
				{"instances", "instances for a user", "[{0 zero} {1 one}]", func() (any, error) {
					return c.GetInDom(ctx, guestInDom)
				}},
				{"instance by name", "lookup seven for a user", "5", func() (any, error) {
					return c.LookupInDom(ctx, guestInDom, "seven")
				}},
				{"instance by number", "name of 9 for a user", "9", func() (any, error) {
					return c.NameInDom(ctx, guestInDom, 9)
				}},
				{"text", "text for a user", "the text", func() (any, error) {
					return c.LookupText(ctx, guestMetric, pcp.TextHelp)
				}},
				{"labels of the domain", "labels for a user", `{"guest":"0"}`, func() (any, error) {
					return labelsOf(c.Labels(ctx, pcp.LabelDomain, guestDomain))
				}},
				{"labels of instances", "labels for a user", `{"guest":"0"} {"guest":"1"}`, func() (any, error) {
					return labelsOf(c.Labels(ctx, pcp.LabelInstances, uint32(guestInDom)))
				}},
				{"store", "store 320.0.1 for a user", "", store},
				{"name", "id of guest.metric for a user", "320.0.1", func() (any, error) {
					ids, err := c.LookupName(ctx, "guest.metric")
					return ids[0], err
				}},
				{"names", "names of 320.0.1 for a user", "[guest.metric]", func() (any, error) {
					return c.NameAll(ctx, guestMetric)
				}},
				{"children", "children of guest for a user", "[{metric true}]", func() (any, error) {
					return c.Children(ctx, "guest")
				}},
			}
			if _, err := c.LookupDesc(ctx, guestMetric); err != nil {
				t.Fatal(err)
			}
			want := "attribute processid, attribute groupid, attribute userid, check for a user, desc for a user"
			if got := g.take(); got != want {
				t.Errorf("a client comes: calls are %s, want %s", got, want)
			}
			for _, r := range requests {
				check := "check for a user"
				got, err := r.ask()
				if calls := g.take(); err != nil || fmt.Sprint(got) != r.answer || calls != check+", "+r.calls {
					t.Errorf("%s: %v, %v by %s, want %s by %s, %s", r.name, got, err, calls, r.answer, check, r.calls)
				}
				g.set(func() { g.refuse = pcp.ErrAppVersion })
				_, err = r.ask()
				// A client asks again for the other kind of text.
				if calls := g.take(); pcp.Code(err) != pcp.ErrAppVersion || strings.TrimPrefix(calls, check+", ") != check {
					t.Errorf("%s that the agent refuses: %v by %s", r.name, err, calls)
				}
				g.set(func() { g.refuse, g.panics = nil, true })
				if _, err := r.ask(); pcp.Code(err) != pcp.ErrGeneric {
					t.Errorf("%s that panics: %v", r.name, err)
				}
				g.set(func() { g.panics, g.failed = false, fmt.Errorf("wrapped: %w", pcp.ErrAppVersion) })
				if _, err := r.ask(); pcp.Code(err) != pcp.ErrAppVersion {
					t.Errorf("%s that fails: %v", r.name, err)
				}
				g.set(func() { g.failed = nil })
				g.take()
			}

			// Results that the host adds itself.
			ids[0] = pcp.NewPMID(guestDomain, 0, 2)
			if _, err := fetch(); pcp.Code(err) != pcp.ErrIPC {
				t.Errorf("fetch without a set: %v", err)
			}
			ids[0] = guestMetric
			if err := errorOf(c.DelProfile(guestInDom, 0), c.AddProfile(guestInDom, 1)); err != nil {
				t.Fatal(err)
			}
			if got, err := fetch(); got != "1 24" {
				t.Errorf("fetch of one instance: %v, %v", got, err)
			}
			g.take()
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the agent hears of the client's end", func() bool { return g.take() == "end for a user" })
		})
	}
}

// A bare agent lacks all optional interfaces.
type bare struct{ g *guest }

func (b bare) Desc(ctx context.Context, id pcp.PMID) (pcp.Desc, error) { return b.g.Desc(ctx, id) }

func (b bare) Instances(ctx context.Context, id pcp.InDom) ([]pcp.Instance, error) {
	return b.g.Instances(ctx, id)
}

func (b bare) Fetch(ctx context.Context, req *pmda.FetchRequest) error { return b.g.Fetch(ctx, req) }

// NameSpace is not optional for a test that wants to reach it.
func (b bare) NameSpace() *pmns.Tree { return b.g.NameSpace() }

// TestHostsSupply has hosts answer for what an agent leaves out.
func TestHostsSupply(t *testing.T) {
	for _, host := range hosts {
		t.Run(host.name, func(t *testing.T) {
			c := host.open(t, bare{&guest{}})
			defer c.Close()
			ctx := t.Context()
			if got, err := c.LookupInDom(ctx, guestInDom, "one"); got != 1 || err != nil {
				t.Errorf("LookupInDom = %d, %v", got, err)
			}
			if got, err := c.NameInDom(ctx, guestInDom, 1); got != "one" || err != nil {
				t.Errorf("NameInDom = %q, %v", got, err)
			}
			if _, err := c.NameInDom(ctx, guestInDom, 2); pcp.Code(err) != pcp.ErrInst {
				t.Errorf("NameInDom of what is not there: %v", err)
			}
			if _, err := c.LookupText(ctx, guestMetric, pcp.TextHelp); pcp.Code(err) != pcp.ErrText {
				t.Errorf("LookupText: %v", err)
			}
			res := &pcp.Result{Sets: []pcp.ValueSet{{PMID: guestMetric, Values: []pcp.Value{pcp.Uint32Value(1)}}}}
			if err := c.Store(ctx, res); pcp.Code(err) != pcp.ErrPermission {
				t.Errorf("Store: %v", err)
			}
			if _, err := c.NameAll(ctx, guestMetric); pcp.Code(err) != pcp.ErrPMID {
				t.Errorf("NameAll: %v", err)
			}
			if sets, err := c.Labels(ctx, pcp.LabelItem, uint32(guestMetric)); len(sets) != 0 || err != nil {
				t.Errorf("Labels: %v, %v", sets, err)
			}
			want := `{"agent":"guest"}`
			if host.name == "connection" {
				want = "" // an agent there has its name only from the configuration of the collector
			}
			if got, err := labelsOf(c.Labels(ctx, pcp.LabelDomain, guestDomain)); got != want || err != nil {
				t.Errorf("labels of the domain: %v, %v, want %s", got, err, want)
			}
		})
	}
}

func labelsOf(sets []pcp.LabelSet, err error) (any, error) {
	var list []string
	for _, set := range sets {
		list = append(list, set.JSON)
	}
	return strings.Join(list, " "), err
}

func errorOf(errs ...error) error {
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return errs[i]
	}
	return nil
}
