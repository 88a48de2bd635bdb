package pmapi_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/simple"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/wire"
)

// The load of this machine, each second.
func Example() {
	ctx := context.Background()
	c, err := pmapi.Dial(ctx, "local:")
	if err != nil {
		log.Fatal(err)
	}
	for s, err := range c.Samples(ctx, pmapi.SampleOptions{Interval: time.Second}, "kernel.all.load") {
		if err != nil {
			log.Print(err)
		}
		for _, v := range s.Values {
			fmt.Println(v) // kernel.all.load[1 minute] 3.200000e-01
		}
	}
}

// The loop reads a metric of another machine's collector every ten seconds. When the
// connection is lost, the loop continues and reconnects.
func ExampleDial() {
	ctx := context.Background()
	c, err := pmapi.Dial(ctx, "server.example") // or "local:", "unix:/path", "pcp://host:port"
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ids, err := c.LookupName(ctx, "mem.util.free")
	if err != nil {
		log.Fatal(err)
	}
	desc, err := c.LookupDesc(ctx, ids[0])
	if err != nil {
		log.Fatal(err)
	}
	for range time.Tick(10 * time.Second) {
		res, err := c.Fetch(ctx, ids)
		switch {
		case errors.Is(err, pcp.ErrIPC), errors.Is(err, pcp.ErrTimeout):
			log.Print(err)
			c.Reconnect(ctx) // fails at once while it is too soon to try again
		case err != nil:
			log.Fatal(err)
		default:
			for _, v := range res.Sets[0].Values {
				fmt.Println(res.Time.Time(), ids[0], v.As(desc.Type), desc.Units)
			}
		}
	}
}

// The reason of a failed connection, as the tools print it and in full.
func ExampleDial_refused() {
	_, err := pmapi.Dial(context.Background(), "localhost:1")
	fmt.Println(pcp.Code(err))
	fmt.Println(errors.Is(err, syscall.ECONNREFUSED))
	// Output:
	// Connection refused
	// true
}

// The steps of Values: programs that fetch repeatedly do the first two once. The
// metrics are those of an agent in this process.
func ExampleContext_Fetch() {
	agent, err := simple.New(simple.Config{})
	if err != nil {
		log.Fatal(err)
	}
	c, err := pmapi.OpenLocal(pmapi.LocalAgent{Name: "simple", Domain: simple.Domain, Agent: agent})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	ctx := context.Background()
	ids, err := c.LookupName(ctx, "simple.numfetch", "simple.color")
	if err != nil {
		log.Fatal(err)
	}
	descs, err := c.LookupDescs(ctx, ids...)
	if err != nil {
		log.Fatal(err)
	}
	res, err := c.Fetch(ctx, ids)
	if err != nil {
		log.Fatal(err)
	}
	for i, vs := range res.Sets {
		if vs.Err < 0 {
			fmt.Println(vs.PMID, vs.Err)
			continue
		}
		names := map[int32]string{} // of the instances
		if descs[i].InDom != pcp.InDomNull {
			if names, err = c.InstanceNames(ctx, descs[i].InDom); err != nil {
				log.Fatal(err)
			}
		}
		for _, v := range vs.Values {
			if f, ok := v.As(descs[i].Type).Float64(); ok {
				fmt.Println(vs.PMID, names[v.Inst], f)
			}
		}
	}
	// Output:
	// 253.0.0  1
	// 253.0.1 red 1
	// 253.0.1 green 101
	// 253.0.1 blue 201
}

// One of several names is unknown: the others are found all the same.
func ExampleContext_LookupName() {
	agent, err := simple.New(simple.Config{})
	if err != nil {
		log.Fatal(err)
	}
	c, err := pmapi.OpenLocal(pmapi.LocalAgent{Name: "simple", Domain: simple.Domain, Agent: agent})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ids, err := c.LookupName(context.Background(), "simple.color", "simple", "simple.nope")
	fmt.Println(ids)
	fmt.Println(err)
	// Output:
	// [253.0.1 PM_ID_NULL PM_ID_NULL]
	// simple: Metric name is not a leaf in PMNS; nor can these be had: simple.nope
}

