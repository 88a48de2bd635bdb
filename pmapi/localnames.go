package pmapi

import (
	"context"
	"errors"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmns"
)

// The name space of a local context is a tree, that of its agents or one from
// UseNameSpace, and below the dynamic roots of the tree what agents say.

func (l *local) lookupNames(ctx context.Context, names []string, ids []pcp.PMID) error {
	t, err := l.set.names()
	if err != nil {
		return err
	}
	return l.lookupIn(ctx, t, names, ids)
}

func (l *local) names(ctx context.Context, id pcp.PMID) ([]string, error) {
	t, err := l.set.names()
	if err != nil {
		return nil, err
	}
	return l.namesIn(ctx, t, id)
}

func (l *local) children(ctx context.Context, name string) ([]pmns.Child, error) {
	t, err := l.set.names()
	if err != nil {
		return nil, err
	}
	return l.childrenIn(ctx, t, name)
}

func (l *local) leaves(ctx context.Context, name string) ([]string, error) {
	t, err := l.set.names()
	if err != nil {
		return nil, err
	}
	return l.leavesIn(ctx, t, name)
}

func (l *local) lookupIn(ctx context.Context, t *pmns.Tree, names []string, ids []pcp.PMID) error {
	if err := l.begin(ctx); err != nil {
		return err
	}
	var first error
	for i, name := range names {
		id, err := l.lookupOne(ctx, t, name)
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

func (l *local) lookupOne(ctx context.Context, t *pmns.Tree, name string) (pcp.PMID, error) {
	id, err := t.Lookup(name)
	domain, dynamic := t.DynamicRoot(name)
	switch {
	case !dynamic:
		return id, err
	case errors.Is(err, pcp.ErrNonLeaf):
		// To the C library the root itself is a leaf (pmns.c: pmLookupName_ctx).
		return pcp.DynamicRoot(domain), nil
	}
	a, err := l.agent(domain)
	if err != nil {
		return pcp.PMIDNull, err
	}
	if a.namer == nil {
		if a.tree == nil {
			return pcp.PMIDNull, pcp.ErrName
		}
		return a.tree.Lookup(name)
	}
	err = l.ask(ctx, a, func(ctx context.Context) (err error) {
		id, err = a.namer.LookupName(ctx, name)
		return err
	})
	if err != nil {
		return pcp.PMIDNull, err
	}
	return id, nil
}

func (l *local) namesIn(ctx context.Context, t *pmns.Tree, id pcp.PMID) ([]string, error) {
	if err := l.begin(ctx); err != nil {
		return nil, err
	}
	if id.IsDynamicRoot() {
		return nil, pcp.ErrPMID
	}
	if names, err := t.Names(id); err == nil {
		return names, nil
	}
	a, err := l.agent(id.Domain())
	if err != nil {
		return nil, err
	}
	if a.namer == nil {
		return nil, pcp.ErrPMID
	}
	var names []string
	err = l.ask(ctx, a, func(ctx context.Context) (err error) {
		names, err = a.namer.Names(ctx, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return names, nil
}

func (l *local) childrenIn(ctx context.Context, t *pmns.Tree, name string) ([]pmns.Child, error) {
	if err := l.begin(ctx); err != nil {
		return nil, err
	}
	domain, dynamic := t.DynamicRoot(name)
	if !dynamic {
		return t.Children(name)
	}
	a, err := l.agent(domain)
	if err != nil {
		return nil, err
	}
	if a.namer == nil {
		if a.tree == nil {
			return nil, pcp.ErrName
		}
		return a.tree.Children(name)
	}
	var list []pmns.Child
	err = l.ask(ctx, a, func(ctx context.Context) (err error) {
		list, err = a.namer.Children(ctx, name, false)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// leavesIn returns with an error what was found before. As with the C library
// a node whose agent knows nothing below it is a leaf.
func (l *local) leavesIn(ctx context.Context, t *pmns.Tree, name string) ([]string, error) {
	var names []string
	var expand func(name string) error
	expand = func(name string) error {
		children, err := l.childrenIn(ctx, t, name)
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
	if err := l.begin(ctx); err != nil {
		return nil, err
	}
	if _, dynamic := t.DynamicRoot(name); dynamic {
		err := expand(name)
		return names, err
	}
	var failed error
	err := t.Walk(name, func(name string, id pcp.PMID) bool {
		if id.IsDynamicRoot() {
			failed = expand(name)
		} else {
			names = append(names, name)
		}
		return failed == nil
	})
	if err == nil {
		err = failed
	}
	return names, err
}
