package linux

import (
	"strings"

	"github.com/go-pcp/pcp/internal/procfs"
)

// A vmstatReader reads /proc/vmstat.
type vmstatReader struct {
	file  *procfs.File
	keyed *procfs.Keyed
	sums  []vmstatSum
}

// A vmstatSum is a column that is the sum of others.
type vmstatSum struct {
	col   int
	parts []int
	// A sum that stands in for a counter which kernels had once is only made
	// where that is missing, and all parts are there.
	standIn bool
}

func newVmstatReader(a *Agent) vmstatReader {
	keys := a.keys[blockVmstat]
	k := func(key string) int { return a.column(blockVmstat, key) }
	r := vmstatReader{file: a.file("proc/vmstat"), keyed: procfs.NewKeyed(keys)}
	// As refresh_proc_vmstat of proc_vmstat.c does, each total takes in every
	// counter with a metric whose name begins so.
	for _, prefix := range [...]string{"pgscan_direct", "pgscan_kswapd", "pgsteal"} {
		sum := vmstatSum{col: k("=" + prefix + "_total")}
		for key, col := range keys {
			if strings.HasPrefix(key, prefix) {
				sum.parts = append(sum.parts, col)
			}
		}
		r.sums = append(r.sums, sum)
	}
	r.sums = append(r.sums,
		vmstatSum{k("nr_slab"), []int{k("nr_slab_reclaimable"), k("nr_slab_unreclaimable")}, true},
		vmstatSum{k("thp_split"), []int{k("thp_split_page"), k("thp_split_page_failed")}, true})
	return r
}

func readVmstat(a *Agent) error {
	b, err := a.vmstat.file.Read()
	if err != nil {
		return err
	}
	a.vmstat.parse(b, &a.blocks[blockVmstat])
	return nil
}

func (r *vmstatReader) parse(b []byte, out *block) {
	out.clear()
	c := out.cells
	r.keyed.Parse(b, nil, func(col int, v uint64) { c[col] = cell{v, true} })
	for _, s := range r.sums {
		if s.standIn && c[s.col].ok {
			continue
		}
		sum, n := uint64(0), 0
		for _, col := range s.parts {
			if c[col].ok {
				sum += c[col].bits
				n++
			}
		}
		if !s.standIn || n == len(s.parts) {
			c[s.col] = cell{sum, true}
		}
	}
}
