package seriestest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/seriestest"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

func TestStore(t *testing.T) {
	ctx := context.Background()
	s := seriestest.New()
	load := s.AddMetric("kernel.all.load", pcp.Desc{PMID: 1, InDom: 1, Type: pcp.TypeFloat, Sem: pcp.SemInstant}, `{"hostname":"h"}`, "/a/h", "h")
	other := s.AddMetric("hinv.ncpu", pcp.Desc{PMID: 2, InDom: pcp.InDomNull, Type: pcp.TypeU32, Sem: pcp.SemDiscrete}, `{"hostname":"g"}`, "/a/g", "g")
	one := s.AddInstance(load, 1, "1 minute", `{"span":1}`)
	for i := range 10 {
		s.Append(load, pcp.Timestamp{Sec: int64(100 + 10*i)}, series.InstValue{Instance: one, Value: pcp.FloatValue(float32(i))})
	}

	for _, c := range []struct {
		m    series.Matcher
		want sid.ID
	}{
		{series.Matcher{Field: series.MetricName, Value: "kernel.all.load"}, load},
		{series.Matcher{Field: series.InstanceName, Value: "1 minute"}, load},
		{series.Matcher{Field: series.ContextName, Value: "g"}, other},
		{series.Matcher{Field: series.LabelValue, Label: "span", Value: "1"}, load},
		{series.Matcher{Field: series.LabelValue, Label: "hostname", Match: func(v string) bool { return v == `"g"` }}, other},
	} {
		if got, err := s.Select(ctx, c.m); err != nil || len(got) != 1 || got[0] != c.want {
			t.Errorf("Select(%+v) = %v, %v, want %v", c.m, got, err, c.want)
		}
	}
	times := func(w series.Window, want ...int64) {
		t.Helper()
		var got []int64
		for sample, err := range s.Values(ctx, []sid.ID{load}, w) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, sample.Time.Sec)
		}
		if len(got) != len(want) {
			t.Fatalf("%+v: times %v, want %v", w, got, want)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%+v: times %v, want %v", w, got, want)
			}
		}
	}
	times(series.Window{Newest: true, Count: 2}, 190, 180)
	times(series.Window{Start: pcp.Timestamp{Sec: 130}, End: pcp.Timestamp{Sec: 150}}, 130, 140, 150)
	times(series.Window{Start: pcp.Timestamp{Sec: 130}, Count: 2}, 130, 140)
	times(series.Window{Start: pcp.Timestamp{Sec: 100}, Interval: 30 * time.Second}, 100, 130, 160, 190)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Metric(ctx, load); !errors.Is(err, series.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
