package keys_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/keys"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/keys/keystest"
)

func metricName(i int) string { return fmt.Sprintf("some.metric%d", i) }

// TestFailover kills a master of a cluster while an archive grows and is loaded. All values that were reported as loaded remain, and
// requests are answered again.
func TestFailover(t *testing.T) {
	servers := keystest.StartCluster(t)
	addresses := make([]string, len(servers))
	for i, s := range servers {
		addresses[i] = s.Address
	}
	store, err := keys.Open(t.Context(), keys.Config{Servers: addresses})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	base := filepath.Join(t.TempDir(), "a")
	im, err := importer.Start(base, importer.Options{Host: "this", TimeZone: "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	const metrics, records, perRun, killed = 60, 400, 10, 150
	var handles []importer.Handle
	for i := range metrics {
		m, err := im.NewMetric(metricName(i), importer.Spec{})
		if err != nil {
			t.Fatal(err)
		}
		handles = append(handles, m.Handle)
	}
	stop := make(chan struct{})
	var reads sync.WaitGroup
	read := 0
	reads.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			ids, err := store.Select(ctx, series.Matcher{Field: series.MetricName, Match: func(string) bool { return true }})
			if err != nil {
				t.Errorf("read %d: %v", read, err)
			}
			for _, err := range store.Values(ctx, ids, series.Window{Newest: true, Count: 1}) {
				if err != nil {
					t.Errorf("read %d: %v", read, err)
				}
			}
			cancel()
			read++
		}
	})
	begin := time.Now().Add(-time.Hour).Truncate(time.Second)
	var loader *keys.Loader
	var kill sync.WaitGroup
	var longest time.Duration
	for n := range records {
		for _, h := range handles {
			if err := h.PutUint(uint64(n)); err != nil {
				t.Fatal(err)
			}
		}
		if err := im.Write(begin.Add(time.Duration(n) * time.Second)); err != nil {
			t.Fatal(err)
		}
		if n%perRun != perRun-1 {
			continue
		}
		if err := im.Flush(); err != nil {
			t.Fatal(err)
		}
		if n+1 == killed {
			for _, s := range servers {
				if s.Master(t) {
					kill.Go(func() { s.Kill(t) })
					break
				}
			}
		}
		if loader == nil {
			if loader, err = store.NewLoader(t.Context(), base, keys.LoadOptions{}); err != nil {
				t.Fatal(err)
			}
			defer loader.Close()
		}
		start := time.Now()
		if err := loader.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		longest = max(longest, time.Since(start))
	}
	kill.Wait()
	close(stop)
	reads.Wait()
	if err := im.End(); err != nil {
		t.Fatal(err)
	}
	t.Logf("the longest run of %d records took %v; %d reads", perRun, longest, read)
	waits := 0
	for _, s := range servers {
		if s.Running() {
			if stats, err := s.Do(t, "INFO", "commandstats").ToString(); err == nil && strings.Contains(stats, "cmdstat_wait:") {
				waits++
			}
		}
	}
	if waits == 0 {
		t.Error("no batch waited for a replica")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i := range metrics {
		ids, err := store.Select(ctx, series.Matcher{Field: series.MetricName, Value: metricName(i)})
		if err != nil || len(ids) != 1 {
			t.Fatalf("%s: %d series, %v", metricName(i), len(ids), err)
		}
		n := uint32(0)
		for sample, err := range store.Values(ctx, ids, series.Window{}) {
			if err != nil {
				t.Fatal(err)
			}
			if got := sample.Values[0].Value.Uint32(); got != n {
				t.Fatalf("%s: value %d is %d", metricName(i), n, got)
			}
			n++
		}
		if n != records {
			t.Errorf("%s: %d values, want %d", metricName(i), n, records)
		}
	}
}
