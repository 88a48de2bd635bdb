// App3 traces transactions of many goroutines. They share a client and a tag: each has a
// transaction of its own, that Start returns.
//
//	go run ./examples/guide/app3
//	pminfo -f trace.transact
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/go-pcp/pcp/trace"
)

func main() {
	log.SetFlags(0)
	loops := flag.Int("loops", 10, "how often each worker works")
	pause := flag.Duration("pause", 10*time.Second, "the longest pause")
	flag.Parse()
	if err := run(*loops, *pause); err != nil {
		log.Fatal(err)
	}
}

func run(loops int, pause time.Duration) error {
	t, err := trace.New(trace.Config{State: trace.StateAsync})
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	errs := make([]error, 3)
	for i := range errs {
		wg.Go(func() {
			errs[i] = worker(t, loops, pause)
			fmt.Printf("worker %d finished\n", i)
		})
	}
	wg.Wait()
	// The client is asynchronous: Close sends the rest.
	return errors.Join(errors.Join(errs...), t.Close())
}

func worker(t *trace.Client, loops int, pause time.Duration) error {
	for range loops {
		work, err := t.Start("ptime_sucker")
		if err != nil {
			return err
		}
		time.Sleep(rand.N(pause))
		if err := work.End(); err != nil {
			return err
		}
	}
	return nil
}
