// Package pmda is for authors of agents. An agent supplies a collector with the metrics of one domain. It is a Go
// value with a small interface, [Agent], and optional ones found by type assertion; most are made by [NewTable] from
// rows of metrics with a function for the value of each:
//
//	table, err := pmda.NewTable(pmda.Config{
//		Name: "clock", Domain: 400,
//		Metrics: []pmda.Metric{{
//			Name: "clock.time", Type: pcp.TypeU64, Sem: pcp.SemCounter,
//			Value: func(int32, int) (pcp.Value, error) {
//				return pcp.Uint64Value(uint64(time.Now().Unix())), nil
//			},
//		}},
//	})
//
// The same value runs inside the collector and, by [Serve] or as a whole
// program by [Daemon], at the end of a pipe or socket of any collector, the C
// one included.
//
// Calls come one at a time. An agent must not block: a collector waits a few
// seconds for an answer and then gives the agent up. An agent with a slower
// source reads it in the background, by a [Snapshot].
package pmda
