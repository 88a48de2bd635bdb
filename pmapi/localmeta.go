package pmapi

import (
	"context"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/hostlabels"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

func (l *local) descs(ctx context.Context, ids []pcp.PMID, descs []pcp.Desc) error {
	var first error
	for i, id := range ids {
		a, err := l.agent(id.Domain())
		if err == nil {
			var desc pcp.Desc
			err = l.ask(ctx, a, func(ctx context.Context) (err error) {
				desc, err = a.Agent.Desc(ctx, id)
				return err
			})
			if err == nil {
				descs[i] = desc
			}
		}
		if err == nil {
			continue
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil || l.begin(ctx) != nil {
			break
		}
	}
	return first
}

func (l *local) text(ctx context.Context, ident uint32, kind pcp.TextKind) (string, error) {
	a, err := l.agent(pcp.PMID(ident).Domain()) // instance domains have theirs in the same place
	if err != nil {
		return "", err
	}
	if a.texter == nil {
		return "", pcp.ErrText
	}
	var text string
	err = l.ask(ctx, a, func(ctx context.Context) (err error) {
		text, err = a.texter.Text(ctx, ident, kind)
		// Of what it does not have an agent has no text (pmdaText(3)).
		if code := pcp.Code(err); code == pcp.ErrPMID || code == pcp.ErrInDom {
			err = pcp.ErrText
		}
		return err
	})
	if err != nil {
		return "", err
	}
	return text, nil
}

// labels are in the order of the agent. Those of instances are of the profile's.
func (l *local) labels(ctx context.Context, p profile, kind pcp.LabelFlags, ident uint32) ([]pcp.LabelSet, error) {
	level := kind.Level()
	if level == pcp.LabelContext {
		return l.contextLabels(ctx)
	}
	domain := pcp.PMID(ident).Domain()
	if level == pcp.LabelDomain {
		domain = int(ident)
	}
	a, err := l.agent(domain)
	if err != nil {
		return nil, err
	}
	if a.labeler == nil {
		if level != pcp.LabelDomain {
			return nil, nil
		}
		set, err := pcp.StringLabels(pcp.LabelDomain, "agent", a.Name)
		if err != nil {
			return nil, err
		}
		return []pcp.LabelSet{set}, nil
	}
	var sets []pcp.LabelSet
	err = l.ask(ctx, a, func(ctx context.Context) error {
		all, err := a.labeler.Labels(ctx, ident, kind)
		sets = slices.Clone(all)
		return err
	})
	if err != nil {
		return nil, err
	}
	if level != pcp.LabelInstances {
		return sets[:min(1, len(sets))], nil
	}
	if p := p.selection(); p != nil {
		only := p.InDom(pcp.InDom(ident))
		sets = slices.DeleteFunc(sets, func(s pcp.LabelSet) bool { return !only.Includes(s.Inst) })
	}
	return sets, nil
}

// contextLabels are those of this host, of the site and of the user.
func (l *local) contextLabels(ctx context.Context) ([]pcp.LabelSet, error) {
	if err := l.begin(ctx); err != nil {
		return nil, err
	}
	attrs := l.client.Attrs
	site := hostlabels.ReadSite(l.set.opts.LabelsDir, l.set.opts.Log)
	set, err := hostlabels.Context(hostlabels.ReadHost(), site, "", attrs[wire.AttrUserID], attrs[wire.AttrGroupID])
	if err != nil {
		return nil, err
	}
	return []pcp.LabelSet{set}, nil
}

// instances answers as pmdaInstance does: of one that was asked for by name or
// by number it tells the other half alone.
func (l *local) instances(ctx context.Context, indom pcp.InDom, inst int32, name string) ([]pcp.Instance, error) {
	a, err := l.agent(indom.Domain())
	if err != nil {
		return nil, err
	}
	var list []pcp.Instance
	err = l.ask(ctx, a, func(ctx context.Context) error {
		switch {
		case name != "":
			n, err := pmda.LookupInstance(ctx, a.Agent, indom, name)
			list = []pcp.Instance{{Inst: n}}
			return err
		case inst != pcp.InNull:
			full, err := pmda.InstanceName(ctx, a.Agent, indom, inst)
			list = []pcp.Instance{{Inst: pcp.InNull, Name: full}}
			return err
		}
		all, err := a.Agent.Instances(ctx, indom)
		list = slices.Clone(all)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}