func ExampleParseHostSpec() {
	hs, err := pmapi.ParseHostSpec("pcp://web1:44321,4321@gate?container=shop")
	if err != nil {
		log.Fatal(err)
	}
	name, _ := hs.Attr(wire.AttrContainer)
	fmt.Println(hs.Hosts[0].Name, hs.Hosts[0].Ports, "by way of", hs.Hosts[1].Name, "container", name)
	fmt.Println(hs)

	_, err = pmapi.ParseHostSpec("web1:http")
	var bad *pmapi.SpecError
	if errors.As(err, &bad) {
		fmt.Print(bad.Detail())
	}
	// Output:
	// web1 [44321 4321] by way of gate container shop
	// pcp://web1:44321,4321@gate?container=shop
	// web1:http
	//      ^ -- non-numeric port
}

func ExampleParseMetricSpec() {
	ms, err := pmapi.ParseMetricSpec(`web1:kernel.all.load["1 minute", "5 minute"]`, pmapi.SourceHost, "localhost")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s %s %q\n", ms.Source, ms.Metric, ms.Insts)
	// Output: web1 kernel.all.load ["1 minute" "5 minute"]
}

// A fetch fills the fields of a struct. The metrics are those of an agent in this process.
func ExampleFetchGroup_AddStruct() {
	agent, err := simple.New(simple.Config{})
	if err != nil {
		log.Fatal(err)
	}
	c, err := pmapi.OpenLocal(pmapi.LocalAgent{Name: "simple", Domain: simple.Domain, Agent: agent})
	if err != nil {
		log.Fatal(err)
	}
	g, err := pmapi.NewFetchGroup(c)
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	var v struct {
		Fetches uint32           `pcp:"simple.numfetch"`
		Colours map[string]int32 `pcp:"simple.color"`
		Reds    *float64         `pcp:"simple.color[red],rate"`
	}
	ctx := context.Background()
	bound, err := g.AddStruct(ctx, &v)
	if err != nil {
		log.Fatal(err)
	}
	if err := g.Fetch(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(v.Fetches, v.Colours, v.Reds)
	for _, missing := range bound.Missing {
		fmt.Println(missing.Field, errors.Is(missing.Err, pcp.ErrAgain)) // a rate takes two fetches
	}
	// Output:
	// 1 map[blue:201 green:101 red:1] <nil>
	// Reds true
}

// One goroutine takes samples, and any number ask for the newest.
func ExamplePoller() {
	agent, err := simple.New(simple.Config{})
	if err != nil {
		log.Fatal(err)
	}
	c, err := pmapi.OpenLocal(pmapi.LocalAgent{Name: "simple", Domain: simple.Domain, Agent: agent})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(context.Background())
	p := c.NewPoller(pmapi.SampleOptions{Interval: time.Minute}, "simple.numfetch")
	var wg sync.WaitGroup
	wg.Go(func() { p.Run(ctx) })
	for range 3 {
		s, age, err := p.Latest(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(s.Values[0], age < time.Minute)
	}
	cancel()
	wg.Wait()
	// Output:
	// simple.numfetch 1 true
	// simple.numfetch 1 true
	// simple.numfetch 1 true
}

// Values in the units and types that the program wants, counters as rates.
func ExampleFetchGroup() {
	ctx := context.Background()
	c, err := pmapi.Dial(ctx, "local:")
	if err != nil {
		log.Fatal(err)
	}
	g, err := pmapi.NewFetchGroup(c)
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	load, err := g.Add(ctx, pmapi.GroupMetric{Metric: "kernel.all.load", Instance: "1 minute", Type: pcp.TypeDouble})
	if err != nil {
		log.Fatal(err)
	}
	free, err := g.Add(ctx, pmapi.GroupMetric{Metric: "mem.util.free", Scale: "Mbyte", Type: pcp.TypeDouble})
	if err != nil {
		log.Fatal(err)
	}
	switches, err := g.Add(ctx, pmapi.GroupMetric{Metric: "kernel.all.pswitch", Type: pcp.TypeU64})
	if err != nil {
		log.Fatal(err)
	}
	for range time.Tick(time.Second) {
		if err := g.Fetch(ctx); err != nil {
			log.Fatal(err)
		}
		if switches.Err != nil { // a rate takes two fetches
			continue
		}
		fmt.Printf("load %.2f, %.0f Mbyte free, %d context switches a second\n",
			load.Value.Double(), free.Value.Double(), switches.Value.Uint64())
	}
}
