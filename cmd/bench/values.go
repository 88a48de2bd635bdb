//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/go-pcp/pcp/mmv"
)

// The file that both sides serve: its values are as many as mmv fetches.
const (
	mmvFile      = "many"
	mmvMetrics   = 10
	mmvInstances = 1000
)

// publish makes a file of memory-mapped values in our collector's folder, and
// lets the C one see it too.
func (b *bench) publish() (*mmv.Registry, error) {
	dir := filepath.Join(b.ours.dir, "tmp", "mmv")
	reg, err := mmv.New(mmvFile, mmv.Options{Dir: dir, Cluster: 1})
	if err != nil {
		return nil, err
	}
	names := make([]string, mmvInstances)
	for i := range names {
		names[i] = fmt.Sprintf("instance-%d", i)
	}
	dom := reg.InDom(mmv.InDomDef{Instances: names})
	for i := range mmvMetrics {
		reg.CounterVec(mmv.Metric{Name: fmt.Sprintf("count%d", i), InDom: dom}).With(names[i]).Inc()
	}
	err = reg.Err()
	if err == nil && b.real != nil {
		err = os.Symlink(filepath.Join(dir, mmvFile), filepath.Join(b.real.dir, "tmp", "mmv", mmvFile))
	}
	if err != nil {
		reg.Close()
		return nil, err
	}
	return reg, nil
}

// mappedValues measures fetches of 10,000 memory-mapped values.
func (b *bench) mappedValues(ctx context.Context) error {
	heading := false
	for _, clients := range []int{1, 10} {
		if !b.wants(fmt.Sprintf("mmv.%d", clients)) {
			continue
		}
		if !heading {
			heading = true
			reg, err := b.publish()
			if err != nil {
				return err
			}
			defer reg.Close()
			fmt.Printf("\n%-12s %7s %8s %9s %10s %10s %10s %9s %7s\n",
				"mmv", "clients", "values", "side", "fetches/s", "p50", "p95", "cpu/fetch", "ratio")
		}
		ids, err := b.shared(ctx, []string{"mmv." + mmvFile})
		if err != nil {
			return err
		}
		var theirs time.Duration
		for _, s := range b.sides() {
			l := load{Addr: s.tcp, Clients: clients, Time: b.time, PMIDs: ids}
			before := cpuTime(s.pids())
			r, err := l.run()
			if err != nil {
				fmt.Printf("%-12s %7d %8d %9s failed: %v\n", "fetch", clients, len(ids)*mmvInstances, s.name, err)
				continue
			}
			cpu := (cpuTime(s.pids()) - before) / time.Duration(max(1, r.Fetches))
			fmt.Printf("%-12s %7d %8d %9s %10.0f %10s %10s %9s", "fetch", clients, len(ids)*mmvInstances, s.name,
				r.PerSecond(), short(r.P50), short(r.P95), short(cpu))
			if s == b.real {
				theirs = r.P50
			} else if theirs > 0 {
				fmt.Printf(" %7.2f", float64(theirs)/float64(r.P50))
			}
			fmt.Println()
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	return nil
}
