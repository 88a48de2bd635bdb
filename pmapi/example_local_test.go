package pmapi_test

import (
	"context"
	"fmt"
	"log"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmda"
)

// A program, or the test of an agent, asks agents that it has itself.
func ExampleOpenLocal() {
	rooms := &pmda.InDom{Serial: 1, Instances: []pcp.Instance{{Inst: 0, Name: "kitchen"}, {Inst: 1, Name: "hall"}}}
	degrees := []float64{21.5, 18}
	agent, err := pmda.NewTable(pmda.Config{
		Name:   "house",
		Domain: 400,
		Metrics: []pmda.Metric{{
			Name: "house.temperature", Type: pcp.TypeDouble, Sem: pcp.SemInstant, InDom: rooms,
			OneLine: "degrees Celsius",
			Value: func(inst int32, _ int) (pcp.Value, error) {
				return pcp.DoubleValue(degrees[inst]), nil
			},
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	c, err := pmapi.OpenLocal(pmapi.LocalAgent{Name: "house", Domain: 400, Agent: agent})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	for s, err := range c.Values(context.Background(), "house.temperature") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(s.Instance, s.Value.Double())
	}
	// Output:
	// kitchen 21.5
	// hall 18
}
