// Package pmapi is the client API: a [Context] reads metrics from a collector,
// archives or agents in the process itself, with one set of calls: see [Dial],
// [OpenArchive] and [OpenLocal].
//
//	c, err := pmapi.Dial(ctx, "local:")
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	ids, err := c.LookupName(ctx, "kernel.all.load")
//	if err != nil {
//		return err
//	}
//	res, err := c.Fetch(ctx, ids)
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
// requests return pcp.ErrIPC until [Context.Reconnect] succeeds. A loop that
// samples for long reads like this:
//
//	for range time.Tick(10 * time.Second) {
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
// one request is under way at a time; those who do not want to wait for each
// other make contexts of their own with [Context.Dup].
package pmapi
