package trivial_test

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/trivial"
	"github.com/go-pcp/pcp/pmda"
)

func TestTime(t *testing.T) {
	a, err := trivial.New(trivial.Domain)
	if err != nil {
		t.Fatal(err)
	}
	id, err := a.NameSpace().Lookup("trivial.time")
	if id != pcp.NewPMID(250, 0, 0) || err != nil {
		t.Fatalf("trivial.time is %v, %v", id, err)
	}
	req := &pmda.FetchRequest{Client: &pmda.Client{}, PMIDs: []pcp.PMID{id}, Result: new(pcp.Result)}
	before := time.Now().Unix()
	if err := a.Fetch(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	after := time.Now().Unix()
	got := req.Result.Sets[0].Values[0]
	if v := int64(got.Uint64()); v < before || v > after || got.Type() != pcp.TypeU64 {
		t.Errorf("trivial.time is %v %d at %d", got.Type(), v, before)
	}
	if sets, err := a.Labels(t.Context(), trivial.Domain, pcp.LabelDomain); len(sets) != 0 || err != nil {
		t.Errorf("labels %v, %v: the C agent has none", sets, err)
	}
}

// TestLines keeps the agent as short as the Guide to writing agents wants it.
func TestLines(t *testing.T) {
	source, err := os.ReadFile("trivial.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(source, []byte("\n")); n > 25 {
		t.Errorf("the trivial agent has %d lines, want 25 at most", n)
	}
}
