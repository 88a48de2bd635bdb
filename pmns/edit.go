package pmns

import (
	"strings"

	"github.com/go-pcp/pcp"
)

// Overlay adds the leaves of other to t as pmnsmerge(1) does, and never fails
// because of them: of a name with two PMIDs t keeps its own and conflict, if not
// nil, is called with both; a leaf of t through which a name of other runs
// becomes an inner node. An inner node of t is kept and reported as PMIDNull.
//
// New nodes are appended after the existing ones: of each node of other first its
// leaves, then the nodes below its inner nodes. An error is one of Add's limits.
func (t *Tree) Overlay(other *Tree, conflict func(name string, kept, ignored pcp.PMID)) error {
	return t.overlay(&other.root, conflict)
}

func (t *Tree) overlay(from *node, conflict func(string, pcp.PMID, pcp.PMID)) error {
	for k := from.first(); k != nil; k = k.next {
		if k.id == pcp.PMIDNull {
			continue
		}
		name := k.fullName()
		np, rest := t.locate(name)
		if rest == "" {
			if np.id != k.id && conflict != nil {
				conflict(name, np.id, k.id)
			}
			continue
		}
		if np.id != pcp.PMIDNull {
			t.unsetID(np)
		}
		if err := t.add(name, k.id, false); err != nil {
			return err
		}
	}
	for k := from.first(); k != nil; k = k.next {
		if k.id == pcp.PMIDNull {
			if err := t.overlay(k, conflict); err != nil {
				return err
			}
		}
	}
	return nil
}

// Remove removes the node called name with all nodes below it, and the nodes
// above it that are then empty. An unknown name gives pcp.ErrName.
func (t *Tree) Remove(name string) error {
	np, rest := t.locate(name)
	if rest != "" || np.parent == nil || strings.HasSuffix(name, ".") {
		return pcp.ErrName
	}
	for np.parent.parent != nil && np.parent.below.n == 1 {
		np = np.parent
	}
	t.forget(np)
	up := np.parent.below
	var before *node
	for k := up.first; k != np; k = k.next {
		before = k
	}
	if before == nil {
		up.first = np.next
	} else {
		before.next = np.next
	}
	if up.last == np {
		up.last = before
	}
	up.n--
	delete(up.index, np.name)
	return nil
}

// forget removes np and all nodes below it from the counts and the PMID index of t.
func (t *Tree) forget(np *node) {
	t.n--
	if np.id != pcp.PMIDNull {
		t.unsetID(np)
	}
	for k := np.first(); k != nil; k = k.next {
		t.forget(k)
	}
}

// unsetID makes a leaf an inner node.
func (t *Tree) unsetID(np *node) {
	head := t.byID[np.id]
	switch {
	case head != np:
		for t.same[head] != np {
			head = t.same[head]
		}
		if before := t.same[np]; before != nil {
			t.same[head] = before
		} else {
			delete(t.same, head)
		}
	case t.same[np] == nil:
		delete(t.byID, np.id)
	default:
		t.byID[np.id] = t.same[np]
	}
	delete(t.same, np)
	np.id = pcp.PMIDNull
}
