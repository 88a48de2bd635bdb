package pmcd

import (
	"errors"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd/internal/backend"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// testRegistry returns a registry without a server. Its changes are added to changes.
func testRegistry(changes *wire.State) *registry {
	r := &registry{
		journal: newJournal(slog.New(slog.DiscardHandler), io.Discard),
		missing: func() {}, started: func() {},
		changed: func(s wire.State) { *changes |= s },
	}
	r.host = &backend.Host{
		Log: r.log, Report: r.report, Trace: r.events, Output: io.Discard,
		Closing: make(chan struct{}), Changed: r.changed, Died: func() {}, NoRoot: func(error) {},
		Warn: func(string, string, ...any) {}, Clients: func() int { return 0 }, Start: time.Now(),
	}
	r.open = func(spec AgentSpec) (pmda.Agent, error) { return open(spec.Open, nil) }
	return r
}

// local describes an agent in process with the metric name.one.
func local(t *testing.T, name string, domain int) AgentSpec {
	t.Helper()
	table, err := pmda.NewTable(pmda.Config{Name: name, Domain: domain, Metrics: []pmda.Metric{{
		Name: name + ".one", Type: pcp.TypeU32, Sem: pcp.SemInstant,
		Value: func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(1), nil },
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return AgentSpec{Name: name, Domain: domain, Agent: table}
}

func TestRegistry(t *testing.T) {
	var changes wire.State
	r := testRegistry(&changes)
	if err := r.set([]AgentSpec{local(t, "a", 400), local(t, "b", 401)}, nil); err != nil {
		t.Fatal(err)
	}
	r.startAll()
	defer r.stopAll()
	has := func(when string, seqNum uint32, names ...string) {
		t.Helper()
		if got := r.seqNum.Load(); got != seqNum {
			t.Errorf("%s: sequence number %d, want %d", when, got, seqNum)
		}
		for _, name := range []string{"a", "b", "c"} {
			_, err := r.names.Load().Lookup(name + ".one")
			if want := slices.Contains(names, name); want != (err == nil) {
				t.Errorf("%s: name of agent %s is known: %t, want %t", when, name, !want, want)
			}
		}
		for i, name := range []string{"a", "b", "c"} {
			ag, err := r.usable(400+i, pcp.ErrPMID)
			switch want := slices.Contains(names, name); {
			case want && (err != nil || ag.Name() != name):
				t.Errorf("%s: agent %s: %v", when, name, err)
			case !want && err != pcp.ErrPMID:
				t.Errorf("%s: agent %s: %v, want %v", when, name, err, pcp.ErrPMID)
			}
		}
	}
	has("at the start", 3, "a", "b")

	kept, _ := r.of(401, pcp.ErrPMID)
	r.replace([]AgentSpec{local(t, "b", 401), local(t, "c", 402)})
	if err := r.renewNames(); err != nil {
		t.Fatal(err)
	}
	has("replaced", 4, "b", "c")
	if ag, _ := r.of(401, pcp.ErrPMID); ag != kept {
		t.Error("agent that is reached as before was replaced")
	}
	if changes != wire.AddAgent|wire.DropAgent {
		t.Errorf("changes are %v", changes)
	}

	r.revive()
	has("nothing to revive", 4, "b", "c")

	if err := r.fence(402, true); err != nil {
		t.Error(err)
	}
	if _, err := r.usable(402, pcp.ErrPMID); !errors.Is(err, pcp.ErrPMDAFenced) {
		t.Errorf("fenced agent: %v", err)
	}
	if err := r.fence(400, true); err != pcp.ErrInst {
		t.Errorf("fence an agent that is gone: %v", err)
	}
	states := r.states()
	if len(states) != 2 || states[0].Fenced || !states[1].Fenced || !states[1].Connected {
		t.Errorf("states are %+v", states)
	}

	given := pmns.New()
	r.setNames(given)
	if err := r.renewNames(); err != nil || r.names.Load() != given || changes&wire.NamesChange == 0 {
		t.Error("given names were not kept")
	}
}

// TestAgentThatCannotBeMade checks that such an agent has a place, and is made by revive.
func TestAgentThatCannotBeMade(t *testing.T) {
	var changes wire.State
	r := testRegistry(&changes)
	missing := 0
	r.missing = func() { missing++ }
	ok := false
	spec := AgentSpec{Name: "a", Domain: 400, Open: func(*Server) (pmda.Agent, error) {
		if !ok {
			panic("not yet")
		}
		return local(t, "a", 400).Agent, nil
	}}
	if err := r.set([]AgentSpec{spec}, nil); err != nil {
		t.Fatal(err)
	}
	r.startAll()
	defer r.stopAll()
	if _, err := r.usable(400, pcp.ErrPMID); !errors.Is(err, pcp.ErrNoAgent) || missing != 1 || !r.any((*agent).absent) {
		t.Errorf("agent that cannot be made: %v, reported %d times", err, missing)
	}
	ok = true
	r.revive()
	if _, err := r.usable(400, pcp.ErrPMID); err != nil || r.any((*agent).absent) || changes&wire.RestartAgent == 0 {
		t.Errorf("revived: %v, changes %v", err, changes)
	}
}
