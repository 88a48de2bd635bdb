package trace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/trace"
)

// quiet is a configuration for examples, which run without an agent.
func quiet() trace.Config {
	return trace.Config{State: trace.StateNoAgent, Config: config.New(func(string) string { return "" })}
}

// A program with one of each: a transaction, an observation, a counter and a point.
func Example() {
	cfg := quiet() // a real program has trace.Config{}
	cfg.State |= trace.StateAPI
	cfg.Debug = os.Stdout
	tr, err := trace.New(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tr.Close()
	for _, err := range []error{
		tr.Observe("queue", 101.5),
		tr.Counter("bytes", 4096),
		tr.Point("done"),
	} {
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// _pmtracecommon: trace tag 'queue' (type=3,value=101.500000)
	// _pmtraceconnect: connecting to PMDA (skipped)
	// _pmtracereconnect: reconnect attempt (skipped)
	// __pmtracesenddata: sending data (skipped)
	// _pmtracegetack: awaiting ack (skipped)
	// _pmtracecommon: trace tag 'bytes' (type=4,value=4096.000000)
	// _pmtraceconnect: connecting to PMDA (skipped)
	// _pmtracereconnect: reconnect attempt (skipped)
	// __pmtracesenddata: sending data (skipped)
	// _pmtracegetack: awaiting ack (skipped)
	// _pmtracecommon: trace tag 'done' (type=2,value=-1.000000)
	// _pmtraceconnect: connecting to PMDA (skipped)
	// _pmtracereconnect: reconnect attempt (skipped)
	// __pmtracesenddata: sending data (skipped)
	// _pmtracegetack: awaiting ack (skipped)
}

// Transactions by tag follow the rules of the C library.
func ExampleClient_Begin() {
	tr, err := trace.New(quiet())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tr.Close()
	fmt.Println(tr.Begin("order"))
	fmt.Println(tr.Begin("order"))
	fmt.Println(tr.End("order"))
	fmt.Println(tr.End("order"))
	fmt.Println(tr.Abort("other"))
	// Output:
	// <nil>
	// Transaction is already in progress - cannot begin
	// <nil>
	// Transaction is not currently in progress - cannot end
	// Transaction tag was not successfully initialised
}

// Many goroutines each have a transaction of the same tag.
func ExampleClient_Start() {
	tr, err := trace.New(quiet())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tr.Close()
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			t, err := tr.Start("work")
			if err != nil {
				return
			}
			defer t.Abort()
			// … work, and return early if it fails …
			t.End()
		})
	}
	wg.Wait()
	fmt.Println("all done")
	// Output: all done
}

// A context carries a transaction to the place where it ends.
func ExampleClient_NewContext() {
	tr, err := trace.New(quiet())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tr.Close()
	ctx, t, err := tr.NewContext(context.Background(), "request")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer t.Abort()
	handle := func(ctx context.Context) error {
		t := trace.FromContext(ctx)
		fmt.Println(t.Tag())
		return t.End()
	}
	fmt.Println(handle(ctx))
	fmt.Println(errors.Is(t.End(), trace.ErrNoProgress))
	// Output:
	// request
	// <nil>
	// true
}
