// Trivial is the shortest agent with C's name: it has one metric, the seconds since 1970. A line of
// pmcd.conf, and one of the name space:
//
//	trivial 250 pipe binary /path/to/trivial -d 250
//	trivial 250:*:*
package main

import (
	"log/slog"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

func main() {
	d := &pmda.Daemon{Name: "pmdatrivial", Domain: 250, New: newAgent}
	d.Main()
}

func newAgent(domain int, log *slog.Logger) (pmda.Agent, error) {
	return pmda.NewTable(pmda.Config{Name: "trivial", Domain: domain, Log: log, Labels: "{}", Metrics: []pmda.Metric{{
		Name: "trivial.time", Cluster: 0, Item: 0,
		Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: pcp.NewUnits(0, 1, 0, 0, pcp.TimeSec, 0),
		OneLine: "seconds since 1970", Help: "The clock of the host, in seconds since 1 January 1970.",
		Value: func(int32, int) (pcp.Value, error) { return pcp.Uint64Value(uint64(time.Now().Unix())), nil },
	}}})
}
