// Package pmapi is for programs that read metrics: a [Context] reads them from a collector ([Dial]), archives
// ([OpenArchive]) or agents in the process itself ([OpenLocal]), with one set of calls.
//
//	c, err := pmapi.Dial(ctx, "local:")
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	every := pmapi.SampleOptions{Interval: time.Second}
//	for s, err := range c.Samples(ctx, every, "kernel.all.load[1 minute]", "disk.dev.read,rate") {
//		if err != nil {
//			log.Print(err)
//		}
//		for _, v := range s.Values {
//			fmt.Println(v) // kernel.all.load[1 minute] 3.200000e-01
//		}
//	}
//
// The same loop reads an archive. [Context.Values] is one sample without a loop,
// [Poller] has the newest one for many goroutines, a [FetchGroup] fills variables and,
// by [FetchGroup.AddStruct], the fields of a struct. They are built on [Context.Fetch]
// and the calls next to it. A program outside this repository runs
//
//	go get github.com/go-pcp/pcp
//
// or, with a copy of the source that is not published, has the line
//
//	replace github.com/go-pcp/pcp => ../path/to/the/copy
//
// in its go.mod (go mod edit -replace=github.com/go-pcp/pcp=../path/to/the/copy).
//
// # Errors
//
// Errors wrap the status that the C function of the same name returns: compare
// with errors.Is(err, pcp.ErrName), or take it with pcp.Code(err). A metric
// whose values cannot be had does not fail a fetch: its set has the error.
//
// # Lost collectors
//
// A connection that broke, or whose answer did not come in time, stays broken:
// requests return pcp.ErrIPC until [Context.Reconnect] succeeds. The loop of [Context.Samples]
// and a [Poller] reconnect by themselves. Written out, such a loop is:
//
//	for tick := time.Tick(10 * time.Second); ; {
//		select {
//		case <-ctx.Done():
//			return context.Cause(ctx)
//		case <-tick:
//		}
//		_, err := c.FetchInto(ctx, ids, &res)
//		switch {
//		case errors.Is(err, pcp.ErrIPC), errors.Is(err, pcp.ErrTimeout):
//			c.Reconnect(ctx) // fails at once while it is too soon to try again
//		case err != nil:
//			return err
//		default:
//			report(&res)
//		}
//	}
//
// # Concurrency
//
// A context may be used from many goroutines. It has one connection, on which
// one request is under way at a time; goroutines that do not want to wait for
// each other make contexts of their own with [Context.Dup].
package pmapi
