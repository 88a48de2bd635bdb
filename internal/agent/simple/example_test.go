package simple_test

import (
	"context"
	"fmt"

	"github.com/go-pcp/pcp/internal/agent/simple"
)

func Example() {
	a, err := simple.New(simple.Config{Path: "testdata/no.conf"})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	color, err := a.NameSpace().Lookup("simple.color")
	if err != nil {
		fmt.Println(err)
		return
	}
	desc, err := a.Desc(ctx, color)
	if err != nil {
		fmt.Println(err)
		return
	}
	insts, err := a.Instances(ctx, desc.InDom)
	fmt.Println(color, desc.InDom, insts, err)
	// Output: 253.0.1 253.0 [{0 red} {1 green} {2 blue}] <nil>
}
