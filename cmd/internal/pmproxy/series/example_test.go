package series_test

import (
	"context"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/seriestest"
)

func Example() {
	ctx := context.Background()
	store := seriestest.New() // a server has archives here
	desc := pcp.Desc{PMID: 1, Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemDiscrete}
	id := store.AddMetric("hinv.ncpu", desc, `{"hostname":"h"}`, "/archives/h", "h")
	store.Append(id, pcp.Timestamp{Sec: 1000}, series.InstValue{Value: pcp.Uint32Value(4)})

	list, err := store.Select(ctx, series.Matcher{Field: series.MetricName, Value: "hinv.ncpu"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for sample, err := range store.Values(ctx, list, series.Window{Newest: true, Count: 1}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(sample.Series, sample.Time.Sec, string(series.AppendValue(nil, sample.Values[0].Value, desc.Type)))
	}
	// Output: b3eb06e57d159b73daabcc5b59afaedfb8e9b5a1 1000 4
}
