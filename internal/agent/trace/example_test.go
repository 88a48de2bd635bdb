package trace_test

import (
	"context"
	"fmt"
	"net"

	"github.com/go-pcp/pcp"
	agent "github.com/go-pcp/pcp/internal/agent/trace"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/trace"
)

// A program that contains the agent and reports to it.
func Example() {
	a, err := agent.New(agent.Config{Address: "127.0.0.1:0"}) // any port
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()

	addr := a.Addr().(*net.TCPAddr)
	tr, err := trace.New(trace.Config{Host: addr.IP.String(), Port: addr.Port})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tr.Close()
	for range 3 {
		if err := tr.Point("breakfast"); err != nil {
			fmt.Println(err)
			return
		}
	}

	id, err := a.NameSpace().Lookup("trace.point.count")
	if err != nil {
		fmt.Println(err)
		return
	}
	req := &pmda.FetchRequest{Client: new(pmda.Client), PMIDs: []pcp.PMID{id}, Result: new(pcp.Result)}
	if _, err := pmda.NewRunner(a, pmda.RunnerOptions{}).Fetch(context.Background(), req); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(id, req.Result.Sets[0].Values[0].Uint64())
	// Output: 10.0.6 3
}
