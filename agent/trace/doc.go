// Package trace is the agent that programs tell their transactions to: by package trace, or in C by libpcp_trace.
// It listens on a port of its own and shows, by tag, what it was told: trace.transact, trace.point,
// trace.observe and trace.counter.
//
//	rules := new(access.Rules) // all hosts
//	a, err := trace.New(trace.Config{Address: "localhost:4323", Access: rules})
//	if err != nil { ... }
//	defer a.Close()
//
// Counts, totals and the last values are there for ever. Rates, averages and extrema are of a rolling window: a period, 60
// seconds, that is divided into buckets, 5. They change once per bucket, which has to be complete before it counts. A
// tag of which nothing has been heard for a period has none.
//
// Names, numbers and meanings are those of the C agent. Differences: a tag can have 254 bytes where the
// C agent closes the connection at more than 124; a record that cannot be read gets an answer that says why before the
// connection is closed; there is a limit to how many tags and connections there are.
package trace
