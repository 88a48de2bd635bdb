package pmda_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// A moody agent is away, or ends, on request.
type moody struct {
	until time.Time
	done  bool
	asked []int // by which clients
}

func (m *moody) Desc(ctx context.Context, id pcp.PMID) (pcp.Desc, error) {
	c, _ := pmda.ClientFrom(ctx)
	m.asked = append(m.asked, c.ID)
	switch id.Item() {
	case 1:
		m.until = time.Now().Add(3 * time.Second)
	case 2:
		m.done = true
	}
	if time.Now().Before(m.until) {
		return pcp.Desc{}, &pmda.NotReadyError{Until: m.until}
	}
	return pcp.Desc{PMID: id}, nil
}

func (m *moody) Done() bool { return m.done }

func (m *moody) Instances(context.Context, pcp.InDom) ([]pcp.Instance, error) {
	return nil, pcp.ErrInDom
}
func (m *moody) Fetch(context.Context, *pmda.FetchRequest) error { return nil }

func TestAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &moody{}
		c := start(t, m)
		ask := func(client int32, item int) wire.PDU {
			return c.ask(client, &wire.DescReq{PMID: pcp.NewPMID(9, 0, item)})
		}
		if got := ask(1, 0); got.Type() != wire.TypeDesc {
			t.Errorf("answer is %+v", got)
		}
		before := time.Now()
		if got := ask(2, 1); !isError(got, pcp.ErrPMDANotReady) {
			t.Errorf("an agent that is away answers %+v", got)
		}
		if got := c.receive(); !isError(got, pcp.ErrPMDAReady) || time.Since(before) != 3*time.Second {
			t.Errorf("after %v it says %+v", time.Since(before), got)
		}
		if got := ask(3, 2); got.Type() != wire.TypeDesc {
			t.Errorf("answer is %+v", got)
		}
		c.ended("")
		if len(m.asked) != 3 || m.asked[0] != 1 || m.asked[1] != 2 || m.asked[2] != 3 {
			t.Errorf("asked by %v", m.asked)
		}
	})
}

// A shy agent is away until a channel is closed.
type shy struct {
	moody
	ready chan struct{}
	left  chan int
}

func (s *shy) Desc(_ context.Context, id pcp.PMID) (pcp.Desc, error) {
	select {
	case <-s.ready:
		return pcp.Desc{PMID: id}, nil
	default:
		return pcp.Desc{}, &pmda.NotReadyError{Ready: s.ready}
	}
}

func (s *shy) EndContext(c *pmda.Client) { s.left <- c.ID }

// TestAwayUntilReady has an agent away until its own goroutine ends that.
// Meanwhile a client leaves, and another asks.
func TestAwayUntilReady(t *testing.T) {
	a := &shy{ready: make(chan struct{}), left: make(chan int, 9)}
	c := start(t, a)
	req := &wire.DescReq{PMID: pcp.NewPMID(9, 0, 1)}
	if got := c.ask(1, req); !isError(got, pcp.ErrPMDANotReady) {
		t.Errorf("an agent that is away answers %+v", got)
	}
	c.send(1, &wire.Error{Code: pcp.ErrNotConn})
	if got := <-a.left; got != 1 {
		t.Errorf("client %d left", got)
	}
	c.send(2, req)
	close(a.ready)
	if got := c.receive(); !isError(got, pcp.ErrPMDAReady) {
		t.Errorf("then it says %+v", got)
	}
	if got := c.receive(); got.Type() != wire.TypeDesc {
		t.Errorf("the answer to what was asked meanwhile is %+v", got)
	}
	if got := c.ask(3, req); got.Type() != wire.TypeDesc {
		t.Errorf("answer is %+v", got)
	}
	c.end("")
}

// TestAwayLeft has the collector go while the agent is away for good.
func TestAwayLeft(t *testing.T) {
	c := start(t, &shy{ready: make(chan struct{}), left: make(chan int, 9)})
	if got := c.ask(1, &wire.DescReq{}); !isError(got, pcp.ErrPMDANotReady) {
		t.Errorf("an agent that is away answers %+v", got)
	}
	c.end("")
}

// A diary writes down in which order it is called.
type diary struct {
	moody
	calls []string
	check error
}

func (d *diary) Check(context.Context) error {
	d.calls = append(d.calls, "check")
	return d.check
}

func (d *diary) Desc(_ context.Context, id pcp.PMID) (pcp.Desc, error) {
	d.calls = append(d.calls, "desc")
	return pcp.Desc{PMID: id}, nil
}

func (d *diary) Done() bool {
	d.calls = append(d.calls, "done")
	return false
}

func (d *diary) Attribute(context.Context, *pmda.Client, pmda.AttrKey, string) error {
	d.calls = append(d.calls, "attribute")
	return nil
}

func (d *diary) EndContext(*pmda.Client) { d.calls = append(d.calls, "end") }

