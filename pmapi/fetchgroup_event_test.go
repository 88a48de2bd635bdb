package pmapi

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// Event fields over several fetches, as the C library's groups have them.
func TestFetchGroupEventsOracle(t *testing.T) {
	type request struct {
		Metric, Inst, Field string
		Type                pcp.Type
	}
	reqs := []request{
		{"sample.event.no_indom_records", "", "sample.event.param_string", pcp.TypeString},
		{"sample.event.no_indom_records", "", "sample.event.param_u64", pcp.TypeString},
		{"sample.event.no_indom_records", "", "event.flags", pcp.TypeU32},
		{"sample.event.no_indom_records", "", "event.missed", pcp.TypeU32},
		{"sample.event.records", "fungus", "sample.event.param_32", pcp.Type32},
		{"sample.event.records", "fungus", "sample.event.param_u32", pcp.TypeDouble},
		{"sample.event.records", "fungus", "sample.event.type", pcp.TypeU32},
		{"sample.event.records", "fungus", "event.flags", pcp.TypeU32},
		{"sample.event.records", "bogus", "sample.event.param_double", pcp.TypeDouble},
		{"sample.event.highres_records", "fungus", "sample.event.param_string", pcp.TypeString},
		{"sample.event.highres_records", "bogus", "sample.event.param_64", pcp.Type64},
		{"sample.event.records", "", "sample.event.type", pcp.TypeU32},
		{"sample.event.records", "fungus", "sample.bin", pcp.TypeU32},
		{"sample.event.records", "fungus", "sample.event.param_aggregate", pcp.TypeU32},
	}
	in, _ := json.Marshal(reqs)
	// Each side has its own collector: the events depend on the number of earlier
	// fetches.
	const fetches = 6
	out := oracle.Python(t, oracle.StartPMCD(t, oracle.Config{}).Env, `
import sys, json
from pcp import pmapi
import cpmapi as c
g = pmapi.fetchgroup(c.PM_CONTEXT_HOST, "local:")
res, items = [], []
for r in json.loads(sys.argv[1]):
    try:
        items.append(g.extend_event(r["Metric"], r["Field"], r["Type"], None, r["Inst"] or None))
    except pmapi.pmErr as e:
        items.append(e.args[0])
for n in range(int(sys.argv[2])):
    g.fetch()
    for v in items:
        row = []
        if isinstance(v, int):
            row.append(str(v))
        else:
            try:
                for t, x in v():
                    try:
                        x = x()
                        row.append("%.6g" % x if isinstance(x, float) else str(x))
                    except pmapi.pmErr as e:
                        row.append("error %d" % e.args[0])
            except pmapi.pmErr as e:
                row.append("all %d" % e.args[0])
        res.append(row)
print(json.dumps(res))
`, string(in), fmt.Sprint(fetches))
	if out.Exit != 0 {
		t.Fatal(out.Stderr)
	}
	var want [][]string
	if err := json.Unmarshal([]byte(out.Stdout), &want); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	c, err := Dial(ctx, oracle.StartPMCD(t, oracle.Config{}).Unix)
	if err != nil {
		t.Fatal(err)
	}
	g, err := NewFetchGroup(c)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	items, errs := make([]*GroupEvents, len(reqs)), make([]error, len(reqs))
	for i, r := range reqs {
		items[i], errs[i] = g.AddEvents(ctx, GroupMetric{Metric: r.Metric, Instance: r.Inst, Type: r.Type}, r.Field)
	}
	values := 0
	for n := range fetches {
		if err := g.Fetch(ctx); err != nil {
			t.Fatal(err)
		}
		for i, r := range reqs {
			got := []string{}
			if errs[i] != nil {
				got = append(got, status(errs[i]))
			} else if items[i].Err != nil {
				got = append(got, fmt.Sprintf("all %d", pcp.Code(items[i].Err)))
			}
			for k := 0; errs[i] == nil && k < len(items[i].Records); k++ {
				v := items[i].Records[k]
				s := v.Value.String()
				switch {
				case v.Err != nil:
					s = fmt.Sprintf("error %d", pcp.Code(v.Err))
				case v.Value.Type() == pcp.TypeString:
					s = string(v.Value.Bytes())
				case v.Value.Type() == pcp.TypeDouble:
					s = fmt.Sprintf("%.6g", v.Value.Double())
				}
				got = append(got, s)
				values++
			}
			if diff := cmp.Diff(want[n*len(reqs)+i], got); diff != "" {
				t.Errorf("fetch %d, %+v (-want +got):\n%s", n, r, diff)
			}
		}
	}
	if values < 20 {
		t.Errorf("only %d values were compared", values)
	}
}
