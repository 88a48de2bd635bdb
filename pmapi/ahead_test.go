package pmapi_test

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/simple"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd"
)

// TestAhead asks for metadata ahead of the calls that want them: these need the collector no more,
// until Rest.
func TestAhead(t *testing.T) {
	agent, err := simple.New(simple.Config{})
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server, err := pmcd.New(pmcd.Config{Listeners: []net.Listener{ln}, Agents: []pmcd.AgentSpec{{Name: "simple", Domain: simple.Domain, Agent: agent}}})
	if err != nil {
		t.Fatal(err)
	}
	serving, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Run(serving) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	defer stop()
	c, err := pmapi.Dial(t.Context(), "unix:"+socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := t.Context()
	var names []string
	for name, err := range c.Traverse(ctx, "simple") {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	ids, err := c.LookupName(ctx, names...)
	if err != nil {
		t.Fatal(err)
	}
	descs, err := c.LookupDescs(ctx, ids...)
	if err != nil {
		t.Fatal(err)
	}
	type answer struct {
		Names         []string
		Line, Help    string
		Item, Cluster []pcp.LabelSet
		Codes         [5]pcp.Error
	}
	ask := func() (list []answer) {
		for _, id := range ids {
			var a answer
			var errs [5]error
			a.Names, errs[0] = c.NameAll(ctx, id)
			a.Line, errs[1] = c.LookupText(ctx, id, pcp.TextOneLine)
			a.Help, errs[2] = c.LookupText(ctx, id, pcp.TextHelp)
			a.Item, errs[3] = c.Labels(ctx, pcp.LabelItem, uint32(id))
			a.Cluster, errs[4] = c.Labels(ctx, pcp.LabelCluster, uint32(pcp.NewPMID(id.Domain(), id.Cluster(), 0)))
			for i, err := range errs {
				if err != nil {
					a.Codes[i] = pcp.Code(err)
				}
			}
			list = append(list, a)
		}
		return list
	}
	want := ask()
	if err := c.Ahead(ctx, descs); err != nil {
		t.Fatal(err)
	}
	sent, _ := c.PDUCounts()
	if diff := cmp.Diff(want, ask()); diff != "" {
		t.Errorf("asked ahead, the answers differ:\n%s", diff)
	}
	if now, _ := c.PDUCounts(); now != sent {
		t.Errorf("the collector was asked again: %v, %v", sent, now)
	}
	c.Rest()
	if diff := cmp.Diff(want, ask()); diff != "" {
		t.Errorf("after Rest the answers differ:\n%s", diff)
	}
	if now, _ := c.PDUCounts(); now == sent {
		t.Error("after Rest the collector was not asked")
	}
	stop()
	if err := c.Ahead(ctx, descs); !errors.Is(err, pcp.ErrIPC) {
		t.Errorf("without a collector: %v", err)
	}
}
