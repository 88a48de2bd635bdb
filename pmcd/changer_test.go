package pmcd_test

import (
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
)

// A renamed agent has new names, and perhaps labels, since the last fetch.
type renamed struct {
	*pmda.Table
	names, labels bool
}

func (a *renamed) Changes() (names, labels bool) {
	names, labels = a.names, a.labels
	a.names, a.labels = false, false
	return names, labels
}

// TestChangesOfLocalAgent has clients learn of the changes that an agent in
// process reports, each once.
func TestChangesOfLocalAgent(t *testing.T) {
	a := &renamed{}
	var err error
	a.Table, err = pmda.NewTable(pmda.Config{Name: "renamed", Domain: 400, Metrics: []pmda.Metric{{
		Name: "renamed.times", Type: pcp.Type32, Sem: pcp.SemInstant,
		Value: func(int32, int) (pcp.Value, error) { return pcp.Int32Value(1), nil },
		Store: func(_ *pmda.Client, _ int32, _ int, v pcp.Value) error {
			a.names, a.labels = v.Int32()&1 != 0, v.Int32()&2 != 0
			return nil
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{{Name: "renamed", Domain: 400, Agent: a}}})
	var clients [2]*pmapi.Context
	for i := range clients {
		if clients[i], err = pmapi.Dial(t.Context(), "unix:"+s.Socket); err != nil {
			t.Fatal(err)
		}
		defer clients[i].Close()
	}
	id := pcp.NewPMID(400, 0, 0)
	fetch := func(client int, want pmapi.Changes) {
		t.Helper()
		got, err := clients[client].FetchInto(t.Context(), []pcp.PMID{id}, new(pcp.Result))
		if got != want || err != nil {
			t.Errorf("a fetch brings client %d the changes %#x, %v, want %#x", client, got, err, want)
		}
	}
	store := func(v int32) {
		t.Helper()
		err := clients[0].Store(t.Context(), &pcp.Result{Sets: []pcp.ValueSet{{PMID: id, Values: []pcp.Value{pcp.Int32Value(v)}}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	fetch(0, 0)
	fetch(1, 0)
	store(1)
	fetch(0, pmapi.NamesChange)
	fetch(0, 0)
	fetch(1, pmapi.NamesChange)
	store(2)
	fetch(1, pmapi.LabelChange)
	fetch(0, pmapi.LabelChange)
	store(3)
	fetch(0, pmapi.LabelChange|pmapi.NamesChange)
}
