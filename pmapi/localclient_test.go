package pmapi

import (
	"context"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// A shyAgent has an instance only for clients that it knows.
type shyAgent struct{}

func (shyAgent) Desc(_ context.Context, id pcp.PMID) (pcp.Desc, error) {
	return pcp.Desc{PMID: id, Type: pcp.TypeU32, InDom: pcp.NewInDom(240, 1), Sem: pcp.SemInstant}, nil
}

func (shyAgent) Instances(ctx context.Context, _ pcp.InDom) ([]pcp.Instance, error) {
	if client, ok := pmda.ClientFrom(ctx); !ok || len(client.Attrs) == 0 {
		return nil, nil
	}
	return []pcp.Instance{{Inst: 7, Name: "seven"}}, nil
}

func (shyAgent) Fetch(context.Context, *pmda.FetchRequest) error { return nil }

// TestLocalClient wants agents in a local context to know the client also where it is
// not an argument: names of instances that are for root were missing for root.
func TestLocalClient(t *testing.T) {
	c, err := OpenLocal(LocalAgent{Name: "shy", Domain: 240, Agent: shyAgent{}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	name, err := c.NameInDom(t.Context(), pcp.NewInDom(240, 1), 7)
	if err != nil || name != "seven" {
		t.Errorf("NameInDom = %q, %v, want seven", name, err)
	}
	insts, err := c.GetInDom(t.Context(), pcp.NewInDom(240, 1))
	if err != nil || len(insts) != 1 {
		t.Errorf("GetInDom = %v, %v, want one instance", insts, err)
	}
}
