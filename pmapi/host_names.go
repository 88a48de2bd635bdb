package pmapi

import (
	"context"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/debugname"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// maxRequest is the maximum length of a request for many names or descriptors
// before the rest is sent in another; the C library stays below the server's
// limit by the same margin (pmns.c: pmLookupName_ctx).
const maxRequest = wire.MaxInbound - 1024

// remoteNames are the names of a collector.
type remoteNames struct {
	on       *conversation
	foreseen *foreseen
}

// lookupNames asks in requests of at most maxRequest bytes.
func (n *remoteNames) lookupNames(ctx context.Context, names []string, ids []pcp.PMID) error {
	for base := 0; base < len(names); {
		size := wire.HeaderSize + 12
		some := 0
		for base+some < len(names) {
			need := 4 + (len(names[base+some])+3)&^3
			if some > 0 && size+need > maxRequest {
				break
			}
			size += need
			some++
		}
		if err := n.lookupSome(ctx, names[base:base+some], ids[base:base+some]); err != nil {
			return err
		}
		base += some
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
		err := n.lookupSome(ctx, names[i:i+1], id)
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
func (n *remoteNames) lookupSome(ctx context.Context, names []string, ids []pcp.PMID) error {
	var ans wire.PMNSIDs
	n.on.trace.asksNames(names)
	err := n.on.ask(ctx, &wire.PMNSNames{Names: names}, &ans)
	if err == nil && len(ans.PMIDs) != len(names) {
		err = fmt.Errorf("%d PMIDs for %d names: %w", len(ans.PMIDs), len(names), pcp.ErrIPC)
	}
	n.on.trace.gotIDs(ans.PMIDs, err)
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

func (n *remoteNames) names(ctx context.Context, id pcp.PMID) ([]string, error) {
	if a, ok := n.foreseen.answer(namesKey(id)); ok {
		return a.names, a.err
	}
	var ans wire.PMNSNames
	if n.on.trace.on(debugname.PMNS) {
		n.on.trace.idList("__pmSendIDList", []pcp.PMID{id})
	}
	err := n.on.ask(ctx, &wire.PMNSIDs{PMIDs: []pcp.PMID{id}}, &ans)
	n.on.trace.gotNames(&ans, err)
	return ans.Names, err
}

func (n *remoteNames) children(ctx context.Context, name string) ([]pmns.Child, error) {
	var ans wire.PMNSNames
	n.on.trace.nameRequest(wire.TypePMNSChild, name, 1)
	err := n.on.ask(ctx, &wire.PMNSChild{Name: name, WithStatus: true}, &ans)
	n.on.trace.gotNames(&ans, err)
	if err != nil {
		return nil, err
	}
	if len(ans.Status) != len(ans.Names) {
		return nil, fmt.Errorf("%d names with %d statuses: %w", len(ans.Names), len(ans.Status), pcp.ErrIPC)
	}
	children := make([]pmns.Child, len(ans.Names))
	for i, name := range ans.Names {
		children[i] = pmns.Child{Name: name, Leaf: ans.Status[i] == 0}
	}
	return children, nil
}

func (n *remoteNames) leaves(ctx context.Context, name string) ([]string, error) {
	var ans wire.PMNSNames
	n.on.trace.nameRequest(wire.TypePMNSTraverse, name, 0)
	err := n.on.ask(ctx, &wire.PMNSTraverse{Name: name}, &ans)
	n.on.trace.gotNames(&ans, err)
	return ans.Names, err
}
