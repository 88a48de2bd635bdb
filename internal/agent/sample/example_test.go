package sample_test

import (
	"context"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/sample"
	"github.com/go-pcp/pcp/pmda"
)

// A test asks the agent as a collector would.
func Example() {
	a, err := sample.New(sample.Config{DynamicPath: "/nowhere"})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	id, err := a.LookupName(ctx, "sample.secret.bar")
	if err != nil {
		panic(err)
	}
	req := &pmda.FetchRequest{Client: &pmda.Client{}, PMIDs: []pcp.PMID{id}, Result: new(pcp.Result)}
	if err := a.Fetch(ctx, req); err != nil {
		panic(err)
	}
	fmt.Println(id, req.Result.Sets[0].Values[0])
	// Output: 29.0.1000 "foo"
}
