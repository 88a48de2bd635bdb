// Package metrics finds the metrics that atop and top show.
package metrics

import (
	"cmp"
	"context"
	"errors"

	"github.com/go-pcp/pcp"
)

// A Source looks up names and descriptors, as a pmapi.Context does.
type Source interface {
	LookupName(ctx context.Context, names ...string) ([]pcp.PMID, error)
	LookupDescs(ctx context.Context, ids ...pcp.PMID) ([]pcp.Desc, error)
}

// Lost reports whether an error means that the connection to the source is gone, or that ctx is done.
func Lost(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, pcp.ErrIPC) || errors.Is(err, pcp.ErrTimeout))
}

// Find returns the descriptors of metrics, which it looks up in as few requests as the source allows. A metric that
// the source lacks or cannot describe has PMIDNull; this is not an error. After another error about a name the other
// descriptors are returned nevertheless, unless the connection is lost.
func Find(ctx context.Context, c Source, names []string) ([]pcp.Desc, error) {
	ids, failed := c.LookupName(ctx, names...)
	if len(ids) != len(names) || Lost(ctx, failed) {
		return nil, cmp.Or(failed, error(pcp.ErrName))
	}
	if errors.Is(failed, pcp.ErrName) {
		failed = nil
	}
	list := make([]pcp.Desc, len(ids))
	var known []pcp.PMID
	for i, id := range ids {
		list[i].PMID = pcp.PMIDNull
		if id != pcp.PMIDNull {
			known = append(known, id)
		}
	}
	if len(known) == 0 {
		return list, failed
	}
	descs, err := c.LookupDescs(ctx, known...)
	if Lost(ctx, err) {
		return nil, err
	}
	for i, id := range ids {
		if id == pcp.PMIDNull || len(descs) == 0 {
			continue
		}
		if descs[0].PMID != pcp.PMIDNull {
			list[i] = descs[0]
		}
		descs = descs[1:]
	}
	return list, failed
}
