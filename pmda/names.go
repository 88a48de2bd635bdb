package pmda

import (
	"context"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// serveNames answers questions about names below a dynamic root.
func (s *session) serveNames(ctx context.Context, client *Client, h wire.Header, decode func(wire.PDU) error) (wire.PDU, error) {
	switch h.Type {
	case wire.TypePMNSNames:
		var p wire.PMNSNames
		if err := decode(&p); err != nil {
			return nil, err
		}
		if len(p.Names) != 1 { // the collector sends one at a time
			return nil, pcp.ErrIPC
		}
		id, err := s.agent.LookupName(ctx, client, p.Names[0])
		return &wire.PMNSIDs{Status: 1, PMIDs: []pcp.PMID{id}}, err

	case wire.TypePMNSIDs:
		var p wire.PMNSIDs
		if err := decode(&p); err != nil {
			return nil, err
		}
		if len(p.PMIDs) != 1 {
			return nil, pcp.ErrIPC
		}
		names, err := s.agent.Names(ctx, client, p.PMIDs[0])
		return &wire.PMNSNames{Names: names}, err

	case wire.TypePMNSChild:
		var p wire.PMNSChild
		if err := decode(&p); err != nil {
			return nil, err
		}
		children, err := s.agent.Children(ctx, client, p.Name, false)
		reply := &wire.PMNSNames{Names: childNames(children)}
		if p.WithStatus {
			reply.Status = make([]int32, len(children))
			for i, c := range children {
				if !c.Leaf {
					reply.Status[i] = 1 // PMNS_NONLEAF_STATUS
				}
			}
		}
		return reply, err
	}
	var p wire.PMNSTraverse
	if err := decode(&p); err != nil {
		return nil, err
	}
	leaves, err := s.agent.Children(ctx, client, p.Name, true)
	return &wire.PMNSNames{Names: childNames(leaves)}, err
}

func childNames(children []pmns.Child) []string {
	names := make([]string, len(children))
	for i, c := range children {
		names[i] = c.Name
	}
	return names
}

// ownNames finds the names of an agent that is not a DynamicNamer. Its tree is made when it is first needed: a collector that has
// the agent's names in its own tree does not ask for them.
type ownNames struct{ namer func() TreeNamer }

func (n ownNames) LookupName(ctx context.Context, name string) (pcp.PMID, error) {
	return n.namer().LookupName(ctx, name)
}

func (n ownNames) Names(ctx context.Context, id pcp.PMID) ([]string, error) {
	return n.namer().Names(ctx, id)
}

func (n ownNames) Children(ctx context.Context, name string, traverse bool) ([]pmns.Child, error) {
	return n.namer().Children(ctx, name, traverse)
}

// A TreeNamer is a [DynamicNamer] for the names of a tree. An agent whose names
// change makes a new one for each change.
type TreeNamer struct{ Tree *pmns.Tree }

// LookupName implements [DynamicNamer].
func (n TreeNamer) LookupName(_ context.Context, name string) (pcp.PMID, error) {
	return n.Tree.Lookup(name)
}

// Names implements [DynamicNamer].
func (n TreeNamer) Names(_ context.Context, id pcp.PMID) ([]string, error) {
	return n.Tree.Names(id)
}

// Children implements [DynamicNamer].
func (n TreeNamer) Children(_ context.Context, name string, traverse bool) ([]pmns.Child, error) {
	if !traverse {
		return n.Tree.Children(name)
	}
	below, err := n.Tree.Leaves(name)
	var leaves []pmns.Child
	for name := range below {
		leaves = append(leaves, pmns.Child{Name: name, Leaf: true})
	}
	return leaves, err
}
