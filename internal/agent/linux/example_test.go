package linux_test

import (
	"context"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/linux"
	"github.com/go-pcp/pcp/pmda"
)

func Example() {
	ctx := context.Background()
	a := linux.New(linux.Config{Root: "testdata/old"}) // "" is this machine

	id, err := a.NameSpace().Lookup("disk.dev.read")
	if err != nil {
		fmt.Println(err)
		return
	}
	ids := []pcp.PMID{id}
	if err := a.Refresh(ctx, ids); err != nil { // reads the files
		fmt.Println(err)
		return
	}
	res := new(pcp.Result)
	if err := a.Fetch(ctx, &pmda.FetchRequest{Client: &pmda.Client{}, PMIDs: ids, Result: res}); err != nil { // copies
		fmt.Println(err)
		return
	}
	for _, v := range res.Sets[0].Values {
		fmt.Println(id, v.Inst, v)
	}
	// Output:
	// 60.0.4 0 100
	// 60.0.4 1 1
}
