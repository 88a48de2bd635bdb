package logextract

// A chain is a hash table whose order is that of __pmHashAdd in libpcp/src/hash.c. The
// choice between two records for the same key, and the order of reported conflicts,
// depend on it.
type chain struct {
	slots []int32 // first node of each, -1 if there is none
	nodes []chainNode
}

type chainNode struct {
	key  uint32
	next int32
}

// add adds a node in front of all others with its key; nodes are numbered as
// they are added.
func (c *chain) add(key uint32) {
	n := len(c.nodes)
	c.nodes = append(c.nodes, chainNode{key: key})
	switch {
	case c.slots == nil:
		c.slots = []int32{-1}
	case (n+1)/4 > len(c.slots):
		size := 2 * len(c.slots)
		size += size % 2
		if size%3 != 0 {
			size += 2
		}
		if size%5 != 0 {
			size += 2
		}
		old := c.slots
		c.slots = make([]int32, size)
		for i := range c.slots {
			c.slots[i] = -1
		}
		for i := len(old) - 1; i >= 0; i-- {
			for k := old[i]; k >= 0; {
				next := c.nodes[k].next
				c.link(k)
				k = next
			}
		}
	}
	c.link(int32(n))
}

func (c *chain) link(n int32) {
	slot := &c.slots[c.nodes[n].key%uint32(len(c.slots))]
	c.nodes[n].next, *slot = *slot, n
}

// find returns the first node with a key, -1 if there is none.
func (c *chain) find(key uint32) int {
	if c.slots == nil {
		return -1
	}
	for n := c.slots[key%uint32(len(c.slots))]; n >= 0; n = c.nodes[n].next {
		if c.nodes[n].key == key {
			return int(n)
		}
	}
	return -1
}

// order returns the numbers of all nodes in the order of a walk.
func (c *chain) order() []int {
	list := make([]int, 0, len(c.nodes))
	for _, n := range c.slots {
		for ; n >= 0; n = c.nodes[n].next {
			list = append(list, int(n))
		}
	}
	return list
}
