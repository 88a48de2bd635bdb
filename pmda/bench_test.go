package pmda_test

import (
	"fmt"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// BenchmarkTableFetch measures what a table adds to the functions that supply
// the values.
func BenchmarkTableFetch(b *testing.B) {
	for _, n := range []int{1, 10, 1000} {
		insts := make([]pcp.Instance, n)
		for i := range insts {
			insts[i].Inst = int32(i)
		}
		table, err := pmda.NewTable(pmda.Config{Domain: domain, Metrics: []pmda.Metric{{
			Type: pcp.TypeU64, InDom: &pmda.InDom{Instances: insts},
			Value: func(_ int32, i int) (pcp.Value, error) { return pcp.Uint64Value(uint64(i)), nil },
		}}})
		if err != nil {
			b.Fatal(err)
		}
		var half pcp.Profile
		for i := 0; i < n; i += 2 {
			if err := half.Add(pcp.NewInDom(domain, 0), int32(i)); err != nil {
				b.Fatal(err)
			}
		}
		for name, profile := range map[string]*pcp.Profile{"all": nil, "half": &half} {
			b.Run(fmt.Sprintf("instances=%d/%s", n, name), func(b *testing.B) {
				b.ReportAllocs()
				req := pmda.FetchRequest{Client: &pmda.Client{}, Profile: profile, PMIDs: ids([2]int{0, 0}), Result: new(pcp.Result)}
				for b.Loop() {
					req.Result.Reset()
					if err := table.Fetch(b.Context(), &req); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
