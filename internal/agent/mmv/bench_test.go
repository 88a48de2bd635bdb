package mmv_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/mmv"
	file "github.com/go-pcp/pcp/mmv"
	"github.com/go-pcp/pcp/pmda"
)

// tenThousand makes a file with 10 counters of 1000 instances.
func tenThousand(t testing.TB, dir string) *file.Registry {
	t.Helper()
	reg, err := file.New("many", file.Options{Dir: dir, Cluster: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reg.Close() })
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("instance-%d", i))
	}
	dom := reg.InDom(file.InDomDef{Instances: names})
	for i := range 10 {
		v := reg.CounterVec(file.Metric{Name: fmt.Sprintf("count%d", i), InDom: dom})
		v.With("instance-7").Add(uint64(i + 1))
	}
	if err := reg.Err(); err != nil {
		t.Fatal(err)
	}
	return reg
}

func newAgent(t testing.TB, cfg mmv.Config) *mmv.Agent {
	t.Helper()
	a, err := mmv.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// all returns the PMIDs of all metrics of files.
func all(t testing.TB, a *mmv.Agent) (ids []pcp.PMID) {
	t.Helper()
	kids, err := a.Children(t.Context(), "mmv", true)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kids {
		id, err := a.LookupName(t.Context(), k.Name)
		if err != nil {
			t.Fatalf("%s: %v", k.Name, err)
		}
		if id.Cluster() != 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

func BenchmarkFetch10000(b *testing.B) {
	dir := b.TempDir()
	tenThousand(b, dir)
	a := newAgent(b, mmv.Config{Dirs: []string{dir}})
	ids := all(b, a)
	req := &pmda.FetchRequest{Client: &pmda.Client{}, PMIDs: ids, Result: new(pcp.Result)}
	b.ReportAllocs()
	for b.Loop() {
		req.Result.Reset()
		if err := a.Refresh(context.Background(), ids); err != nil {
			b.Fatal(err)
		}
		if err := a.Fetch(context.Background(), req); err != nil {
			b.Fatal(err)
		}
	}
	if n := len(req.Result.Sets); n != 10 || len(req.Result.Sets[3].Values) != 1000 {
		b.Fatalf("%d metrics", n)
	}
}

// BenchmarkFetchOne fetches one value while there are many files.
func BenchmarkFetchOne(b *testing.B) {
	for _, files := range []int{1, 50, 1000} {
		b.Run(fmt.Sprintf("files=%d", files), func(b *testing.B) {
			dir := b.TempDir()
			for i := range files {
				reg, err := file.New(fmt.Sprintf("f%d", i), file.Options{Dir: dir, MaxValues: 10})
				if err != nil {
					b.Fatal(err)
				}
				defer reg.Close()
				reg.Counter(file.Metric{Name: "count"}).Inc()
			}
			a := newAgent(b, mmv.Config{Dirs: []string{dir}})
			ids := all(b, a)[:1]
			req := &pmda.FetchRequest{Client: &pmda.Client{}, PMIDs: ids, Result: new(pcp.Result)}
			b.ReportAllocs()
			for b.Loop() {
				req.Result.Reset()
				a.Refresh(context.Background(), ids)
				a.Fetch(context.Background(), req)
			}
			if len(req.Result.Sets[0].Values) != 1 {
				b.Fatal("no value")
			}
		})
	}
}
