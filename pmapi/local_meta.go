package pmapi

import (
	"context"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/hostlabels"
	"github.com/go-pcp/pcp/wire"
)

func (l *local) descs(ctx context.Context, ids []pcp.PMID, descs []pcp.Desc) error {
	var first error
	for i, id := range ids {
		a, err := l.agent(id.Domain())
		if err == nil {
			var desc pcp.Desc
			desc, err = askLocal(ctx, l, a, func(ctx context.Context) (pcp.Desc, error) {
				return a.run.Desc(ctx, l.client, id)
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
	text, err := askLocal(ctx, l, a, func(ctx context.Context) (string, error) {
		return a.run.Text(ctx, l.client, ident, kind)
	})
	// An agent has no text about unknown metrics and domains (pmdaText(3)).
	if code := pcp.Code(err); code == pcp.ErrPMID || code == pcp.ErrInDom {
		err = pcp.ErrText
	}
	return text, err
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
	profile := p.selection()
	return askLocal(ctx, l, a, func(ctx context.Context) ([]pcp.LabelSet, error) {
		return a.run.Labels(ctx, l.client, ident, kind, profile)
	})
}

// contextLabels are those of this host, of the site and of the user.
func (l *local) contextLabels(ctx context.Context) ([]pcp.LabelSet, error) {
	if err := l.begin(ctx); err != nil {
		return nil, err
	}
	attrs := l.client.Attrs
	site := hostlabels.ReadSite(l.set.opts.LabelsDir, l.set.opts.Log)
	set, err := hostlabels.Context(hostlabels.ReadHost(l.set.opts.HostRoot), site, "", attrs[wire.AttrUserID], attrs[wire.AttrGroupID])
	if err != nil {
		return nil, err
	}
	return []pcp.LabelSet{set}, nil
}

func (l *local) instances(ctx context.Context, indom pcp.InDom, inst int32, name string) ([]pcp.Instance, error) {
	a, err := l.agent(indom.Domain())
	if err != nil {
		return nil, err
	}
	return askLocal(ctx, l, a, func(ctx context.Context) ([]pcp.Instance, error) {
		return a.run.Instances(ctx, l.client, indom, inst, name)
	})
}