// TestOrder has an agent called back around each request, and refuse some.
func TestOrder(t *testing.T) {
	d := &diary{}
	c := start(t, d)
	if got := c.ask(1, &wire.DescReq{}); got.Type() != wire.TypeDesc {
		t.Errorf("answer is %+v", got)
	}
	c.end("")
	if got, want := fmt.Sprint(d.calls), "[check desc done end]"; got != want {
		t.Errorf("it is called %s, want %s", got, want)
	}

	d = &diary{check: pcp.ErrAgain}
	c = start(t, d)
	c.send(1, &wire.Attr{Attr: pmda.AttrUserID, Value: []byte("0")})
	c.refused(1, &wire.DescReq{}, pcp.ErrAgain)
	c.refused(1, &wire.Fetch{PMIDs: []pcp.PMID{1}}, pcp.ErrAgain)
	c.send(1, &wire.Profile{})
	c.send(1, &wire.Error{Code: pcp.ErrNotConn})
	c.end("")
	if got, want := fmt.Sprint(d.calls), "[attribute done check done check done done end done]"; got != want {
		t.Errorf("while it refuses it is called %s, want %s", got, want)
	}
}

// TestDoing checks that the log of a panic, and of a value of the wrong type,
// names the metric and the instance.
func TestDoing(t *testing.T) {
	insts := &pmda.InDom{Instances: []pcp.Instance{{Inst: 3, Name: "good"}, {Inst: 4, Name: "bad"}}}
	var log bytes.Buffer
	table, err := pmda.NewTable(pmda.Config{
		Name: "odd", Domain: domain, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Metrics: []pmda.Metric{{
			Name: "odd.panic", Item: 0, Type: pcp.TypeU32, InDom: insts,
			Value: func(_ int32, i int) (pcp.Value, error) { return pcp.Uint32Value([]uint32{1}[i]), nil },
			Store: func(_ *pmda.Client, _ int32, i int, _ pcp.Value) error { return []error{nil}[i] },
		}, {
			Name: "odd.type", Item: 1, Type: pcp.TypeU32, InDom: insts,
			Value: func(_ int32, i int) (pcp.Value, error) {
				if i == 1 {
					return pcp.Int32Value(1), nil
				}
				return pcp.Uint32Value(1), nil
			},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := start(t, table)
	c.refused(1, &wire.Fetch{PMIDs: ids([2]int{0, 0})}, pcp.ErrGeneric)
	if got, want := table.Doing(), "value of odd.panic 400.0.0 instance 4"; got != want {
		t.Errorf("after a panic it was at %q, want %q", got, want)
	}
	p, ok := c.ask(1, &wire.Fetch{PMIDs: ids([2]int{0, 1})}).(*wire.Result)
	if !ok || len(p.Sets[0].Values) != 1 || table.Doing() != "" {
		t.Errorf("of two values one has the wrong type: %+v; it is at %q", p, table.Doing())
	}
	var res wire.Result
	res.AddSet(pcp.NewPMID(domain, 0, 0))
	res.Add(pcp.Uint32Value(1).WithInst(4))
	c.refused(1, &res, pcp.ErrGeneric)
	c.end("")
	for _, want := range []string{
		`doing="value of odd.panic 400.0.0 instance 4"`,
		`doing="store into odd.panic 400.0.0 instance 4"`,
	} {
		if !strings.Contains(c.log.String(), want) {
			t.Errorf("the log does not have %q:\n%s", want, c.log)
		}
	}
	want := `msg="metric has no value" metric=odd.type pmid=400.0.1 inst=4 name=bad err="its function gives a value of type 32, the metric's is U32"`
	if !strings.Contains(log.String(), want) {
		t.Errorf("the log does not have %q:\n%s", want, &log)
	}
}

// TestHelpFirst has texts that take precedence over the agent's own.
func TestHelpFirst(t *testing.T) {
	f := newFixture(t)
	c := serve(t, f, pmda.ServeOptions{Help: texts{uint32(pcp.NewPMID(domain, 0, 0)): "what the file says"}})
	if _, _, err := c.r.Next(); err != nil {
		t.Fatal(err)
	}
	c.send(1, &wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, 0)}})
	for item, want := range []string{"what the file says", "reads"} {
		id := pcp.NewPMID(domain, item, 0)
		p, ok := c.ask(1, &wire.TextReq{Ident: uint32(id), Kind: pcp.TextPMID | pcp.TextOneLine}).(*wire.Text)
		if !ok || p.Text != want {
			t.Errorf("the text of %v is %+v, want %q", id, p, want)
		}
	}
	c.end("")
}

type texts map[uint32]string

func (x texts) Text(_ context.Context, ident uint32, _ pcp.TextKind) (string, error) {
	if s, ok := x[ident]; ok {
		return s, nil
	}
	return "", pcp.ErrText
}
