package trivial_test

import (
	"context"
	"fmt"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/trivial"
	"github.com/go-pcp/pcp/pmda"
)

func Example() {
	a, err := trivial.New(trivial.Domain)
	if err != nil {
		fmt.Println(err)
		return
	}
	id, err := a.NameSpace().Lookup("trivial.time")
	if err != nil {
		fmt.Println(err)
		return
	}
	res := new(pcp.Result)
	err = a.Fetch(context.Background(), &pmda.FetchRequest{Client: new(pmda.Client), PMIDs: []pcp.PMID{id}, Result: res})
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Unix(int64(res.Sets[0].Values[0].Uint32()), 0)
	fmt.Println(id, time.Since(now) < time.Hour)
	// Output: 250.0.0 true
}
