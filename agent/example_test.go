package agent_test

import (
	"context"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/agent"
	"github.com/go-pcp/pcp/agent/builtin"
)

func Example() {
	b, ok := agent.Named("trivial")
	if !ok {
		return
	}
	a, err := b.Open(builtin.Env{Domain: 400}) // 0 is the agent's own
	if err != nil {
		fmt.Println(err)
		return
	}
	desc, err := a.Desc(context.Background(), pcp.NewPMID(400, 0, 0))
	fmt.Println(b.Domain, desc.PMID, desc.Units, err)
	// Output: 250 400.0.0 sec <nil>
}
