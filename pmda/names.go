package pmda

import (
	"context"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// serveNames answers questions about names below a dynamic root.
func (s *session) serveNames(ctx context.Context, h wire.Header, decode func(wire.PDU) error) (wire.PDU, error) {
	switch h.Type {
	case wire.TypePMNSNames:
		var p wire.PMNSNames
		if err := decode(&p); err != nil {
			return nil, err
		}
		if len(p.Names) != 1 { // the collector sends one at a time
			return nil, pcp.ErrIPC
		}
		id, err := s.namer.LookupName(ctx, p.Names[0])
		return &wire.PMNSIDs{Status: 1, PMIDs: []pcp.PMID{id}}, err

	case wire.TypePMNSIDs:
		var p wire.PMNSIDs
		if err := decode(&p); err != nil {
			return nil, err
		}
		if len(p.PMIDs) != 1 {
			return nil, pcp.ErrIPC
		}
		names, err := s.namer.Names(ctx, p.PMIDs[0])
		return &wire.PMNSNames{Names: names}, err

	case wire.TypePMNSChild:
		var p wire.PMNSChild
		if err := decode(&p); err != nil {
			return nil, err
		}
		children, err := s.namer.Children(ctx, p.Name, false)
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
	leaves, err := s.namer.Children(ctx, p.Name, true)
	return &wire.PMNSNames{Names: childNames(leaves)}, err
}

func childNames(children []pmns.Child) []string {
	names := make([]string, len(children))
	for i, c := range children {
		names[i] = c.Name
	}
	return names
}

// namerOf returns what answers for the names of a: itself, or its name space,
// so that a collector that has only a dynamic root for a's domain finds them
// too.
func namerOf(a Agent) DynamicNamer {
	if n, ok := a.(DynamicNamer); ok {
		return n
	}
	if n, ok := a.(NameSpacer); ok {
		if t := n.NameSpace(); t != nil {
			return treeNamer{t}
		}
	}
	return treeNamer{pmns.New()}
}

// A treeNamer answers for the names of a tree.
type treeNamer struct{ tree *pmns.Tree }

func (n treeNamer) LookupName(_ context.Context, name string) (pcp.PMID, error) {
	return n.tree.Lookup(name)
}

func (n treeNamer) Names(_ context.Context, id pcp.PMID) ([]string, error) {
	return n.tree.Names(id)
}

func (n treeNamer) Children(_ context.Context, name string, traverse bool) ([]pmns.Child, error) {
	if !traverse {
		return n.tree.Children(name)
	}
	var leaves []pmns.Child
	err := n.tree.Walk(name, func(name string, _ pcp.PMID) bool {
		leaves = append(leaves, pmns.Child{Name: name, Leaf: true})
		return true
	})
	return leaves, err
}
