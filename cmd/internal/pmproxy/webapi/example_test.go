package webapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/webapi"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmda"
)

// A server for the metrics of an agent in the program itself, and a client.
func Example() {
	answer, err := pmda.NewTable(pmda.Config{Name: "guide", Domain: 400, Metrics: []pmda.Metric{{
		Name: "guide.answer", Type: pcp.TypeU32, Sem: pcp.SemDiscrete,
		OneLine: "the answer",
		Value:   func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(42), nil },
	}}})
	if err != nil {
		log.Fatal(err)
	}
	h, err := webapi.New(webapi.Config{
		// Without this it connects to the collector of this host.
		Open: func(context.Context, string) (*pmapi.Context, error) {
			return pmapi.OpenLocal(pmapi.LocalAgent{Name: "guide", Domain: 400, Agent: answer})
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	srv := httptest.NewServer(h)
	defer srv.Close()

	resp, err := http.Get(srv.URL + "/pmapi/fetch?name=guide.answer")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	var reply struct {
		Values []struct {
			Name      string
			Instances []struct{ Value any }
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.Status, reply.Values[0].Name, reply.Values[0].Instances[0].Value)
	// Output: 200 OK guide.answer 42
}
