package pmns

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
)

// Limits of a name space. Beyond them Add and the loader return an error.
const (
	MaxName  = 1024    // bytes in a full name
	maxDepth = 128     // components in a full name
	maxNodes = 1 << 20 // nodes in a tree
)

// A node with more children than this finds them through a map.
const smallNode = 8

// A Tree is a name space. It is safe for concurrent readers as long as it does not
// change.
type Tree struct {
	root node
	byID map[pcp.PMID]*node // the last leaf with that PMID
	same map[*node]*node    // from a leaf to the one before with its PMID
	n    int                // nodes, without the root
}

// A node is a leaf if id is not PMIDNull, else an inner node, perhaps empty.
type node struct {
	name   string
	parent *node
	next   *node // sibling
	below  *children
	pos    int32 // order among its siblings
	id     pcp.PMID
}

// The children of an inner node.
type children struct {
	first, last *node
	index       map[string]*node // once there are many
	n           int
}

// first returns the first child, nil if there is none.
func (np *node) first() *node {
	if np.below == nil {
		return nil
	}
	return np.below.first
}

// A Child is one child of a node.
type Child struct {
	Name string // the last component, or as documented the full name
	Leaf bool   // PMNS_LEAF_STATUS 0 or PMNS_NONLEAF_STATUS 1 in C
}

// New returns an empty tree.
func New() *Tree {
	return &Tree{root: node{id: pcp.PMIDNull}, byID: make(map[pcp.PMID]*node)}
}

// Len returns the number of nodes of the tree, without the root.
func (t *Tree) Len() int { return t.n }

// ValidName reports whether name is a metric name that is not too long for a tree.
func ValidName(name string) bool { return len(name) <= MaxName && pcp.ValidName(name) }

// validBelow reports whether an agent may be asked for the components below its
// dynamic root. The agent decides about their characters: agents of the C
// implementation also serve components that begin with a digit.
func validBelow(rest string) bool {
	return len(rest) <= MaxName && !strings.HasPrefix(rest, ".") && !strings.HasSuffix(rest, ".") && !strings.Contains(rest, "..")
}

// Add adds the leaf name with the PMID id, which may be a dynamic root. It
// returns an error if name exists, or if it runs through a leaf.
func (t *Tree) Add(name string, id pcp.PMID) error {
	if !ValidName(name) {
		return fmt.Errorf("%q is not a metric name: %w", name, pcp.ErrPMNS)
	}
	return t.add(name, id, false)
}

// Prepend is like Add, but new nodes precede their siblings, and components may
// have any characters: the C library builds the name space of an archive like
// this (__pmAddPMNSNode). Adding a name that exists with the same id does
// nothing; with another id it returns pcp.ErrPMID.
func (t *Tree) Prepend(name string, id pcp.PMID) error {
	if np, _ := t.find(name); np != nil && np.id == id && np.id != pcp.PMIDNull {
		return nil
	} else if np != nil && np.id != pcp.PMIDNull {
		return fmt.Errorf("name %s of %v already has PMID %v: %w", name, id, np.id, pcp.ErrPMID)
	}
	return t.add(name, id, true)
}

func (t *Tree) add(name string, id pcp.PMID, front bool) error {
	if id == pcp.PMIDNull {
		return fmt.Errorf("name %s: no PMID: %w", name, pcp.ErrPMID)
	}
	if len(name) > MaxName || strings.Count(name, ".") >= maxDepth {
		return fmt.Errorf("name %.40q... of %d bytes: longer than %d or deeper than %d: %w",
			name, len(name), MaxName, maxDepth, pcp.ErrPMNS)
	}
	np, rest := t.locate(name)
	if rest == "" {
		return fmt.Errorf("name %q is already in the name space: %w", name, pcp.ErrPMNS)
	}
	if np.id != pcp.PMIDNull {
		return fmt.Errorf("name %s runs through the metric %s: %w", name, np.fullName(), pcp.ErrPMNS)
	}
	if strings.HasPrefix(rest, ".") || strings.HasSuffix(rest, ".") || strings.Contains(rest, "..") {
		return fmt.Errorf("name %q has an empty component: %w", name, pcp.ErrPMNS)
	}
	if t.n+strings.Count(rest, ".")+1 > maxNodes {
		return fmt.Errorf("name %s: more than %d nodes: %w", name, maxNodes, pcp.ErrPMNS)
	}
	for rest != "" {
		part, tail, _ := strings.Cut(rest, ".")
		np, rest = t.newChild(np, part, front), tail
	}
	t.setID(np, id)
	return nil
}

