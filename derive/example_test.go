package derive_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/derive"
)

// A station is a source with one metric, station.count.
type station struct{}

var count = pcp.Desc{PMID: pcp.NewPMID(60, 0, 1), Type: pcp.TypeU64, InDom: pcp.InDomNull, Sem: pcp.SemCounter}

func (station) LookupNames(_ context.Context, names []string, ids []pcp.PMID) error {
	for i, name := range names {
		if name == "station.count" {
			ids[i] = count.PMID
		}
	}
	return nil
}

func (station) Descs(_ context.Context, ids []pcp.PMID, descs []pcp.Desc) error {
	for i, id := range ids {
		if id == count.PMID {
			descs[i] = count
		}
	}
	return nil
}

func (station) InstanceName(context.Context, pcp.InDom, int32, pcp.Timestamp) (string, error) {
	return "", pcp.ErrInDom
}

func (station) LookupInstance(context.Context, pcp.InDom, string) (int32, error) {
	return 0, pcp.ErrInDom
}

func (station) Instances(context.Context, pcp.InDom) ([]int32, error) { return nil, pcp.ErrInDom }

// A metric is bound, its operand fetched twice, and its values computed.
func Example() {
	ctx := context.Background()
	var set derive.Set
	if err := set.Add("station.rate", "rate(station.count)"); err != nil {
		fmt.Println(err)
		return
	}
	b := set.Bind(station{}, func(err error) { fmt.Println(err) })
	id, _ := b.Lookup("station.rate")
	for i := range uint64(2) {
		wanted, err := b.Operands(ctx, []pcp.PMID{id})
		if err != nil {
			fmt.Println(err)
			return
		}
		// The work of a source with wanted:
		res := pcp.Result{Time: pcp.Timestamp{Sec: 10 * int64(i)}}
		for _, id := range wanted {
			res.AddSet(id)
		}
		res.Add(pcp.Uint64Value(100 * i))

		b.Evaluate(ctx, &res, 1)
		fmt.Println(res.Sets[0].PMID, res.Sets[0].Values)
	}
	// Output:
	// 511.0.3 []
	// 511.0.3 [1.000000e+01]
}

// Errors in definitions are shown at their place.
func ExampleSet_Read() {
	var set derive.Set
	n, err := set.Read(strings.NewReader(`
disk.iops = rate(disk.all.total)
disk.iops(oneline) = operations per second of all disks
disk.avgsz = delta(disk.all.bytes) / / delta(disk.all.total)
`), "my.conf")
	fmt.Println(n)
	for line := range strings.Lines(err.Error()) {
		fmt.Println(strings.TrimRight(line, " \n"))
	}
	// Output:
	// 1
	// [my.conf:4] Error: pmRegisterDerived(disk.avgsz, ...) syntax error
	//  delta(disk.all.bytes) / / delta(disk.all.total)
	//                          ^
	// Arithmetic expression expected to follow SLASH
}
