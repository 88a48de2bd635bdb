package cache_test

import (
	"context"
	"fmt"
	"os"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/cache"
)

// A disk that goes and comes back has the number it had.
func Example() {
	type disk struct{ reads uint64 }
	dir, err := os.MkdirTemp("", "cache")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	disks := cache.New[*disk](pcp.NewInDom(400, 1), &cache.Options{Dir: dir})
	indom := &pmda.InDom{Serial: 1, List: disks.List}
	reads := pmda.Metric{
		Name: "clock.reads", Type: pcp.TypeU64, Sem: pcp.SemCounter, InDom: indom,
		Value: disks.Value(func(d *disk) (pcp.Value, error) { return pcp.Uint64Value(d.reads), nil }),
	}
	for _, found := range [][]string{{"sda", "sdb"}, {"sdc"}, {"sdb", "sdc"}} {
		disks.HideAll()
		for i, name := range found {
			if _, err := disks.Store(name, &disk{uint64(10 * i)}); err != nil {
				panic(err)
			}
		}
		list, _ := indom.List(context.Background())
		for i, inst := range list {
			v, err := reads.Value(inst.Inst, i)
			if err != nil {
				panic(err)
			}
			fmt.Println(inst.Inst, inst.Name, v)
		}
		fmt.Println("--")
	}
	// Output:
	// 0 sda 0
	// 1 sdb 10
	// --
	// 2 sdc 0
	// --
	// 1 sdb 0
	// 2 sdc 10
	// --
}
