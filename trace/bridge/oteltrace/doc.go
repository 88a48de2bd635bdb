// Package oteltrace is for programs with spans of OpenTelemetry, which it reports to PCP's agent trace as transactions.
//
//	tr, err := trace.New(trace.Config{State: trace.StateAsync})
//	if err != nil { ... }
//	defer tr.Close()
//	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(oteltrace.New(tr, oteltrace.Options{})))
//	defer provider.Shutdown(ctx)
//
// Each span that ends is a transaction whose tag is the name of the span, and which took as long: trace.transact.count
// and the other metrics of the agent then show their number per second, and their duration. Names of spans should be few, as
// tags are: a route and not the path of a request. Options.Tag makes other tags, or leaves spans out.
//
// A span that was marked as failed is a point as well, whose tag is that of the span and ".error"; it is a transaction
// too, unless Options.AbortFailed is set. Spans that are not sampled do not reach a processor: to measure all of them while
// another processor exports some, have the sampler decide RecordOnly.
//
// With an asynchronous client the end of a span takes less than a microsecond more, and never waits.
package oteltrace
