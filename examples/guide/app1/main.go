// App1 sends one trace of each kind: two transactions, an observation, a counter and a point.
//
//	go run ./examples/guide/app1
//	pminfo -f trace
package main

import (
	"log"
	"os"
	"time"

	"github.com/go-pcp/pcp/trace"
)

func main() {
	log.SetFlags(0)
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	t, err := trace.New(trace.Config{State: trace.StateAPI | trace.StateComms | trace.StatePDU, Debug: os.Stderr})
	if err != nil {
		return err
	}
	defer t.Close()
	for _, work := range []struct {
		tag  string
		took time.Duration
	}{{"simple", 2 * time.Second}, {"ascanbe", time.Second}} {
		if err := t.Begin(work.tag); err != nil {
			return err
		}
		time.Sleep(work.took)
		if err := t.End(work.tag); err != nil {
			return err
		}
	}
	if err := t.Observe("observe", 101); err != nil {
		return err
	}
	if err := t.Counter("counter", 101.1); err != nil {
		return err
	}
	return t.Point("imouttahere")
}
