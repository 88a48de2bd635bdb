package archives_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

// TestConcurrent queries from several goroutines while archives grow and are scanned for, with a limit on
// open archives below their number.
func TestConcurrent(t *testing.T) {
	dir := t.TempDir()
	record(t, filepath.Join(dir, "one"), "a", 1000).add(50).close()
	record(t, filepath.Join(dir, "two"), "a", 10_000).add(50).close()
	r := record(t, filepath.Join(dir, "three"), "a", 20_000).add(50)
	s := open(t, archives.Config{Dirs: []string{dir}, MaxOpen: 1})
	id := named(t, s, "kernel.all.load")
	ctx := context.Background()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for k := range 20 {
				n := 0
				for _, err := range s.Values(ctx, []sid.ID{id}, series.Window{}) {
					if err != nil {
						t.Error(err)
						return
					}
					n++
				}
				if n < 150 {
					t.Errorf("%d samples", n)
				}
				if err := s.PutExpr(ctx, sid.String(string(rune('a'+i))), series.Expr{Query: "q", Desc: pcp.Desc{PMID: pcp.PMID(k)}}); err != nil {
					t.Error(err)
				}
				if _, err := s.Strings(ctx, series.LabelValue, "hostname"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 10 {
		r.add(5)
		gc(t, s)
	}
	wg.Wait()
	if got := values(t, s, id, series.Window{}); len(got) != 200 {
		t.Errorf("%d samples at the end, want 200", len(got))
	}
}
