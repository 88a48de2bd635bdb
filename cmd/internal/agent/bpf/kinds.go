package bpf

import (
	"github.com/cilium/ebpf"
	"github.com/go-pcp/pcp/pmda/column"
)

// Columns of kinds.
const (
	kindCount = iota
	kindTime  // nanoseconds
	kindExtra // a number of the module
	numKindColumns

	extraSlot = sumSlot - 1 // has kindExtra, in place of the last bucket
)

// kinds fills the blocks of events of a few kinds, with a histogram of each: a row for each kind, and one for each kind and range.
type kinds struct {
	names  []string
	list   *column.Block
	ranges *pairs
}

// tallies adds the map with a histogram and sums for each kind; see code.tally.
func (o *object) tallies(kinds int) {
	o.table(&ebpf.MapSpec{Name: "hist", Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: 8 * (sumSlot + 1), MaxEntries: uint32(kinds)})
}

func (k *kinds) read(o *object) error {
	k.list.Clear()
	k.ranges.begin()
	for i, name := range k.names {
		k.list.AddNamed(int32(i), name)
	}
	if o == nil {
		return nil
	}
	for kind, name := range k.names {
		var perCPU [][sumSlot + 1]uint64
		if err := o.maps["hist"].Lookup(uint32(kind), &perCPU); err != nil {
			return err
		}
		var sums [sumSlot + 1]uint64
		for _, counts := range perCPU {
			for i, n := range counts {
				sums[i] += n
			}
		}
		var n uint64
		for slot, some := range sums[:numBuckets] {
			if n += some; some > 0 {
				k.ranges.add(name, slot, 0, some)
			}
		}
		k.list.Set(kind, kindCount, n)
		k.list.Set(kind, kindTime, sums[sumSlot])
		k.list.Set(kind, kindExtra, sums[extraSlot])
	}
	return nil
}
