package pmda_test

import (
	"context"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// A valve lets only root turn it. It has the method Attribute because it wants
// to know the users of its clients.
type valve struct {
	*pmda.Table
	open uint32
}

func (*valve) Attribute(context.Context, *pmda.Client, pmda.AttrKey, string) error { return nil }

func (v *valve) turn(client *pmda.Client, _ int32, _ int, to pcp.Value) error {
	if uid, ok := client.UserID(); !ok || uid != 0 {
		return pcp.ErrPermission
	}
	v.open = to.Uint32()
	return nil
}

func ExampleClient_UserID() {
	v := &valve{}
	var err error
	v.Table, err = pmda.NewTable(pmda.Config{Name: "valve", Domain: 400, Metrics: []pmda.Metric{{
		Name: "valve.open", Type: pcp.TypeU32, Sem: pcp.SemDiscrete, OneLine: "percent that the valve is open",
		Value: func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(v.open), nil },
		Store: v.turn,
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, uid := range []string{"1000", "", "0"} {
		client := &pmda.Client{Attrs: map[pmda.AttrKey]string{pmda.AttrUserID: uid}} // as a collector makes it
		var res pcp.Result
		res.AddSet(pcp.NewPMID(400, 0, 0))
		res.Add(pcp.Uint32Value(50))
		fmt.Printf("%q: %v\n", uid, v.Store(context.Background(), client, &res))
	}
	// Output:
	// "1000": No permission to perform requested operation
	// "": No permission to perform requested operation
	// "0": <nil>
}
