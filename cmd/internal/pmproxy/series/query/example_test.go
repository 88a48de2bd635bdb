package query_test

import (
	"context"
	"fmt"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/query"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/seriestest"
)

func Example() {
	store := seriestest.New() // a server has archives here
	id := store.AddMetric("kernel.all.pswitch", pcp.Desc{
		PMID: pcp.NewPMID(60, 0, 13), Type: pcp.TypeU64, InDom: pcp.InDomNull, Sem: pcp.SemCounter, Units: pcp.Units{DimCount: 1},
	}, `{"hostname":"h"}`, "h")
	for n := range uint64(3) {
		store.Append(id, pcp.Timestamp{Sec: 1000 + int64(n)*10}, series.InstValue{Value: pcp.Uint64Value(500 * n * n)})
	}

	e := query.Engine{Store: store}
	r, err := e.Query(context.Background(), `rate(kernel.all.pswitch{hostname == "h"}[start: 1000])`, false)
	if err != nil {
		fmt.Println(err)
		return
	}
	for v, err := range r.Values() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(v.Time.Sec, string(v.Text))
	}
	// Output:
	// 1010 50.000000
	// 1020 150.000000
}

func ExampleParse() {
	_, err := query.Parse("rate(kernel.all.load", time.Now(), nil)
	fmt.Print(err)
	// Output:
	// cannot parse given string
	//
	// rate(kernel.all.load
	//                    ^ -- syntax error
}
