package series_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/seriestest"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

// TestHide checks that nothing of hidden metrics is visible.
func TestHide(t *testing.T) {
	ctx := context.Background()
	s := seriestest.New()
	add := func(domain int, name, labels, inst string) (id, in sid.ID) {
		desc := pcp.Desc{PMID: pcp.NewPMID(domain, 0, 1), Type: pcp.TypeU32, InDom: pcp.NewInDom(domain, 1), Sem: pcp.SemInstant}
		id = s.AddMetric(name, desc, labels, "/a/h", "h")
		in = s.AddInstance(id, 1, inst, `{"of":"`+inst+`"}`)
		s.Append(id, pcp.Timestamp{Sec: 1000}, series.InstValue{Instance: in, Value: pcp.Uint32Value(4).WithInst(1)})
		return id, in
	}
	open, openInst := add(60, "disk.read", `{"hostname":"h"}`, "sda")
	secret, secretInst := add(3, "proc.psinfo", `{"hostname":"h","agent":"proc"}`, "000001 init")
	h := series.Hide(s, func(m series.Metric) bool { return m.Desc.PMID.Domain() == 3 })
	defer h.Close()

	for _, c := range []struct {
		field series.Field
		label string
		want  []string
	}{
		{series.MetricName, "", []string{"disk.read"}},
		{series.InstanceName, "", []string{"sda"}},
		{series.ContextName, "", []string{"/a/h", "h"}},
		{series.LabelName, "", []string{"hostname", "of"}},
		{series.LabelValue, "of", []string{`"sda"`}},
		{series.LabelValue, "agent", nil},
	} {
		got, err := h.Strings(ctx, c.field, c.label)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("Strings(%d, %q): %q, %v, want %q", c.field, c.label, got, err, c.want)
		}
	}
	all, err := h.Select(ctx, series.Matcher{Field: series.ContextName, Value: "h"})
	if err != nil || !slices.Equal(all, []sid.ID{open}) {
		t.Errorf("Select: %v, %v", all, err)
	}
	known := func(what string, want bool, err error) {
		t.Helper()
		if want != (err == nil) || err != nil && !errors.Is(err, series.ErrUnknown) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, c := range []struct {
		id, inst sid.ID
		want     bool
	}{{open, openInst, true}, {secret, secretInst, false}} {
		_, err := h.Metric(ctx, c.id)
		known("Metric", c.want, err)
		_, err = h.Instances(ctx, c.id)
		known("Instances", c.want, err)
		_, err = h.Instance(ctx, c.inst)
		known("Instance", c.want, err)
		_, err = h.Labels(ctx, c.id)
		known("Labels", c.want, err)
		_, err = h.Labels(ctx, c.inst)
		known("Labels of an instance", c.want, err)
	}
	n := 0
	for sample, err := range h.Values(ctx, []sid.ID{secret, open}, series.Window{}) {
		if err != nil || sample.Series != open {
			t.Errorf("Values: %v, %v", sample, err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("%d samples", n)
	}
	n = 0
	for sample, err := range h.Sweep(ctx, []sid.ID{secret, open}, pcp.Timestamp{}, pcp.Timestamp{}) {
		if err != nil || sample.Series != open {
			t.Errorf("Sweep: %v, %v", sample, err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("Sweep: %d samples", n)
	}
	found, err := h.Within(ctx, []sid.ID{secret, open}, pcp.Timestamp{}, pcp.Timestamp{}, true)
	if err != nil || len(found) != 1 || found[0].Series != open {
		t.Errorf("Within: %v, %v", found, err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.Metric(ctx, open); err != nil {
		t.Errorf("the store was closed: %v", err)
	}
}
