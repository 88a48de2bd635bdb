package mmv_test

import (
	"context"
	"fmt"
	"os"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/mmv"
	file "github.com/go-pcp/pcp/mmv"
	"github.com/go-pcp/pcp/pmda"
)

func Example() {
	dir, err := os.MkdirTemp("", "mmv")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	// A program counts.
	reg, err := file.New("shop", file.Options{Dir: dir, Cluster: 5})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer reg.Close()
	reg.CounterVec(file.Metric{Name: "sold"}).With("Anvils").Add(3)

	// The agent serves the program's counts.
	ctx := context.Background()
	a, err := mmv.New(mmv.Config{Dirs: []string{dir}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()
	id, err := a.LookupName(ctx, "mmv.shop.sold")
	if err != nil {
		fmt.Println(err)
		return
	}
	ids := []pcp.PMID{id}
	if err := a.Refresh(ctx, ids); err != nil { // reads the file
		fmt.Println(err)
		return
	}
	res := new(pcp.Result)
	if err := a.Fetch(ctx, &pmda.FetchRequest{Client: &pmda.Client{}, PMIDs: ids, Result: res}); err != nil { // copies
		fmt.Println(err)
		return
	}
	desc, _ := a.Desc(ctx, id)
	for _, v := range res.Sets[0].Values {
		name, _ := a.InstanceName(ctx, desc.InDom, v.Inst)
		fmt.Println(id, name, v)
	}
	// Output:
	// 70.5.1 Anvils 3
}
