package pmapi

import (
	"context"
	"fmt"

	"github.com/go-pcp/pcp"
)

// LookupDesc returns the descriptor of a metric (pmLookupDesc(3)), or
// pcp.ErrPMID if its agent does not know it, pcp.ErrNoAgent if there is none.
func (c *Context) LookupDesc(ctx context.Context, id pcp.PMID) (pcp.Desc, error) {
	descs, err := c.LookupDescs(ctx, id)
	if err != nil {
		return pcp.Desc{PMID: pcp.PMIDNull}, err
	}
	return descs[0], nil
}

// LookupDescs returns the descriptors of many metrics in as few requests as
// the collector can do. An unknown metric has PMIDNull; the error is then
// that of the first (pmLookupDescs(3)).
func (c *Context) LookupDescs(ctx context.Context, ids ...pcp.PMID) ([]pcp.Desc, error) {
	if len(ids) == 0 {
		return nil, pcp.ErrTooSmall
	}
	descs := make([]pcp.Desc, len(ids))
	for i := range descs {
		descs[i].PMID = pcp.PMIDNull
	}
	if err := c.lock(ctx); err != nil {
		return nil, err
	}
	defer c.unlock()
	err := c.src.descs(ctx, ids, descs)
	c.types.learn(descs)
	return descs, err
}

// LookupText returns help text of a metric (pmLookupText(3)). If there is no
// long text, the line is returned instead unless kind has pcp.TextDirect. Kind
// is pcp.TextOneLine or pcp.TextHelp. If there is no text, it returns
// pcp.ErrText.
func (c *Context) LookupText(ctx context.Context, id pcp.PMID, kind pcp.TextKind) (string, error) {
	s, err := c.text(ctx, uint32(id), kind|pcp.TextPMID)
	if err != nil {
		err = fmt.Errorf("metric %v: %w", id, err)
	}
	return s, err
}

// LookupInDomText returns help text of an instance domain
// (pmLookupInDomText(3)), in everything else as LookupText does.
func (c *Context) LookupInDomText(ctx context.Context, indom pcp.InDom, kind pcp.TextKind) (string, error) {
	s, err := c.text(ctx, uint32(indom), kind|pcp.TextInDom)
	if err != nil {
		err = fmt.Errorf("instance domain %v: %w", indom, err)
	}
	return s, err
}

func (c *Context) text(ctx context.Context, ident uint32, kind pcp.TextKind) (string, error) {
	if err := c.lock(ctx); err != nil {
		return "", err
	}
	defer c.unlock()
	s, err := c.src.text(ctx, ident, kind)
	if (err != nil || s == "") && ctx.Err() == nil && kind&pcp.TextHelp != 0 && kind&pcp.TextDirect == 0 {
		return c.src.text(ctx, ident, kind&^pcp.TextHelp|pcp.TextOneLine)
	}
	return s, err
}

// LookupLabels returns the label sets of a metric, one for each level from
// the context to the item that has labels (pmLookupLabels(3)).
func (c *Context) LookupLabels(ctx context.Context, id pcp.PMID) ([]pcp.LabelSet, error) {
	desc, err := c.LookupDesc(ctx, id)
	if err != nil {
		return nil, err
	}
	var all []pcp.LabelSet
	for _, level := range []struct {
		kind  pcp.LabelFlags
		ident uint32
	}{
		{pcp.LabelContext, uint32(pcp.PMIDNull)},
		{pcp.LabelDomain, uint32(id.Domain())},
		{pcp.LabelInDom, uint32(desc.InDom)},
		{pcp.LabelCluster, uint32(pcp.NewPMID(id.Domain(), id.Cluster(), 0))},
		{pcp.LabelItem, uint32(id)},
	} {
		if level.kind == pcp.LabelInDom && desc.InDom == pcp.InDomNull {
			continue
		}
		sets, err := c.Labels(ctx, level.kind, level.ident)
		if err != nil {
			return nil, err
		}
		all = append(all, sets[:min(1, len(sets))]...)
	}
	return all, nil
}

// Labels returns the label sets of one level; ident is a PMID, InDom or domain,
// depending on kind (pmGetContextLabels(3) and related functions). There is one
// set, with LabelInstances one for each instance, or none. A collector too old to
// know labels is pcp.ErrNoLabels.
func (c *Context) Labels(ctx context.Context, kind pcp.LabelFlags, ident uint32) ([]pcp.LabelSet, error) {
	if err := c.lock(ctx); err != nil {
		return nil, err
	}
	defer c.unlock()
	sets, err := c.src.labels(ctx, c.lendProfile(), kind, ident)
	if err != nil {
		return nil, fmt.Errorf("labels %#x of %#x: %w", uint8(kind), ident, err)
	}
	return sets, nil
}

// GetInDom returns the members of an instance domain in the order of the agent
// (pmGetInDom(3)), or pcp.ErrInDom. The profile does not matter.
func (c *Context) GetInDom(ctx context.Context, indom pcp.InDom) ([]pcp.Instance, error) {
	return c.instances(ctx, indom, pcp.InNull, "", false)
}

// InstanceNames returns the external names of all instances of a domain by
// their numbers, in one request: [Context.NameInDom] for many values.
func (c *Context) InstanceNames(ctx context.Context, indom pcp.InDom) (map[int32]string, error) {
	list, err := c.GetInDom(ctx, indom)
	if err != nil {
		return nil, err
	}
	names := make(map[int32]string, len(list))
	for _, i := range list {
		names[i.Inst] = i.Name
	}
	return names, nil
}

// LookupInDom returns the instance with an external name (pmLookupInDom(3)), or
// pcp.ErrInst. Names match as in pcp.MatchInstance.
func (c *Context) LookupInDom(ctx context.Context, indom pcp.InDom, name string) (int32, error) {
	list, err := c.instances(ctx, indom, pcp.InNull, name, true)
	if err != nil {
		return 0, err
	}
	return list[0].Inst, nil
}

// NameInDom returns the external name of an instance (pmNameInDom(3)), or
// pcp.ErrInst.
func (c *Context) NameInDom(ctx context.Context, indom pcp.InDom, inst int32) (string, error) {
	list, err := c.instances(ctx, indom, inst, "", true)
	if err != nil {
		return "", err
	}
	return list[0].Name, nil
}

func (c *Context) instances(ctx context.Context, indom pcp.InDom, inst int32, name string, one bool) ([]pcp.Instance, error) {
	fail := func(err error) ([]pcp.Instance, error) {
		switch {
		case name != "":
			return nil, fmt.Errorf("instance %q of %v: %w", name, indom, err)
		case one:
			return nil, fmt.Errorf("instance %d of %v: %w", inst, indom, err)
		}
		return nil, fmt.Errorf("instance domain %v: %w", indom, err)
	}
	switch {
	case indom == pcp.InDomNull:
		return fail(pcp.ErrInDom)
	case one && inst == pcp.InNull && name == "":
		return fail(pcp.ErrInst) // to the collector this asks for all
	}
	if err := c.lock(ctx); err != nil {
		return nil, err
	}
	defer c.unlock()
	list, err := c.src.instances(ctx, indom, inst, name)
	if err == nil && one && len(list) == 0 {
		err = pcp.ErrInst
	}
	if err != nil {
		return fail(err)
	}
	return list, nil
}
