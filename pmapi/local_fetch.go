package pmapi

import (
	"context"
	"slices"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// split splits a fetch into the parts of agents.
func (l *local) split(ids []pcp.PMID) []*localPart {
	n := 0
	l.picks = l.picks[:0]
	for _, id := range ids {
		domain := id.Domain()
		i := slices.IndexFunc(l.parts[:n], func(p *localPart) bool { return p.domain == domain })
		if i < 0 {
			i = n
			n++
			if len(l.parts) < n {
				p := new(localPart)
				p.run = p.fetch
				l.parts = append(l.parts, p)
			}
			p := l.parts[i]
			p.agent, p.domain = l.set.byDomain[domain], domain
			p.ids, p.changes, p.err = p.ids[:0], 0, nil
		}
		p := l.parts[i]
		l.picks = append(l.picks, localPick{i, len(p.ids)})
		p.ids = append(p.ids, id)
	}
	return l.parts[:n]
}

// fetch asks the agents in the order in which their metrics come. Neither the
// agents nor the memory that values point to are shared with the next call:
// there is no need to look at keep.
func (l *local) fetch(ctx context.Context, p profile, ids []pcp.PMID, res *pcp.Result, _ bool) (Changes, error) {
	if err := l.begin(ctx); err != nil {
		return 0, err
	}
	selected := p.selection()
	at := pcp.TimestampOf(time.Now())
	parts := l.split(ids)
	var changes Changes
	for _, p := range parts {
		if p.agent == nil {
			p.err = pcp.ErrNoAgent
			continue
		}
		p.req = pmda.FetchRequest{Client: l.client, Profile: selected, PMIDs: p.ids, Result: &p.res}
		if err := l.call(ctx, p.agent, p.run); err != nil {
			if ctx.Err() != nil || l.begin(ctx) != nil {
				l.parts = nil // the agent may still be at it
				return 0, err
			}
			p.err = err
		}
		changes |= p.changes
	}
	if len(parts) == 1 && parts[0].err == nil {
		// Those that res had are for the next fetch to use.
		*res, parts[0].res = parts[0].res, *res
		res.Time = at
		return changes, nil
	}
	res.Reset()
	res.Time = at
	for i, id := range ids {
		p := parts[l.picks[i].part]
		if p.err != nil {
			res.AddError(id, pcp.Code(p.err))
			continue
		}
		vs := &p.res.Sets[l.picks[i].set]
		res.AddSet(id)
		if len(vs.Values) > 0 {
			copy(res.AddValues(len(vs.Values)), vs.Values)
		}
		to := &res.Sets[len(res.Sets)-1]
		to.Err, to.ValFmt = vs.Err, vs.ValFmt
	}
	return changes, nil
}

func (p *localPart) fetch(ctx context.Context) (err error) {
	p.res.Reset()
	p.changes, err = p.agent.run.Fetch(ctx, &p.req)
	return err
}

// store stores the values of one metric after the other.
func (l *local) store(ctx context.Context, res *pcp.Result) error {
	for i := range res.Sets {
		a, err := l.agent(res.Sets[i].PMID.Domain())
		if err != nil {
			return err
		}
		one := (&pcp.Result{Time: res.Time, Sets: res.Sets[i : i+1]}).Clone()
		err = l.call(ctx, a, func(ctx context.Context) error { return a.run.Store(ctx, l.client, one) })
		if err != nil {
			return err
		}
	}
	return nil
}
