package trivial

import (
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// Domain is the agent's domain unless a configuration sets another (TRIVIAL).
const Domain = 250

// New returns the agent, to be served under domain.
func New(domain int) (*pmda.Table, error) {
	return pmda.NewTable(pmda.Config{Name: "trivial", Domain: domain, Labels: "{}", Metrics: []pmda.Metric{{
		Name: "trivial.time", Cluster: 0, Item: 0,
		Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: pcp.NewUnits(0, 1, 0, 0, pcp.TimeSec, 0),
		OneLine: "seconds since the epoch",
		Help:    "How many seconds have passed since the start of 1970, UTC.",
		Value: func(int32, int) (pcp.Value, error) {
			return pcp.Uint64Value(uint64(time.Now().Unix())), nil
		},
	}}})
}
