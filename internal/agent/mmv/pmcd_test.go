package mmv_test

import (
	"errors"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/mmv"
	file "github.com/go-pcp/pcp/mmv"
	"github.com/go-pcp/pcp/pmapi"
)

// TestCollector follows a file through our collector: a client learns that names
// have changed.
func TestCollector(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	c, err := pmapi.Dial(ctx, startOurs(t, mmv.Config{Dirs: []string{dir}}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	control := []pcp.PMID{pcp.NewPMID(70, 0, 2)}
	var res pcp.Result
	fetch := func(what string, ids []pcp.PMID, want pmapi.Changes) {
		t.Helper()
		got, err := c.FetchInto(ctx, ids, &res)
		if err != nil || got&(pmapi.NamesChange|pmapi.LabelChange) != want {
			t.Errorf("%s: changes %v, %v, want %v", what, got, err, want)
		}
	}
	fetch("at first", control, 0)
	if _, err := c.LookupName(ctx, "mmv.s.level"); !errors.Is(err, pcp.ErrName) {
		t.Errorf("before: %v", err)
	}
	write(t, dir+"/s", sample(t, file.Options{Cluster: 7}))
	fetch("new file", control, pmapi.NamesChange|pmapi.LabelChange)
	fetch("again", control, 0)
	ids, err := c.LookupName(ctx, "mmv.s.level", "mmv.s.count")
	if err != nil {
		t.Fatal(err)
	}
	fetch("values", ids, 0)
	want(t, "level", res.Sets[0].Values[0].Double(), 2.5)
	want(t, "instances", len(res.Sets[1].Values), 2)
	if names, err := c.NameAll(ctx, ids[0]); err != nil || len(names) != 1 || names[0] != "mmv.s.level" {
		t.Errorf("names %v, %v", names, err)
	}
	if text, err := c.LookupText(ctx, ids[1], pcp.TextOneLine); err != nil || text != "short" {
		t.Errorf("text %q, %v", text, err)
	}
	desc, err := c.LookupDesc(ctx, ids[1])
	if err != nil {
		t.Fatal(err)
	}
	if text, err := c.LookupInDomText(ctx, desc.InDom, pcp.TextOneLine); err != nil || text != "one" {
		t.Errorf("text of the domain %q, %v", text, err)
	}
	if err := c.Store(ctx, &pcp.Result{Sets: []pcp.ValueSet{{PMID: ids[0], Values: []pcp.Value{pcp.DoubleValue(1)}}}}); !errors.Is(err, pcp.ErrPermission) {
		t.Errorf("store: %v", err)
	}
}
