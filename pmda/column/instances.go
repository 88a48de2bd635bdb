package column

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// Instances implements pmda.Agent. It reads the sources that list the instances.
func (a *Agent) Instances(ctx context.Context, indom pcp.InDom) ([]pcp.Instance, error) {
	return a.InstancesOver(ctx, indom, nil)
}

// InstancesOver is Instances, but takes the instances of sources with a Scope from
// over, as for [Agent.FetchOver].
func (a *Agent) InstancesOver(ctx context.Context, indom pcp.InDom, over *Agent) ([]pcp.Instance, error) {
	d, err := a.listed(ctx, indom, over)
	if err != nil {
		return nil, err
	}
	insts := make([]pcp.Instance, 0, d.rows())
	for i := range d.rows() {
		insts = append(insts, pcp.Instance{Inst: d.block.insts[i], Name: d.block.names[i]})
	}
	return insts, nil
}

// listed returns an instance domain whose block was just read. Clients that are not
// trusted get an empty one of a restricted source: the names are of the same file as
// the values.
func (a *Agent) listed(ctx context.Context, indom pcp.InDom, over *Agent) (*InDom, error) {
	d := a.indom(indom)
	if d == nil {
		return nil, fmt.Errorf("%s: instance domain %v: %w", a.cfg.Name, indom, pcp.ErrInDom)
	}
	source := d.block.source
	if source.Restricted {
		client, _ := pmda.ClientFrom(ctx)
		if !a.trusts(client) {
			return &InDom{Serial: d.Serial}, nil
		}
	}
	if over != nil && source.Scope != 0 {
		return over.indom(indom), nil
	}
	clear(a.scratch)
	a.scratch[source.number] = true
	a.read(a.scratch)
	return d, nil
}

// rows returns how many instances there are.
func (d *InDom) rows() int {
	if d.block == nil {
		return 0
	}
	return d.block.Rows()
}

// Labels implements pmda.Labeler. The domain has the label agent, with the name.
func (a *Agent) Labels(ctx context.Context, ident uint32, kind pcp.LabelFlags) ([]pcp.LabelSet, error) {
	return a.LabelsOver(ctx, ident, kind, nil)
}

// LabelsOver is Labels, but takes the labels of sources with a Scope from over, as
// for [Agent.FetchOver].
func (a *Agent) LabelsOver(ctx context.Context, ident uint32, kind pcp.LabelFlags, over *Agent) ([]pcp.LabelSet, error) {
	switch kind.Level() {
	case pcp.LabelDomain:
		return a.labelSet(`{"agent":"`+a.cfg.Name+`"}`, kind)
	case pcp.LabelInDom:
		if d := a.indom(pcp.InDom(ident)); d != nil && d.Labels != "" {
			return a.labelSet(d.Labels, kind)
		}
	case pcp.LabelItem:
		if m := a.metric(pcp.PMID(ident)); m != nil && m.Labels != "" {
			return a.labelSet(m.Labels, kind)
		}
	case pcp.LabelInstances:
		d, err := a.listed(ctx, pcp.InDom(ident), over)
		if err != nil {
			return nil, nil // an unknown domain has no labels
		}
		return a.instanceLabels(d, kind)
	}
	return nil, nil
}

func (a *Agent) labelSet(text string, kind pcp.LabelFlags) ([]pcp.LabelSet, error) {
	set, err := pcp.ParseLabels(text, kind.Level())
	if err != nil {
		return nil, fmt.Errorf("%s: labels %s: %w", a.cfg.Name, text, err)
	}
	set.Inst = pcp.InNull
	return []pcp.LabelSet{set}, nil
}

// instanceLabels returns a set for each instance, an empty one where the instances of
// a domain have no labels.
func (a *Agent) instanceLabels(d *InDom, kind pcp.LabelFlags) ([]pcp.LabelSet, error) {
	sets := make([]pcp.LabelSet, d.rows())
	for i := range sets {
		inst, name := d.block.insts[i], d.block.names[i]
		if d.InstanceLabels != nil {
			var text strings.Builder
			enc := json.NewEncoder(&text) // sorts the names
			enc.SetEscapeHTML(false)
			err := enc.Encode(d.InstanceLabels(inst, name))
			if err == nil {
				sets[i], err = pcp.ParseLabels(text.String(), kind.Level())
			}
			if err != nil {
				return nil, fmt.Errorf("%s: labels of instance %s of domain %d: %w", a.cfg.Name, name, d.Serial, err)
			}
		}
		sets[i].Inst = inst
	}
	return sets, nil
}
