// Acme is a factory of the Acme Corporation: one machine makes anvils, rockets
// and giant rubber bands in turn, and the other products wait.
//
//	go run ./examples/acme
//	pminfo -m mmv.acme
//	pmval -f2 -s3 mmv.acme.products.time
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/mmv"
)

// Numbers that are the factory's for good: archives know metrics by them.
const (
	cluster       = 321
	productsInDom = 61
)

func main() {
	limit := flag.Duration("for", 0, "how long to work; 0 means until ctrl-C")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *limit > 0 {
		ctx, stop = context.WithTimeout(ctx, *limit)
		defer stop()
	}
	if err := work(ctx); err != nil {
		log.Fatal(err)
	}
}

func work(ctx context.Context) error {
	reg, err := mmv.New("acme", mmv.Options{Cluster: cluster})
	if err != nil {
		return err
	}
	defer reg.Close()

	names := []string{"Anvils", "Rockets", "Giant_Rubber_Bands"}
	products := reg.InDom(mmv.InDomDef{
		Serial: productsInDom, Instances: names,
		OneLine: "What Acme makes",
		Help:    "The products of the Acme Corporation that sell best.",
	})
	micros := pcp.Units{DimTime: 1, ScaleTime: pcp.TimeUsec}
	count := reg.CounterVec(mmv.Metric{
		Name: "products.count", Item: 7, InDom: products,
		OneLine: "Products made",
		Help:    "How many of each product the factory has made since it opened this morning.",
	})
	machine := reg.CounterVec(mmv.Metric{
		Name: "products.time", Item: 8, InDom: products, Units: micros,
		OneLine: "Time the machine spent on each product",
		Help:    "Time the machine spent on each product, without the time before its turn came.",
	})
	queue := reg.CounterVec(mmv.Metric{
		Name: "products.queuetime", Item: 10, InDom: products, Units: micros,
		OneLine: "Time each product waited for the machine",
		Help:    "Time each product waited because the machine was making another one.",
	})
	if err := reg.Err(); err != nil {
		return err
	}
	fmt.Println("The factory is open: pminfo -f mmv.acme. End it with ctrl-C.")

	for {
		product := rand.IntN(len(names))
		took := rand.Uint64N(50000) // microseconds
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Duration(took) * time.Microsecond):
		}
		// With looks instances up by name. Where every nanosecond counts keep
		// its result.
		count.With(names[product]).Inc()
		machine.With(names[product]).Add(took)
		for other, name := range names {
			if other != product {
				queue.With(name).Add(took)
			}
		}
	}
}
