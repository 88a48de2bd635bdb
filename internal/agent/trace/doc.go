// Package trace is the agent to which programs report their transactions: by package trace, or in C by
// libpcp_trace. It listens on its own port and serves the reports by tag: trace.transact, trace.point,
// trace.observe and trace.counter.
//
//	rules := new(access.Rules) // all hosts
//	a, err := trace.New(trace.Config{Address: "localhost:4323", Access: rules})
//	if err != nil { ... }
//	defer a.Close()
//
// Counts, totals and the last values are kept forever. Rates, averages and extrema are those of a rolling window: a period
// of 60 seconds that is divided into 5 buckets. They change once per bucket, which must be complete before it counts. A
// tag without reports for a period lacks these values.
//
// Names, numbers and meanings are those of the C agent. Differences: a tag can have 254 bytes where the
// C agent closes the connection at more than 124; a record that cannot be read gets an answer with the reason before
// the connection is closed; the numbers of tags and connections are limited.
package trace