// newChild makes an inner node under np, which has no child of that name.
func (t *Tree) newChild(np *node, name string, front bool) *node {
	c := &node{name: name, parent: np, id: pcp.PMIDNull}
	if np.below == nil {
		np.below = new(children)
	}
	b := np.below
	switch {
	case b.first == nil:
		b.first, b.last = c, c
	case front:
		c.pos = b.first.pos - 1
		c.next, b.first = b.first, c
	default:
		c.pos = b.last.pos + 1
		b.last.next, b.last = c, c
	}
	b.n++
	if b.index != nil {
		b.index[name] = c
	} else if b.n > smallNode {
		b.index = make(map[string]*node, 2*b.n)
		for k := b.first; k != nil; k = k.next {
			b.index[k.name] = k
		}
	}
	t.n++
	return c
}

func (t *Tree) setID(np *node, id pcp.PMID) {
	np.id = id
	if before := t.byID[id]; before != nil {
		if t.same == nil {
			t.same = make(map[*node]*node)
		}
		t.same[np] = before
	}
	t.byID[id] = np
}

func (np *node) child(name string) *node {
	if np.below == nil {
		return nil
	}
	if np.below.index != nil {
		return np.below.index[name]
	}
	for k := np.below.first; k != nil; k = k.next {
		if k.name == name {
			return k
		}
	}
	return nil
}

// locate descends from the root along name; rest is the part that it did not
// find, "" if it found all.
func (t *Tree) locate(name string) (np *node, rest string) {
	np, rest = &t.root, name
	for rest != "" {
		part, tail, more := strings.Cut(rest, ".")
		k := np.child(part)
		if k == nil || more && tail == "" {
			return np, rest
		}
		np, rest = k, tail
	}
	return np, rest
}

// find returns the node of name, or the dynamic root above it and dynamic true,
// or nil.
func (t *Tree) find(name string) (np *node, dynamic bool) {
	np, rest := t.locate(name)
	switch {
	case rest == "":
		return np, np.id.IsDynamicRoot()
	case np.id.IsDynamicRoot() && validBelow(rest):
		return np, true
	}
	return nil, false
}

func (np *node) fullName() string {
	n := -1
	for k := np; k.parent != nil; k = k.parent {
		n += len(k.name) + 1
	}
	return string(np.appendName(make([]byte, 0, max(n, 0))))
}

func (np *node) appendName(b []byte) []byte {
	if np.parent == nil {
		return b
	}
	if b = np.parent.appendName(b); len(b) > 0 {
		b = append(b, '.')
	}
	return append(b, np.name...)
}

// Lookup returns the PMID of a name: pcp.ErrName if there is none,
// pcp.ErrNonLeaf if it is an inner node or a dynamic root itself; for the
// latter it also returns the root's PMID. Below a dynamic root it returns that
// root's PMID and no error: ask its agent.
func (t *Tree) Lookup(name string) (pcp.PMID, error) {
	np, rest := t.locate(name)
	switch {
	case name == "":
		return pcp.PMIDNull, pcp.ErrName
	case rest != "" && (!np.id.IsDynamicRoot() || !validBelow(rest)):
		return pcp.PMIDNull, pcp.ErrName
	case rest == "" && (np.id == pcp.PMIDNull || np.id.IsDynamicRoot()):
		return np.id, pcp.ErrNonLeaf
	}
	return np.id, nil
}

// Names returns all names of a metric, pcp.ErrPMID if none. Their order is that
// of pmNameAll(3), and the first is what pmNameID(3) returns: traversal order,
// backwards. It does not name dynamic roots.
func (t *Tree) Names(id pcp.PMID) ([]string, error) {
	np := t.byID[id]
	if np == nil || id.IsDynamicRoot() {
		return nil, pcp.ErrPMID
	}
	if t.same[np] == nil {
		return []string{np.fullName()}, nil
	}
	var nodes []*node
	for ; np != nil; np = t.same[np] {
		nodes = append(nodes, np)
	}
	slices.SortStableFunc(nodes, func(a, b *node) int { return compare(b, a) })
	names := make([]string, len(nodes))
	for i, np := range nodes {
		names[i] = np.fullName()
	}
	return names, nil
}

// compare orders two leaves in the order of the traversal.
func compare(a, b *node) int {
	da, db := a.depth(), b.depth()
	for ; da > db; da-- {
		a = a.parent
	}
	for ; db > da; db-- {
		b = b.parent
	}
	for a.parent != b.parent {
		a, b = a.parent, b.parent
	}
	return cmp.Compare(a.pos, b.pos)
}

