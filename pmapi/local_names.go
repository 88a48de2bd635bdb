package pmapi

import (
	"context"
	"errors"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmns"
)

// The name space of a local context is a tree, that of its agents or one from
// UseNameSpace, and below the dynamic roots of the tree the names of agents.

type localNames struct {
	l    *local
	tree *pmns.Tree
}

func (l *local) namesIn(t *pmns.Tree) nameSpace { return localNames{l, t} }

// own returns the names that are not from UseNameSpace.
func (l *local) own() (localNames, error) {
	t, err := l.set.names()
	return localNames{l, t}, err
}

func (l *local) lookupNames(ctx context.Context, names []string, ids []pcp.PMID) error {
	n, err := l.own()
	if err != nil {
		return err
	}
	return n.lookupNames(ctx, names, ids)
}

func (l *local) names(ctx context.Context, id pcp.PMID) ([]string, error) {
	n, err := l.own()
	if err != nil {
		return nil, err
	}
	return n.names(ctx, id)
}

func (l *local) children(ctx context.Context, name string) ([]pmns.Child, error) {
	n, err := l.own()
	if err != nil {
		return nil, err
	}
	return n.children(ctx, name)
}

func (l *local) leaves(ctx context.Context, name string) ([]string, error) {
	n, err := l.own()
	if err != nil {
		return nil, err
	}
	return n.leaves(ctx, name)
}

func (n localNames) lookupNames(ctx context.Context, names []string, ids []pcp.PMID) error {
	if err := n.l.begin(ctx); err != nil {
		return err
	}
	var first error
	for i, name := range names {
		id, err := n.lookupOne(ctx, name)
		if err != nil {
			id = pcp.PMIDNull
			if first == nil {
				first = nameError(name, err)
			}
			if ctx.Err() != nil {
				return first
			}
		}
		ids[i] = id
	}
	return first
}

func (n localNames) lookupOne(ctx context.Context, name string) (pcp.PMID, error) {
	id, err := n.tree.Lookup(name)
	domain, dynamic := n.tree.DynamicRoot(name)
	switch {
	case !dynamic:
		return id, err
	case errors.Is(err, pcp.ErrNonLeaf):
		// To the C library the root itself is a leaf (pmns.c: pmLookupName_ctx).
		return pcp.DynamicRoot(domain), nil
	}
	a, err := n.l.agent(domain)
	if err != nil {
		return pcp.PMIDNull, err
	}
	id, err = askLocal(ctx, n.l, a, func(ctx context.Context) (pcp.PMID, error) {
		return a.run.LookupName(ctx, n.l.client, name)
	})
	if err != nil {
		return pcp.PMIDNull, err
	}
	return id, nil
}

func (n localNames) names(ctx context.Context, id pcp.PMID) ([]string, error) {
	if err := n.l.begin(ctx); err != nil {
		return nil, err
	}
	if id.IsDynamicRoot() {
		return nil, pcp.ErrPMID
	}
	if names, err := n.tree.Names(id); err == nil {
		return names, nil
	}
	a, err := n.l.agent(id.Domain())
	if err != nil {
		return nil, err
	}
	if !a.run.Dynamic() {
		return nil, pcp.ErrPMID // it does not name its metrics itself
	}
	return askLocal(ctx, n.l, a, func(ctx context.Context) ([]string, error) {
		return a.run.Names(ctx, n.l.client, id)
	})
}

func (n localNames) children(ctx context.Context, name string) ([]pmns.Child, error) {
	if err := n.l.begin(ctx); err != nil {
		return nil, err
	}
	domain, dynamic := n.tree.DynamicRoot(name)
	if !dynamic {
		return n.tree.Children(name)
	}
	a, err := n.l.agent(domain)
	if err != nil {
		return nil, err
	}
	return askLocal(ctx, n.l, a, func(ctx context.Context) ([]pmns.Child, error) {
		return a.run.Children(ctx, n.l.client, name, false)
	})
}

// leaves returns the names found before an error along with it. As with the C
// library a node whose agent knows nothing below it is a leaf.
func (n localNames) leaves(ctx context.Context, name string) ([]string, error) {
	var names []string
	var expand func(name string) error
	expand = func(name string) error {
		children, err := n.children(ctx, name)
		if err != nil {
			return err
		}
		if len(children) == 0 {
			names = append(names, name)
		}
		for _, ch := range children {
			full := name + "." + ch.Name
			switch {
			case len(full) > pmns.MaxName:
				return nameError(full, pcp.ErrTooBig)
			case ch.Leaf:
				names = append(names, full)
			default:
				if err := expand(full); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := n.l.begin(ctx); err != nil {
		return nil, err
	}
	if _, dynamic := n.tree.DynamicRoot(name); dynamic {
		err := expand(name)
		return names, err
	}
	leaves, err := n.tree.Leaves(name)
	if err != nil {
		return nil, err
	}
	for name, id := range leaves {
		if !id.IsDynamicRoot() {
			names = append(names, name)
		} else if err := expand(name); err != nil {
			return names, err
		}
	}
	return names, nil
}
