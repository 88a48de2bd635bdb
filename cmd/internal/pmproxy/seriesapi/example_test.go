package seriesapi_test

import (
	"fmt"
	"net/http/httptest"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/seriestest"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/seriesapi"
)

func Example() {
	store := seriestest.New() // a server has archives here
	id := store.AddMetric("hinv.ncpu", pcp.Desc{PMID: 1, Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemDiscrete}, `{"hostname":"h"}`, "h")
	store.Append(id, pcp.Timestamp{Sec: 1000}, series.InstValue{Value: pcp.Uint32Value(4)})

	h, err := seriesapi.New(seriesapi.Config{Store: store})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/series/query?expr=hinv.ncpu%5Bsamples:1%5D", nil))
	fmt.Print(w.Body)
	// Output: [{"series":"b3eb06e57d159b73daabcc5b59afaedfb8e9b5a1","timestamp":1000000.000,"value":"4"}]
}
