package pmcd_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// A stopper is an agent that hangs in a given call.
type stopper struct {
	scripted
	calls   atomic.Int32 // those that answer a request
	ends    atomic.Int32 // those of EndContext
	where   atomic.Value // the call's name
	release chan struct{}
}

func (a *stopper) call(name string) {
	a.calls.Add(1)
	a.hang(name)
}

func (a *stopper) hang(name string) {
	if a.where.CompareAndSwap(name, "") {
		<-a.release
	}
}

func (a *stopper) Desc(_ context.Context, id pcp.PMID) (pcp.Desc, error) {
	a.call("desc")
	return pcp.Desc{PMID: id, Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}, nil
}

func (a *stopper) Instances(context.Context, pcp.InDom) ([]pcp.Instance, error) {
	a.call("instances")
	return nil, pcp.ErrInDom
}

func (a *stopper) Fetch(ctx context.Context, req *pmda.FetchRequest) error {
	a.call("fetch")
	return a.scripted.Fetch(ctx, req)
}

func (a *stopper) Text(context.Context, uint32, pcp.TextKind) (string, error) {
	a.call("text")
	return "text", nil
}

func (a *stopper) Labels(context.Context, uint32, pcp.LabelFlags) ([]pcp.LabelSet, error) {
	a.call("labels")
	return nil, nil
}

func (a *stopper) Store(context.Context, *pmda.Client, *pcp.Result) error {
	a.call("store")
	return nil
}

func (a *stopper) LookupName(context.Context, string) (pcp.PMID, error) {
	a.call("lookup")
	return pcp.PMIDNull, pcp.ErrName
}

func (a *stopper) Names(context.Context, pcp.PMID) ([]string, error) {
	a.call("names")
	return nil, pcp.ErrPMID
}

func (a *stopper) Children(_ context.Context, name string, traverse bool) ([]pmns.Child, error) {
	a.call("children")
	return nil, nil
}

func (a *stopper) Attribute(context.Context, *pmda.Client, wire.AttrKey, string) error {
	a.call("attribute")
	return nil
}

func (a *stopper) EndContext(*pmda.Client) {
	a.ends.Add(1)
	a.hang("end")
}

// TestAbandonedCallEndsItsRequest has an agent hang in each kind of call. The
// request is answered with one error; when the call returns, the rest of the
// request is not done, and the client gets its next replies undisturbed.
func TestAbandonedCallEndsItsRequest(t *testing.T) {
	const hanging, next = 301, 302
	names := pmns.New()
	for _, add := range []struct {
		name   string
		domain int
	}{{"first", hanging}, {"second", next}} {
		if err := names.Add(add.name, pcp.DynamicRoot(add.domain)); err != nil {
			t.Fatal(err)
		}
	}
	a := &stopper{release: make(chan struct{})}
	b := &stopper{release: make(chan struct{})}
	s := start(t, pmcd.Config{NameSpace: names, Agents: []pmcd.AgentSpec{inProcess("hang", hanging, a), inProcess("next", next, b)}})
	id, idNext := pcp.NewPMID(hanging, 0, 1), pcp.NewPMID(next, 0, 2)
	value := func(id pcp.PMID) pcp.ValueSet {
		return pcp.ValueSet{PMID: id, Values: []pcp.Value{pcp.Uint32Value(1)}}
	}
	released := 0
	release := func() {
		t.Helper()
		s.Control().SetAgentTimeout(time.Minute)
		a.release <- struct{}{}
		released++
		eventually(t, "the agent answers again", func() bool { return len(s.Log.lines("agent answers again")) == released })
	}
	requests := []struct {
		where   string
		request wire.PDU
	}{
		{"desc", &wire.DescReq{PMID: id}},
		{"desc", &wire.DescIDs{PMIDs: []pcp.PMID{id, idNext, id}}},
		{"instances", &wire.InstanceReq{InDom: pcp.NewInDom(hanging, 1), Inst: pcp.InNull}},
		{"text", &wire.TextReq{Ident: uint32(id), Kind: pcp.TextPMID | pcp.TextOneLine}},
		{"labels", &wire.LabelReq{Ident: uint32(id), Kind: pcp.LabelItem}},
		{"store", &wire.Result{Result: pcp.Result{Sets: []pcp.ValueSet{value(id), value(idNext)}}}},
		{"names", &wire.PMNSIDs{PMIDs: []pcp.PMID{id}}},
		{"lookup", &wire.PMNSNames{Names: []string{"first.one", "second.two", "first.three"}}},
		{"children", &wire.PMNSChild{Name: "first"}},
		{"children", &wire.PMNSTraverse{Name: "first"}},
		{"children", &wire.PMNSTraverse{Name: ""}},
		{"attribute", &wire.DescReq{PMID: id}},
	}
	for _, c := range requests {
		t.Run(c.where, func(t *testing.T) {
			cl := dial(t, "unix", s.Socket)
			if c.where != "attribute" {
				cl.fetch(id, idNext)
			}
			before := b.calls.Load()
			a.where.Store(c.where)
			s.Control().SetAgentTimeout(50 * time.Millisecond)
			cl.send(c.request)
			var e wire.Error
			if cl.expect(&e); e.Code != pcp.ErrAgain {
				t.Errorf("%v gets %v, want %v", c.request.Type(), e.Code, pcp.ErrAgain)
			}
			release()
			if n := b.calls.Load() - before; n != 0 {
				t.Errorf("another agent was asked %d times", n)
			}
			for range 3 {
				if res := cl.fetch(idNext, id); res.Sets[0].Err != 0 || res.Sets[1].Err != 0 {
					t.Errorf("afterwards a fetch gives %+v", res.Sets)
				}
			}
		})
	}
	t.Run("end", func(t *testing.T) {
		cl := dial(t, "unix", s.Socket)
		cl.fetch(id, idNext)
		clients := int32(len(requests))
		eventually(t, "the other clients are gone", func() bool { return b.ends.Load() == clients })
		a.where.Store("end")
		s.Control().SetAgentTimeout(50 * time.Millisecond)
		cl.conn.Close()
		eventually(t, "the other agent hears of the end", func() bool { return b.ends.Load() == clients+1 })
		release()
	})
}
