package pmapi

import (
	"context"
	"errors"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmns"
)

// treeNames are the names of a tree, for sources that do not provide names.
type treeNames struct{ tree *pmns.Tree }

func (t treeNames) lookupNames(_ context.Context, names []string, ids []pcp.PMID) error {
	var first error
	for i, name := range names {
		id, err := t.tree.Lookup(name)
		if errors.Is(err, pcp.ErrNonLeaf) {
			// To the C library the root of a dynamic subtree is a leaf of a
			// local name space (pmns.c: pmLookupName_ctx).
			if domain, ok := t.tree.DynamicRoot(name); ok {
				id, err = pcp.DynamicRoot(domain), nil
			}
		}
		if err != nil {
			id = pcp.PMIDNull
			if first == nil {
				first = nameError(name, pcp.Code(err))
			}
		}
		ids[i] = id
	}
	return first
}

func (t treeNames) names(_ context.Context, id pcp.PMID) ([]string, error) {
	if id.IsDynamicRoot() {
		return nil, pcp.ErrPMID
	}
	return t.tree.Names(id)
}

func (t treeNames) children(_ context.Context, name string) ([]pmns.Child, error) {
	children, err := t.tree.Children(name)
	if err != nil {
		if _, ok := t.tree.DynamicRoot(name); ok {
			if _, err := t.tree.Lookup(name); errors.Is(err, pcp.ErrNonLeaf) {
				return nil, nil
			}
		}
	}
	return children, err
}

func (t treeNames) leaves(_ context.Context, name string) ([]string, error) {
	return treeLeaves(t.tree, name)
}

func treeLeaves(t *pmns.Tree, name string) ([]string, error) {
	leaves, err := t.Leaves(name)
	var names []string
	for name := range leaves {
		names = append(names, name)
	}
	return names, err
}
