package sample

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// ghosts are instances, metrics and names that can be made to appear.
type ghosts struct {
	visible int32 // number of ghosts; negative: without names
	state   int   // 0 to 23, one more with each fetch
}

var ghostNames = []string{"Obambo", "Banjhakri", "Mogwai", "Pocong", "Hitodama", "Krahang", "Zmeu", "Duppy"}

var ghostOrigins = []string{"Africa", "Nepal", "China", "Indonesia", "Japan", "Thailand", "Roumania", "Jamaica"}

func ghostInstances() []pcp.Instance {
	list := make([]pcp.Instance, len(ghostNames))
	for i, name := range ghostNames {
		list[i] = pcp.Instance{Inst: int32(i + 1), Name: name}
	}
	return list
}

func (g *ghosts) list() []pcp.Instance {
	return ghostInstances()[:min(max(int(g.visible), 0), len(ghostNames))]
}

// isGhost reports whether an identifier of the agent is a metric that can be made
// to appear.
func isGhost(id pcp.PMID) bool {
	return id.Cluster() == 0 && id.Item() >= itemGhostOrigin && id.Item() <= itemGhostState
}

// oscillates returns 1 or 0: the first two change with each fetch, the next
// two with every second, and so on, and of each two one is the opposite.
func (g *ghosts) oscillates(inst int32) uint32 {
	if inst > 7 {
		return 0
	}
	hold := int(inst+1) / 2
	up := g.state%(2*hold) < hold
	if up == (inst%2 == 1) {
		return 1
	}
	return 0
}

func (a *Agent) ghostRows() []row {
	g := &a.ghosts
	// seen returns an error while the metrics are hidden.
	seen := func(value func(inst int32) pcp.Value) func(int32, int) (pcp.Value, error) {
		return func(inst int32, _ int) (pcp.Value, error) { return value(inst), nil }
	}
	return []row{{Metric: pmda.Metric{
		Item: 1008, Type: pcp.Type32, Sem: pcp.SemInstant, Units: count,
		OneLine: "how many ghosts can be seen",
		Help: `-1 at first: the metrics of ghosts are not there. A store of 0 makes them appear,
of 1 to 8 their instances, too.`,
		Value: get32(&g.visible),
	}, set: func(v pcp.Value) error {
		g.visible = min(v.Int32(), int32(len(ghostNames)))
		g.state = 23
		return nil
	}}, {Metric: pmda.Metric{
		Item: itemGhostOrigin, Type: pcp.TypeString, Sem: pcp.SemDiscrete, InDom: a.dom.ghosts,
		OneLine: "where a ghost comes from",
		Value:   seen(func(inst int32) pcp.Value { return pcp.StringValue(ghostOrigins[inst-1]) }),
	}}, {Metric: pmda.Metric{
		Item: itemGhostKarma, Type: pcp.TypeU32, Sem: pcp.SemInstant, InDom: a.dom.ghosts,
		OneLine: "karma of a ghost",
		Help:    "The length of its name.",
		Value:   seen(func(inst int32) pcp.Value { return pcp.Uint32Value(uint32(len(ghostNames[inst-1]))) }),
	}}, {Metric: pmda.Metric{
		Item: itemGhostState, Type: pcp.TypeU32, Sem: pcp.SemInstant, InDom: a.dom.ghosts,
		OneLine: "state of a ghost, 0 or 1",
		Help: `Oscillates: 1 and 2 change with each fetch, 3 and 4 with every second, 5 and 6 with
every third, 7 with every fourth; 8 stays 0. In each pair the two are opposite.`,
		Value: seen(func(inst int32) pcp.Value { return pcp.Uint32Value(g.oscillates(inst)) }),
	}}}
}
