package pmda_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// A whole agent. To use it, add a line for it to the collector's
// configuration.
func Example() {
	d := &pmda.Daemon{Name: "pmdaclock", Domain: 400, New: func(domain int, _ *slog.Logger) (pmda.Agent, error) {
		return pmda.NewTable(pmda.Config{Name: "clock", Domain: domain, Metrics: []pmda.Metric{{
			Name: "clock.time", Type: pcp.TypeU64,
			Sem: pcp.SemCounter, Units: pcp.NewUnits(0, 1, 0, 0, pcp.TimeSec, 0),
			OneLine: "seconds since 1970",
			Value: func(int32, int) (pcp.Value, error) {
				return pcp.Uint64Value(uint64(time.Now().Unix())), nil
			},
		}}})
	}}
	d.Main()
}

// An agent whose instances come and go reads its source once for a fetch, in
// Refresh, and returns values from that.
func ExampleNewTable() {
	type volume struct {
		name string
		used uint64
	}
	var volumes []volume // as of the last refresh
	read := func(context.Context) error {
		volumes = []volume{{"root", 123}, {"home", 4567}}
		return nil
	}
	byName := &pmda.InDom{
		Serial:  1,
		OneLine: "mounted volumes",
		Refresh: read, // for a question about the instances alone
		List: func(context.Context) ([]pcp.Instance, error) {
			list := make([]pcp.Instance, len(volumes))
			for i, v := range volumes {
				list[i] = pcp.Instance{Inst: int32(i), Name: v.name}
			}
			return list, nil
		},
		InstanceLabels: func(_ int32, i int) string { return fmt.Sprintf(`{"volume":%q}`, volumes[i].name) },
	}
	table, err := pmda.NewTable(pmda.Config{
		Name: "volumes", Domain: 400,
		Refresh: func(ctx context.Context, ids []pcp.PMID) error { return read(ctx) },
		Metrics: []pmda.Metric{{
			Name: "volumes.used", Type: pcp.TypeU64, InDom: byName,
			Sem: pcp.SemInstant, Units: pcp.NewUnits(1, 0, 0, pcp.SpaceKByte, 0, 0),
			OneLine: "space in use",
			Value: func(_ int32, i int) (pcp.Value, error) {
				return pcp.Uint64Value(volumes[i].used), nil
			},
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	// A collector does this for a client.
	ctx, ids := context.Background(), []pcp.PMID{pcp.NewPMID(400, 0, 0)}
	req := &pmda.FetchRequest{Client: &pmda.Client{}, PMIDs: ids, Result: new(pcp.Result)}
	if err := table.Refresh(ctx, ids); err != nil {
		fmt.Println(err)
		return
	}
	if err := table.Fetch(ctx, req); err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range req.Result.Sets[0].Values {
		name, _ := pmda.InstanceName(ctx, table, pcp.NewInDom(400, 1), v.Inst)
		fmt.Println(name, v.Uint64())
	}
	// Output:
	// root 123
	// home 4567
}

// A metric that can be stored.
func ExampleMetric_store() {
	var interval uint32 = 10
	m := pmda.Metric{
		Name: "clock.interval", Type: pcp.TypeU32, Sem: pcp.SemDiscrete,
		Value: func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(interval), nil },
		Store: func(_ *pmda.Client, _ int32, _ int, v pcp.Value) error {
			if v.Uint32() == 0 {
				return pcp.ErrBadStore
			}
			interval = v.Uint32()
			return nil
		},
	}
	table, err := pmda.NewTable(pmda.Config{Name: "clock", Domain: 400, Metrics: []pmda.Metric{m}})
	if err != nil {
		fmt.Println(err)
		return
	}
	set := func(v uint32) error {
		return table.Store(context.Background(), &pmda.Client{}, &pcp.Result{Sets: []pcp.ValueSet{{
			PMID: pcp.NewPMID(400, 0, 0), Values: []pcp.Value{pcp.Uint32Value(v)},
		}}})
	}
	fmt.Println(set(30), interval)
	fmt.Println(set(0), interval)
	// Output:
	// <nil> 30
	// Bad input to pmstore 30
}
