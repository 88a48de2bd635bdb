package pmapi

import (
	"context"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// maxRequest is the maximum length of a request for many names or descriptors
// before the rest is sent in another; the C library stays below the server's
// limit by the same margin (pmns.c: pmLookupName_ctx).
const maxRequest = wire.MaxInbound - 1024

// lookupNames asks in requests of at most maxRequest bytes.
func (h *host) lookupNames(ctx context.Context, names []string, ids []pcp.PMID) error {
	for base := 0; base < len(names); {
		size := wire.HeaderSize + 12
		n := 0
		for base+n < len(names) {
			need := 4 + (len(names[base+n])+3)&^3
			if n > 0 && size+need > maxRequest {
				break
			}
			size += need
			n++
		}
		if err := h.lookupSome(ctx, names[base:base+n], ids[base:base+n]); err != nil {
			return err
		}
		base += n
	}
	for i, id := range ids {
		if id != pcp.PMIDNull {
			continue
		}
		if len(names) == 1 {
			return nameError(names[0], pcp.ErrName)
		}
		// Only a request for a single name returns the reason that it has no
		// PMID.
		id := ids[i : i+1]
		err := h.lookupSome(ctx, names[i:i+1], id)
		if err == nil && id[0] == pcp.PMIDNull {
			err = nameError(names[i], pcp.ErrName)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// lookupSome does one request.
func (h *host) lookupSome(ctx context.Context, names []string, ids []pcp.PMID) error {
	var ans wire.PMNSIDs
	h.trace.asksNames(names)
	err := h.ask(ctx, &wire.PMNSNames{Names: names}, &ans)
	if err == nil && len(ans.PMIDs) != len(names) {
		err = fmt.Errorf("%d PMIDs for %d names: %w", len(ans.PMIDs), len(names), pcp.ErrIPC)
	}
	h.trace.gotIDs(ans.PMIDs, err)
	if err == nil {
		copy(ids, ans.PMIDs)
		if ans.Status < 0 {
			err = ans.Status
		}
	}
	if err != nil && len(names) == 1 {
		err = nameError(names[0], err)
	}
	return err
}

func (h *host) names(ctx context.Context, id pcp.PMID) ([]string, error) {
	if a, ok := h.known[aheadKey{wire.TypePMNSNames, uint32(id), 0}]; ok {
		return a.names, a.err
	}
	var ans wire.PMNSNames
	if h.trace.on(debug.PMNS) {
		h.trace.idList("__pmSendIDList", []pcp.PMID{id})
	}
	err := h.ask(ctx, &wire.PMNSIDs{PMIDs: []pcp.PMID{id}}, &ans)
	h.trace.gotNames(&ans, err)
	return ans.Names, err
}

func (h *host) children(ctx context.Context, name string) ([]pmns.Child, error) {
	var ans wire.PMNSNames
	h.trace.nameRequest(wire.TypePMNSChild, name, 1)
	err := h.ask(ctx, &wire.PMNSChild{Name: name, WithStatus: true}, &ans)
	h.trace.gotNames(&ans, err)
	if err != nil {
		return nil, err
	}
	if len(ans.Status) != len(ans.Names) {
		return nil, fmt.Errorf("%d names with %d statuses: %w", len(ans.Names), len(ans.Status), pcp.ErrIPC)
	}
	children := make([]pmns.Child, len(ans.Names))
	for i, n := range ans.Names {
		children[i] = pmns.Child{Name: n, Leaf: ans.Status[i] == 0}
	}
	return children, nil
}

func (h *host) leaves(ctx context.Context, name string) ([]string, error) {
	var ans wire.PMNSNames
	h.trace.nameRequest(wire.TypePMNSTraverse, name, 0)
	err := h.ask(ctx, &wire.PMNSTraverse{Name: name}, &ans)
	h.trace.gotNames(&ans, err)
	return ans.Names, err
}