func (np *node) depth() int {
	d := 0
	for ; np.parent != nil; np = np.parent {
		d++
	}
	return d
}

// Children returns the children of a node in the order of the file; "" is the
// root. A leaf has no children; an unknown name gives pcp.ErrName. For a name at
// or below a dynamic root see DynamicRoot: here the root has no children, and a
// name below it gives pcp.ErrName.
func (t *Tree) Children(name string) ([]Child, error) {
	np, rest := t.locate(name)
	if rest != "" {
		return nil, pcp.ErrName
	}
	if np.first() == nil {
		return nil, nil
	}
	list := make([]Child, 0, np.below.n)
	for k := np.first(); k != nil; k = k.next {
		list = append(list, Child{Name: k.name, Leaf: k.id != pcp.PMIDNull && !k.id.IsDynamicRoot()})
	}
	return list, nil
}

// DynamicRoot reports whether name is or is below a dynamic root, and its domain.
func (t *Tree) DynamicRoot(name string) (domain int, ok bool) {
	np, dynamic := t.find(name)
	if !dynamic {
		return 0, false
	}
	return np.id.Cluster(), true
}

// All returns the names and PMIDs of all leaves, depth first, dynamic roots
// included.
func (t *Tree) All() iter.Seq2[string, pcp.PMID] { return t.root.leaves() }

// Leaves returns the leaves at or below name as [Tree.All] does. An unknown name
// gives pcp.ErrName and an empty sequence.
func (t *Tree) Leaves(name string) (iter.Seq2[string, pcp.PMID], error) {
	np, rest := t.locate(name)
	if rest != "" {
		return func(func(string, pcp.PMID) bool) {}, pcp.ErrName
	}
	return np.leaves(), nil
}

func (np *node) leaves() iter.Seq2[string, pcp.PMID] {
	return func(yield func(string, pcp.PMID) bool) { np.walk(np.appendName(nil), yield) }
}

// walk returns false if yield does.
func (np *node) walk(path []byte, yield func(string, pcp.PMID) bool) bool {
	if np.id != pcp.PMIDNull {
		return yield(string(path), np.id)
	}
	if len(path) > 0 {
		path = append(path, '.')
	}
	for k := np.first(); k != nil; k = k.next {
		if !k.walk(append(path, k.name...), yield) {
			return false
		}
	}
	return true
}

// Merge adds the leaves of other to t. Names that are in both with the same
// PMID are kept once; with different PMIDs they are an error, and so is a leaf
// in one tree that is an inner node in the other. On an error t is unchanged.
func (t *Tree) Merge(other *Tree) error {
	if t.n+other.n > maxNodes {
		return fmt.Errorf("%d and %d nodes, more than %d together: %w", t.n, other.n, maxNodes, pcp.ErrPMNS)
	}
	if err := clash(&t.root, &other.root); err != nil {
		return err
	}
	t.graft(&t.root, &other.root)
	return nil
}

// clash returns the reason why the leaves below from cannot be merged with those below np.
func clash(np, from *node) error {
	for k := from.first(); k != nil; k = k.next {
		c, leaf := np.child(k.name), k.leaf()
		switch {
		case c == nil || leaf == nil || c.id == k.id && leaf == k:
		case c.id == pcp.PMIDNull && leaf == k:
			return fmt.Errorf("name %s is a metric in one name space, not in the other: %w", k.fullName(), pcp.ErrPMNS)
		case leaf == k:
			return fmt.Errorf("name %s is both %v and %v: %w", k.fullName(), c.id, k.id, pcp.ErrPMNS)
		case c.id != pcp.PMIDNull:
			return fmt.Errorf("name %s runs through the metric %s: %w", leaf.fullName(), c.fullName(), pcp.ErrPMNS)
		default:
			if err := clash(c, k); err != nil {
				return err
			}
		}
	}
	return nil
}

// graft adds the leaves below from that np does not have. It shares their names.
func (t *Tree) graft(np, from *node) {
	for k := from.first(); k != nil; k = k.next {
		if k.leaf() == nil {
			continue
		}
		c := np.child(k.name)
		if c == nil {
			if c = t.newChild(np, k.name, false); k.id != pcp.PMIDNull {
				t.setID(c, k.id)
			}
		}
		t.graft(c, k)
	}
}

// leaf returns np if it is a leaf, else the first leaf below it, nil if there is none.
func (np *node) leaf() *node {
	if np.id != pcp.PMIDNull {
		return np
	}
	for k := np.first(); k != nil; k = k.next {
		if leaf := k.leaf(); leaf != nil {
			return leaf
		}
	}
	return nil
}
