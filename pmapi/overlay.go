package pmapi

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmns"
)

// A named is a source whose names can be taken from elsewhere.
type named struct {
	source
	loaded atomic.Pointer[loadedNames] // nil for the names of the source
}

type loadedNames struct {
	nameSpace
	tree *pmns.Tree
}

// use takes names from t, with nil from the source. It may be called at any time.
func (n *named) use(t *pmns.Tree) {
	if t == nil {
		n.loaded.Store(nil)
		return
	}
	n.loaded.Store(&loadedNames{n.namesIn(t), t})
}

// tree returns the argument of the last call of use.
func (n *named) tree() *pmns.Tree {
	if l := n.loaded.Load(); l != nil {
		return l.tree
	}
	return nil
}

func (n *named) space() nameSpace {
	if l := n.loaded.Load(); l != nil {
		return l
	}
	return n.source
}

func (n *named) lookupNames(ctx context.Context, names []string, ids []pcp.PMID) error {
	return n.space().lookupNames(ctx, names, ids)
}

func (n *named) names(ctx context.Context, id pcp.PMID) ([]string, error) {
	return n.space().names(ctx, id)
}

func (n *named) children(ctx context.Context, name string) ([]pmns.Child, error) {
	return n.space().children(ctx, name)
}

func (n *named) leaves(ctx context.Context, name string) ([]string, error) {
	return n.space().leaves(ctx, name)
}

func (n *named) location() Location {
	if n.loaded.Load() != nil {
		return PMNSLocal
	}
	return n.source.location()
}

// An overlay is a source with its own metrics on top of those below it. It
// handles their names; the type that embeds it provides the metrics themselves.
type overlay struct {
	source
	tree *pmns.Tree // of its own metrics
}

func (o *overlay) lookupNames(ctx context.Context, names []string, ids []pcp.PMID) error {
	for i, name := range names {
		if id, err := o.tree.Lookup(name); err == nil {
			ids[i] = id
		}
	}
	return fillRest(names, ids, pcp.PMIDNull, func(names []string, ids []pcp.PMID) error {
		return o.source.lookupNames(ctx, names, ids)
	})
}

func (o *overlay) names(ctx context.Context, id pcp.PMID) ([]string, error) {
	if names, err := o.tree.Names(id); err == nil {
		return names, nil
	}
	return o.source.names(ctx, id)
}

func (o *overlay) children(ctx context.Context, name string) ([]pmns.Child, error) {
	children, err := o.source.children(ctx, name)
	if err != nil && !errors.Is(err, pcp.ErrName) {
		return nil, err
	}
	own, ownErr := o.tree.Children(name)
	if ownErr != nil {
		return children, err
	}
	for _, e := range own {
		if !slices.ContainsFunc(children, func(c pmns.Child) bool { return c.Name == e.Name }) {
			children = append(children, e)
		}
	}
	return children, nil
}

func (o *overlay) leaves(ctx context.Context, name string) ([]string, error) {
	names, err := o.source.leaves(ctx, name)
	if err != nil && !errors.Is(err, pcp.ErrName) {
		return names, err
	}
	own, ownErr := treeLeaves(o.tree, name)
	if ownErr == nil {
		err = nil
	}
	return append(names, own...), err
}

// fillRest calls fill for those elements of in whose place in out is still null,
// and stores the results in those places.
func fillRest[In any, Out comparable](in []In, out []Out, null Out, fill func([]In, []Out) error) error {
	n := 0
	for i := range out {
		if out[i] == null {
			n++
		}
	}
	switch n {
	case 0:
		return nil
	case len(out):
		return fill(in, out)
	}
	restIn, restOut := make([]In, 0, n), make([]Out, n)
	for i := range out {
		if out[i] == null {
			restIn = append(restIn, in[i])
			restOut[len(restIn)-1] = null
		}
	}
	err := fill(restIn, restOut)
	for i, j := 0, 0; j < n; i++ {
		if out[i] == null {
			out[i] = restOut[j]
			j++
		}
	}
	return err
}

// events are a source with the metrics event.flags and event.missed, for the fields
// that event records have besides their parameters. They never have values of their
// own.
type events struct{ overlay }

func newEvents(src source) *events { return &events{overlay{src, pmns.Events()}} }

func isEvent(id pcp.PMID) bool { return id == pmns.EventFlags || id == pmns.EventMissed }

func (e *events) descs(ctx context.Context, ids []pcp.PMID, descs []pcp.Desc) error {
	for i, id := range ids {
		d, ok := pmns.EventDesc(id)
		if !ok {
			continue
		}
		descs[i] = pcp.Desc{PMID: pcp.PMIDNull}
		if e.kind() == SourceHost {
			// As in C the collector is asked first: it may have the metrics of another domain 511.
			_ = e.source.descs(ctx, ids[i:i+1], descs[i:i+1])
		}
		if descs[i].PMID == pcp.PMIDNull {
			descs[i] = d
		}
	}
	return fillRest(ids, descs, pcp.Desc{PMID: pcp.PMIDNull}, func(ids []pcp.PMID, descs []pcp.Desc) error {
		return e.source.descs(ctx, ids, descs)
	})
}

func (e *events) text(ctx context.Context, ident uint32, kind pcp.TextKind) (string, error) {
	if id := pcp.PMID(ident); kind&pcp.TextPMID != 0 && isEvent(id) {
		return pmns.EventText(id), nil
	}
	return e.source.text(ctx, ident, kind)
}

func (e *events) fetch(ctx context.Context, p profile, ids []pcp.PMID, res *pcp.Result, keep bool) (Changes, error) {
	below := ids
	if e.kind() == SourceArchive && !slices.ContainsFunc(ids, func(id pcp.PMID) bool { return !id.IsDerived() }) {
		below = nil // no record has these or derived metrics, so the C library takes the next one
	}
	changes, err := e.source.fetch(ctx, p, below, res, keep)
	if err != nil {
		return changes, err
	}
	for _, id := range ids[len(below):] {
		res.AddError(id, 0)
	}
	for i := range res.Sets {
		if vs := &res.Sets[i]; vs.Err < 0 && isEvent(vs.PMID) {
			vs.Err = 0 // to the source these do not exist
		}
	}
	return changes, nil
}
