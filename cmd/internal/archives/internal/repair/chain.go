package repair

import (
	"cmp"
	"slices"

	"github.com/go-pcp/pcp"
)

// A record is a complete record of a volume.
type record struct {
	off   int64
	sec   int64
	nsec  int32
	n     int32 // bytes, with both lengths
	vol   int32 // index in Config.Volumes
	group uint16
	flags flag
}

type flag uint16

const (
	isMark    flag = 1 << iota
	fits           // all values match their descriptor
	confirmed      // the index has the same time
	early          // before the start in the label
	kept
)

func (r *record) time() pcp.Timestamp { return pcp.Timestamp{Sec: r.sec, Nsec: r.nsec} }

func (r *record) compare(o *record) int {
	return cmp.Or(cmp.Compare(r.sec, o.sec), cmp.Compare(r.nsec, o.nsec))
}

// Weights of a record in a chain. One more record always outweighs the bonuses of
// another, unless there are many.
const (
	weight          = 64
	weightConfirmed = 31
	weightRegular   = 15
)

// chain marks as kept the heaviest chain of records that run forward in time.
func chain(list []record) {
	inOrder := true
	for i := range list {
		r := &list[i]
		if r.flags&early != 0 || i > 0 && r.compare(&list[i-1]) < 0 {
			inOrder = false
			break
		}
	}
	if inOrder {
		for i := range list {
			list[i].flags |= kept
		}
		trimEnd(list)
		return
	}
	weights := make([]int64, len(list))
	for i := range list {
		weights[i] = weight
		if list[i].flags&confirmed != 0 {
			weights[i] += weightConfirmed
		}
		if list[i].flags&early != 0 {
			weights[i] = 0
		}
	}
	regular(list, weights)
	for _, i := range heaviest(len(list), func(a, b int32) int { return list[a].compare(&list[b]) }, weights) {
		list[i].flags |= kept
	}
	trimEnd(list)
}

// regular adds to the weight of records at regular times of their group: a logger
// fetches the same metrics in equal intervals.
func regular(list []record, weights []int64) {
	groups := make(map[uint16][]int32)
	for i := range list {
		g := list[i].group
		groups[g] = append(groups[g], int32(i))
	}
	for _, g := range groups {
		at := func(k int) float64 {
			r := &list[g[k]]
			return float64(r.sec-list[0].sec) + float64(r.nsec)/1e9
		}
		for k, i := range g {
			if weights[i] == 0 {
				continue
			}
			near := func(predicted, interval float64) bool {
				d := at(k) - predicted
				return interval > 0 && d < interval/10 && d > -interval/10
			}
			ok := false
			if k >= 2 {
				step := at(k-1) - at(k-2)
				ok = near(at(k-1)+step, step)
			}
			if k+2 < len(g) && !ok {
				step := at(k+2) - at(k+1)
				ok = near(at(k+1)-step, step)
			}
			if k >= 1 && k+1 < len(g) && !ok {
				step := (at(k+1) - at(k-1)) / 2
				ok = near(at(k-1)+step, step)
			}
			if ok {
				weights[i] += weightRegular
			}
		}
	}
}

// heaviest returns the numbers, ascending, of the elements of a sequence of n
// that make the chain of the largest weight which never descends. Of equal chains
// it takes the chain with the lower end. Elements without weight are left out.
func heaviest(n int, compare func(a, b int32) int, weights []int64) []int32 {
	order := make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Or(compare(a, b), cmp.Compare(a, b)) })
	rank := make([]int32, n)
	for k, i := range order {
		rank[i] = int32(k)
	}
	// tree[k] is the end of the best chain among the elements whose ranks the
	// node k of a Fenwick tree covers.
	tree, before, sum := make([]int32, n+1), make([]int32, n), make([]int64, n)
	for k := range tree {
		tree[k] = -1
	}
	better := func(a, b int32) bool { // a than b
		return a >= 0 && (b < 0 || sum[a] > sum[b] || sum[a] == sum[b] && rank[a] < rank[b])
	}
	best := int32(-1)
	for i := range int32(n) {
		before[i] = -1
		if weights[i] == 0 {
			continue
		}
		for k := rank[i] + 1; k > 0; k &= k - 1 {
			if better(tree[k], before[i]) {
				before[i] = tree[k]
			}
		}
		sum[i] = weights[i]
		if before[i] >= 0 {
			sum[i] += sum[before[i]]
		}
		for k := rank[i] + 1; int(k) <= n; k += k & -k {
			if better(i, tree[k]) {
				tree[k] = i
			}
		}
		if better(i, best) {
			best = i
		}
	}
	var list []int32
	for i := best; i >= 0; i = before[i] {
		list = append(list, i)
	}
	slices.Reverse(list)
	return list
}

// Limits that make the last record a stray: its distance from the others,
// absolute and as a multiple of their duration.
const (
	farOff    = 365 * 86400
	farFactor = 10
)

// trimEnd drops a last record that is far in the future of all others, which no
// chain can detect, unless it is in the index.
func trimEnd(list []record) {
	var ends [4]*record // the last records kept, then the first
	k := 0
	for i := len(list) - 1; i >= 0 && k < 3; i-- {
		if list[i].flags&kept != 0 {
			ends[k] = &list[i]
			k++
		}
	}
	if k < 3 || ends[0].flags&confirmed != 0 {
		return
	}
	for i := range list {
		if list[i].flags&kept != 0 {
			ends[3] = &list[i]
			break
		}
	}
	if gap := ends[0].sec - ends[1].sec; gap > farOff && gap/farFactor > ends[1].sec-ends[3].sec {
		ends[0].flags &^= kept
	}
}
