package info

import (
	"context"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/report"
	"github.com/go-pcp/pcp/pmapi"
)

// A cache keeps data that many metrics share.
type cache struct {
	// single makes it keep only the last of each kind: in an archive the
	// properties of a domain change with time, and the C tool shows those at
	// the first of successive metrics.
	single  bool
	domains map[pcp.InDom]*domain
	levels  map[labelKey]pcp.LabelSet
	insts   map[pcp.InDom][]pcp.LabelSet
	params  report.Params

	cluster      uint32 // of clusterSet
	clusterKnown bool
	clusterSet   pcp.LabelSet
}

// forgetInstances makes the instances be looked up again: they change.
func (c *cache) forgetInstances() { c.domains, c.insts = nil, nil }

// A domain holds the members of an instance domain, or is empty if they could
// not be looked up.
type domain struct {
	insts []pcp.Instance
	names map[int32]string
}

func (c *cache) instances(ctx context.Context, from *pmapi.Context, indom pcp.InDom) *domain {
	if d := c.domains[indom]; d != nil {
		return d
	}
	d := &domain{}
	if insts, err := from.GetInDom(ctx, indom); err == nil {
		d.insts = insts
		d.names = make(map[int32]string, len(insts))
		for _, inst := range insts {
			d.names[inst.Inst] = inst.Name
		}
	}
	if c.domains == nil || c.single {
		c.domains = map[pcp.InDom]*domain{}
	}
	c.domains[indom] = d
	return d
}

func (d *domain) name(inst int32) (string, bool) {
	name, ok := d.names[inst]
	return name, ok
}
