package pmapi

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/pmns"
)

// UseNameSpace looks up names in t instead of at the source, as
// pmLoadNameSpace(3) does for all contexts; nil undoes that. A name at or
// below the root of a dynamic subtree then has the PMID of that root, except
// in a local context, where its agent returns the PMID.
func (c *Context) UseNameSpace(t *pmns.Tree) {
	c.names.use(t)
	c.derived.stale.Store(true)
}

// TrimNameSpace has a name space that UseNameSpace gave to an archive context
// keep only the names of metrics that the archive has; the tree it was given is
// left as it is (pmTrimNameSpace(3)). Of other contexts, and of the names in
// the archive itself, it takes nothing away.
func (c *Context) TrimNameSpace(ctx context.Context) error {
	t := c.names.tree()
	if t == nil || c.Kind() != SourceArchive {
		return nil
	}
	kept := pmns.New()
	for name, id := range t.All() {
		_, err := c.LookupDesc(ctx, id)
		switch {
		case err == nil:
			err = kept.Add(name, id)
		case errors.Is(err, pcp.ErrPMIDLog), errors.Is(err, pcp.ErrPMID):
			err = nil
		}
		if err != nil {
			return err
		}
	}
	c.names.use(kept)
	return nil
}

// PMNSLocation returns where names are looked up (pmGetPMNSLocation(3)).
func (c *Context) PMNSLocation() Location { return c.src.location() }

// A NamesError lists which of several names have no PMID.
type NamesError struct {
	Names []string // two or more
	Err   error    // the error of the first: pcp.ErrName or pcp.ErrNonLeaf
}

func (e *NamesError) Error() string {
	return e.Err.Error() + "; nor can these be had: " + strings.Join(e.Names[1:], ", ")
}

func (e *NamesError) Unwrap() error { return e.Err }

// LookupName returns the PMIDs of names, with PMIDNull for each that is
// unknown. If any is, the error is that of the first: pcp.ErrName or
// pcp.ErrNonLeaf (pmLookupName(3)). If several are, it is a *[NamesError],
// which lists them. Any number of names may be asked for; none at all is
// pcp.ErrTooSmall.
func (c *Context) LookupName(ctx context.Context, names ...string) ([]pcp.PMID, error) {
	ids, err := c.lookupAll(ctx, names)
	if !errors.Is(err, pcp.ErrName) && !errors.Is(err, pcp.ErrNonLeaf) {
		return ids, err
	}
	var bad []string
	for i, id := range ids {
		if id == pcp.PMIDNull {
			bad = append(bad, names[i])
		}
	}
	if len(bad) > 1 {
		err = &NamesError{Names: bad, Err: err}
	}
	return ids, err
}

func (c *Context) lookupAll(ctx context.Context, names []string) ([]pcp.PMID, error) {
	if len(names) == 0 {
		return nil, pcp.ErrTooSmall
	}
	ids := make([]pcp.PMID, len(names))
	for i := range ids {
		ids[i] = pcp.PMIDNull
	}
	if err := c.lock(ctx); err != nil {
		return ids, err
	}
	defer c.unlock()
	return ids, c.src.lookupNames(ctx, names, ids)
}

// NameID returns a name of a metric (pmNameID(3)), the first that NameAll has,
// or pcp.ErrPMID.
func (c *Context) NameID(ctx context.Context, id pcp.PMID) (string, error) {
	names, err := c.NameAll(ctx, id)
	if err != nil {
		return "", err
	}
	return names[0], nil
}

// NameAll returns all names of a metric (pmNameAll(3)), or pcp.ErrPMID if it has
// no names. Like Children and Traverse it leaves out names that are not made
// of ASCII letters, digits, underscores and dots, even if the source sends
// them.
func (c *Context) NameAll(ctx context.Context, id pcp.PMID) ([]string, error) {
	if err := c.lock(ctx); err != nil {
		return nil, err
	}
	defer c.unlock()
	names, err := c.src.names(ctx, id)
	if names = plainNames(names); err == nil && len(names) == 0 {
		err = pcp.ErrPMID
	}
	if err != nil {
		return nil, fmt.Errorf("metric %v: %w", id, err)
	}
	return names, nil
}

// Children returns the children of a node of the name space, "" being the
// root (pmGetChildrenStatus(3)). It returns an empty list for a leaf. If there is
// no node of that name, it returns pcp.ErrName.
func (c *Context) Children(ctx context.Context, name string) ([]pmns.Child, error) {
	if err := c.lock(ctx); err != nil {
		return nil, err
	}
	defer c.unlock()
	children, err := c.src.children(ctx, name)
	if err != nil {
		return nil, nameError(name, err)
	}
	if slices.ContainsFunc(children, oddChild) {
		children = slices.DeleteFunc(slices.Clone(children), oddChild)
	}
	return children, nil
}

// Traverse yields the name of each leaf at or below name (pmTraversePMNS(3)). The
// loop may use the context. An error comes last, after the names that were found
// before it, with an empty name. If there is no node of that name, it is pcp.ErrName.
func (c *Context) Traverse(ctx context.Context, name string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		names, err := c.leaves(ctx, name)
		for _, name := range names {
			if !yield(name, nil) {
				return
			}
		}
		if err != nil {
			yield("", err)
		}
	}
}

func (c *Context) leaves(ctx context.Context, name string) ([]string, error) {
	if err := c.lock(ctx); err != nil {
		return nil, err
	}
	defer c.unlock()
	names, err := c.src.leaves(ctx, name)
	if err != nil {
		err = nameError(name, err)
	}
	return plainNames(names), err
}

// plainNames returns names without those of other characters than names of metrics have. Programs, shells and terminals take a
// name for a plain word, and a collector or an archive can send anything. Components may begin with a digit: some agents
// serve such names.
func plainNames(names []string) []string {
	if slices.ContainsFunc(names, oddName) {
		return slices.DeleteFunc(slices.Clone(names), oddName)
	}
	return names
}

func oddName(name string) bool {
	for i := range len(name) {
		if c := name[i]; !ctext.IsAlpha(c) && !ctext.IsDigit(c) && c != '_' && c != '.' {
			return true
		}
	}
	return name == ""
}

func oddChild(c pmns.Child) bool { return oddName(c.Name) }
