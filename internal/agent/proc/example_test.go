package proc_test

import (
	"context"
	"fmt"
	"log"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/proc"
	"github.com/go-pcp/pcp/pmda"
)

// The agent can be used without a collector: here it reports the number of processes.
func Example() {
	ctx := context.Background()
	a := proc.New(proc.Config{})
	id, err := a.NameSpace().Lookup("proc.nprocs")
	if err != nil {
		log.Fatal(err)
	}
	req := &pmda.FetchRequest{Client: &pmda.Client{}, PMIDs: []pcp.PMID{id}, Result: new(pcp.Result)}
	if err := a.Fetch(ctx, req); err != nil {
		log.Fatal(err)
	}
	fmt.Println(req.Result.Sets[0].Values[0].Uint32() > 0)
	// Output: true
}
