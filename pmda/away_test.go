package pmda_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// A moody agent is away when it is told so, and ends when it is told so.
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
