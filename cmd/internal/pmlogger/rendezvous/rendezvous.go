package rendezvous

import (
	"cmp"
	"slices"
)

// Owner returns the index of the member that is responsible for a host, or -1 if there are no members. The order
// of the members does not matter.
func Owner(host string, members []string) int {
	best := -1
	var most uint64
	for i, m := range members {
		if s := score(host, m); best < 0 || s > most || s == most && m < members[best] {
			best, most = i, s
		}
	}
	return best
}

// Order returns the indices of all members for a host, the owner first. Without its owner, a host belongs to
// the next member, and so on.
func Order(host string, members []string) []int {
	order := make([]int, len(members))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(score(host, members[b]), score(host, members[a])), cmp.Compare(members[a], members[b]))
	})
	return order
}

// score is the 64-bit FNV-1a hash of the member, a zero byte and the host, mixed by the finalizer of SplitMix64:
// without it, the last bytes of similar names hardly change the high bits.
func score(host, member string) uint64 {
	h := uint64(14695981039346656037)
	add := func(b byte) { h = (h ^ uint64(b)) * 1099511628211 }
	for i := range len(member) {
		add(member[i])
	}
	add(0)
	for i := range len(host) {
		add(host[i])
	}
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
