package bpf

import (
	"errors"

	"github.com/cilium/ebpf"
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda/column"
)

// Columns of kinds.
const (
	kindCount = iota
	kindTime  // nanoseconds
	kindExtra // a number of the module
	numKindColumns

	sumSlot   = 64          // of a histogram: the sum of all values
	extraSlot = sumSlot - 1 // has kindExtra, in place of the last bucket
)

// counters returns a function that makes the metrics below a name that upstream's agent lacks.
func counters(prefix string, cluster int) func(item, from, col int, name string, units pcp.Units, help, long string) column.Metric {
	return func(item, from, col int, name string, units pcp.Units, help, long string) column.Metric {
		return column.Metric{Name: prefix + name, Cluster: own(cluster), Item: item, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: units, From: from, Col: col, Help: help, Long: long}
	}
}

// kinds fills the blocks of events of a few kinds, with a histogram of each: a row for each kind, and one for each kind and range.
type kinds struct {
	names  []string
	list   *column.Block
	ranges *pairs
}

// readKinds returns the function that fills the blocks: the kinds, the kinds with ranges and, if there is a third block, the control groups with ranges.
func readKinds(hostRoot string, names []string, blocks []*column.Block) func(*object) error {
	k := &kinds{names: names, list: blocks[0], ranges: &pairs{block: blocks[1]}}
	if len(blocks) < 3 {
		return k.read
	}
	dir, _ := groupDir(hostRoot)
	groups := newGroupRanges(dir, blocks[2])
	return func(o *object) error { return errors.Join(k.read(o), groups.read(o)) }
}

// tallies adds the map with a histogram and sums for each kind; see code.tally.
func (o *object) tallies(kinds int) {
	o.table(&ebpf.MapSpec{Name: "hist", Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: 8 * (sumSlot + 1), MaxEntries: uint32(kinds)})
}

// tallied returns the histogram and the sums of a kind, over all processors.
func (o *object) tallied(kind int) (sums [sumSlot + 1]uint64, err error) {
	var perCPU [][sumSlot + 1]uint64
	if err := o.maps["hist"].Lookup(uint32(kind), &perCPU); err != nil {
		return sums, err
	}
	for _, counts := range perCPU {
		for i, n := range counts {
			sums[i] += n
		}
	}
	return sums, nil
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
		sums, err := o.tallied(kind)
		if err != nil {
			return err
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
