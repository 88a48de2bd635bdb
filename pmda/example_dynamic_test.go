package pmda_test

import (
	"context"
	"fmt"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// Metrics of devices that come and go.
func ExampleTable_SetMetrics() {
	row := func(item int, device string) pmda.Metric {
		return pmda.Metric{
			Name: "sensor." + device + ".temperature", Item: item, Type: pcp.TypeDouble,
			OneLine: "degrees Celsius at " + device,
			Value:   func(int32, int) (pcp.Value, error) { return pcp.DoubleValue(20), nil },
		}
	}
	table, err := pmda.NewTable(pmda.Config{
		Name: "sensor", Domain: 400, Dynamic: []string{"sensor"},
		Metrics: []pmda.Metric{row(0, "door")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := table.SetMetrics([]pmda.Metric{row(0, "door"), row(1, "roof")}); err != nil {
		fmt.Println(err)
		return
	}
	id, err := table.LookupName(context.Background(), "sensor.roof.temperature")
	fmt.Println(id, err)
	names, labels := table.Changes()
	fmt.Println("names are new:", names, "labels:", labels)
	// Output:
	// 400.0.1 <nil>
	// names are new: true labels: false
}

// A source that is too slow for a request to wait for.
func ExampleSnapshot() {
	type router struct{ bytes uint64 }
	shot := pmda.NewSnapshot(func(ctx context.Context) (*router, error) {
		return &router{bytes: 1500}, nil // after a while
	}, pmda.SnapshotOptions{Every: 10 * time.Second, Stale: time.Minute})
	defer shot.Close()

	value := shot.Value(func(r *router) (pcp.Value, error) { return pcp.Uint64Value(r.bytes), nil })
	for {
		v, err := value(pcp.InNull, 0)
		if err == pcp.ErrAgain {
			continue // nothing has been read yet
		}
		fmt.Println(v.Uint64(), err)
		return
	}
	// Output:
	// 1500 <nil>
}
