package backend

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/pmcd/internal/trace"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// A sleeper is an agent with one metric whose calls wait for wake, if it is not
// nil.
type sleeper struct {
	wake  chan struct{}
	calls int
}

func (a *sleeper) call() {
	a.calls++
	if a.wake != nil {
		<-a.wake
	}
}

func (a *sleeper) Desc(_ context.Context, id pcp.PMID) (pcp.Desc, error) {
	a.call()
	return pcp.Desc{PMID: id, Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}, nil
}

func (a *sleeper) Instances(context.Context, pcp.InDom) ([]pcp.Instance, error) {
	return nil, pcp.ErrInDom
}

func (a *sleeper) Fetch(_ context.Context, req *pmda.FetchRequest) error {
	a.call()
	for _, id := range req.PMIDs {
		req.Result.AddSet(id)
		req.Result.Add(pcp.Uint32Value(1))
	}
	return nil
}

func (a *sleeper) EndContext(*pmda.Client) { a.call() }

const testTimeout = time.Second

// newTestAgents returns a slow agent, whose calls wait, and a quick one.
func newTestAgents() (slow, quick *Agent, sleeps, answers *sleeper) {
	h := &Host{
		Log: slog.New(slog.DiscardHandler), Report: io.Discard, Trace: trace.New(io.Discard),
		Changed: func(wire.State) {}, Died: func() {}, NoRoot: func(error) {}, Warn: func(string, string, ...any) {},
		Clients: func() int { return 1 }, Closing: make(chan struct{}), Start: time.Now(),
	}
	h.SetTimeout(testTimeout)
	sleeps, answers = &sleeper{wake: make(chan struct{})}, &sleeper{}
	slow = NewLocal(h, conf.Agent{Name: "slow", Domain: 301}, 0, sleeps)
	quick = NewLocal(h, conf.Agent{Name: "quick", Domain: 302}, 1, answers)
	return slow, quick, sleeps, answers
}

// TestAbandonedCaller has an agent hang in a call. The Caller is of no use
// afterwards; its successor is.
func TestAbandonedCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, quick, sleeps, answers := newTestAgents()
		hung := make(chan Caller, 1)
		client := &pmda.Client{ID: 7}
		var c Caller
		c = NewCaller(client, "test", func() { hung <- c.Successor() })
		id, idQuick := pcp.NewPMID(301, 0, 0), pcp.NewPMID(302, 0, 0)
		returned := make(chan error)
		go func() {
			_, err := slow.Desc(&c, id)
			returned <- err
		}()
		time.Sleep(testTimeout / 2)
		synctest.Wait()
		if len(hung) != 0 || slow.Usable() != nil {
			t.Errorf("within the time limit: %d successors, %v", len(hung), slow.Usable())
		}
		successor := <-hung
		if slow.Usable() != pcp.ErrAgain {
			t.Errorf("after the time limit: %v", slow.Usable())
		}
		if _, err := slow.Desc(&successor, id); err != pcp.ErrAgain {
			t.Errorf("a call of an agent that hangs: %v", err)
		}
		if _, err := quick.Desc(&successor, idQuick); err != nil || successor.Abandoned() {
			t.Errorf("a call of another agent: %v", err)
		}
		close(sleeps.wake)
		if err := <-returned; err != pcp.ErrAgain || !c.Abandoned() {
			t.Errorf("the call returns %v, abandoned is %v", err, c.Abandoned())
		}
		if slow.Usable() != nil {
			t.Errorf("after the call has returned: %v", slow.Usable())
		}
		for _, ag := range []*Agent{slow, quick} {
			was, wasSlow := answers.calls, sleeps.calls
			_, err := ag.Desc(&c, id)
			c.Leave()
			if err != pcp.ErrAgain || answers.calls != was || sleeps.calls != wasSlow {
				t.Errorf("a call with an abandoned Caller: %v, and %d calls", err, answers.calls-was+sleeps.calls-wasSlow)
			}
		}
		if _, err := slow.Desc(&successor, id); err != nil {
			t.Errorf("a call of the agent that answers again: %v", err)
		}
	})
}

// TestResumeFetch has an agent hang in a fetch. The successor gets what the other
// agent has, and what the call that hung writes at last is lost.
func TestResumeFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, quick, sleeps, _ := newTestAgents()
		var f Fetch
		resumed := make(chan *Caller)
		var c Caller
		c = NewCaller(&pmda.Client{ID: 7}, "test", func() {
			go func() {
				next := c.Successor()
				next.Resume(&f)
				resumed <- &next
			}()
		})
		f.Begin(0, Everything, true)
		first := c.Add(&f, slow, nil)
		first.PMIDs = append(first.PMIDs, pcp.NewPMID(301, 0, 0))
		second := c.Add(&f, quick, nil)
		second.PMIDs = append(second.PMIDs, pcp.NewPMID(302, 0, 0))
		returned := make(chan struct{})
		go func() {
			defer close(returned)
			c.Fetch(&f)
		}()
		next := <-resumed
		lost, got := f.Parts[0], f.Parts[1]
		if lost == first || lost.Err != pcp.ErrAgain || lost.PMIDs[0] != first.PMIDs[0] {
			t.Errorf("the part of the agent that hangs: %+v", lost)
		}
		if got != second || got.Err != nil || len(got.Result.Sets) != 1 {
			t.Errorf("the part of the other agent: %+v", got)
		}
		close(sleeps.wake)
		<-returned
		if !c.Abandoned() || next.Abandoned() || f.Parts[0] != lost {
			t.Errorf("abandoned is %v and %v, the first part %p, was %p", c.Abandoned(), next.Abandoned(), f.Parts[0], lost)
		}
		if next.Fetch(&f); f.Parts[1] != second { // nothing is left to do
			t.Error("the fetch was done again")
		}
	})
}

// TestLeaveGoesOn has an agent hang when it is notified that a client is gone.
// The successor notifies the other.
func TestLeaveGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, quick, sleeps, answers := newTestAgents()
		told := make(chan struct{})
		var c Caller
		c = NewCaller(&pmda.Client{ID: 7}, "test", func() {
			go func() {
				next := c.Successor()
				next.Leave()
				close(told)
			}()
		})
		for _, ag := range []*Agent{slow, quick} {
			c.meet(ag)
		}
		go c.Leave()
		<-told
		close(sleeps.wake)
		synctest.Wait()
		if sleeps.calls != 1 || answers.calls != 1 {
			t.Errorf("the agents were told %d and %d times", sleeps.calls, answers.calls)
		}
	})
}

// TestNothingLooksBehindLinks has no code ask what kind of link an agent has. That
// of other packages cannot: the kinds are not exported.
func TestNothingLooksBehindLinks(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	for _, name := range files {
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		check := func(e ast.Expr) {
			if star, ok := e.(*ast.StarExpr); ok {
				e = star.X
			}
			if kind, ok := e.(*ast.Ident); ok && (kind.Name == "local" || kind.Name == "remote" || kind.Name == "absent") {
				t.Errorf("%s: an assertion of %s: have it be a method of link", fset.Position(e.Pos()), kind.Name)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeAssertExpr:
				check(n.Type)
			case *ast.TypeSwitchStmt:
				for _, c := range n.Body.List {
					for _, e := range c.(*ast.CaseClause).List {
						check(e)
					}
				}
			}
			return true
		})
	}
}
