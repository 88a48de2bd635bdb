package builtin_test

import (
	"context"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/pmda"
)

// A greeter is a host with a method for one agent.
type greeter interface{ Greeting() string }

type english struct{}

func (english) Greeting() string { return "good morning" }

// spec is the function that a package of an agent exports as Builtin.
func spec() builtin.Spec {
	return builtin.Spec{Name: "polite", Domain: 400, New: func(e builtin.Env) (pmda.Agent, error) {
		greeting := "hello"
		if h, ok := e.Host.(greeter); ok {
			greeting = h.Greeting()
		}
		return pmda.NewTable(pmda.Config{Name: "polite", Domain: e.Domain, Log: e.Log, Metrics: []pmda.Metric{{
			Name: "polite.greeting", Type: pcp.TypeString, Sem: pcp.SemDiscrete,
			Value: func(int32, int) (pcp.Value, error) { return pcp.StringValue(greeting), nil },
		}}})
	}}
}

func ExampleSpec_Open() {
	for _, env := range []builtin.Env{{}, {Domain: 401, Host: english{}}} {
		a, err := spec().Open(env)
		if err != nil {
			fmt.Println(err)
			return
		}
		id, err := a.(pmda.NameSpacer).NameSpace().Lookup("polite.greeting")
		if err != nil {
			fmt.Println(err)
			return
		}
		req := &pmda.FetchRequest{Client: new(pmda.Client), PMIDs: []pcp.PMID{id}, Result: new(pcp.Result)}
		if err := a.Fetch(context.Background(), req); err != nil {
			fmt.Println(err)
			return
		}
		text, _ := req.Result.Sets[0].Values[0].Text()
		fmt.Println(id, text)
	}
	// Output:
	// 400.0.0 hello
	// 401.0.0 good morning
}
