package pmapi_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"syscall"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/wire"
)

// On a machine with a collector the address is "local:".
func ExampleDial() {
	addr, stop := pmapi.StartDemo()
	defer stop()

	ctx := context.Background()
	c, err := pmapi.Dial(ctx, addr)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	host, err := c.HostName(ctx)
	fmt.Println(host, err)
	// Output: wallaby <nil>
}

// Why a connection failed, as the tools say it and in full.
func ExampleDial_refused() {
	_, err := pmapi.Dial(context.Background(), "localhost:1")
	fmt.Println(pcp.Code(err))
	fmt.Println(errors.Is(err, syscall.ECONNREFUSED))
	// Output:
	// Connection refused
	// true
}

func ExampleContext_Fetch() {
	addr, stop := pmapi.StartDemo()
	defer stop()

	ctx := context.Background()
	c, err := pmapi.Dial(ctx, addr)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	ids, err := c.LookupName(ctx, "demo.load", "demo.name")
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
			if f, ok := v.Float64(); ok {
				fmt.Println(names[v.Inst], f)
			} else if s, ok := v.Text(); ok {
				fmt.Println(s)
			}
		}
	}
	// Output:
	// one 0
	// two 2 0.5
	// three 1
	// wallaby
}

// One of several names is unknown: the others are found all the same.
func ExampleContext_LookupName() {
	addr, stop := pmapi.StartDemo()
	defer stop()

	ctx := context.Background()
	c, err := pmapi.Dial(ctx, addr)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ids, err := c.LookupName(ctx, "demo.count", "demo", "demo.nope")
	fmt.Println(ids)
	fmt.Println(err)
	// Output:
	// [400.0.0 PM_ID_NULL PM_ID_NULL]
	// demo: Metric name is not a leaf in PMNS; nor can these be had: demo.nope
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

// Values in the units and types that the program wants, counters as rates.
func ExampleFetchGroup() {
	addr, stop := pmapi.StartDemo()
	defer stop()

	ctx := context.Background()
	c, err := pmapi.Dial(ctx, addr)
	if err != nil {
		log.Fatal(err)
	}
	g, err := pmapi.NewFetchGroup(c)
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	load, err := g.Add(ctx, pmapi.GroupMetric{Metric: "demo.load", Instance: "three", Type: pcp.TypeDouble})
	if err != nil {
		log.Fatal(err)
	}
	count, err := g.Add(ctx, pmapi.GroupMetric{Metric: "demo.count", Type: pcp.TypeDouble})
	if err != nil {
		log.Fatal(err)
	}
	if err := g.Fetch(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(load.Value.Double())
	fmt.Println(count.Err) // a rate takes two fetches
	// Output:
	// 1
	// Try again. Information not currently available
}
