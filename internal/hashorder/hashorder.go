// Package hashorder computes the order in which the C tools list the elements of
// their hash tables. Scripts compare such lists.
package hashorder

// Of returns the order of things that were put one by one into a hash table
// (__pmHashAdd in libpcp/src/hash.c), as indexes of keys.
func Of(keys []uint32) []int {
	var table [][]int // of each slot, the last one added last
	add := func(table [][]int, i int) {
		k := keys[i] % uint32(len(table))
		table[k] = append(table[k], i)
	}
	for i := range keys {
		if table == nil {
			table = make([][]int, 1)
		} else if (i+1)/4 > len(table) {
			size := 2 * len(table)
			size += size % 2
			if size%3 != 0 {
				size += 2
			}
			if size%5 != 0 {
				size += 2
			}
			old := table
			table = make([][]int, size)
			for s := len(old) - 1; s >= 0; s-- {
				for k := len(old[s]) - 1; k >= 0; k-- {
					add(table, old[s][k])
				}
			}
		}
		add(table, i)
	}
	list := make([]int, 0, len(keys))
	for _, slot := range table {
		for k := len(slot) - 1; k >= 0; k-- {
			list = append(list, slot[k])
		}
	}
	return list
}
