package archives_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/columns"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

// TestOverlap reads archives of two recorders of a host. One was out of work for two minutes, in which the other took over, and noticed it after
// another sample. The second one has a host for a minute that the first one kept. Each moment is read from one archive.
func TestOverlap(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	a := record(t, path("20260101.00.00-a"), "www", 1000).add(4) // to 1030
	a.n = 15
	a.add(1).close()                                                 // 1150
	record(t, path("20260101.00.01-b"), "www", 1045).add(30).close() // to 1335
	record(t, path("20260101.00.02-a"), "www", 2000).add(30).close() // to 2290
	record(t, path("20260101.00.03-b"), "www", 2105).add(6).close()  // to 2155
	want := []string{"1000", "1010", "1020", "1030"}
	for sec := 1045; sec <= 1335; sec += 10 {
		want = append(want, fmt.Sprint(sec))
	}
	for sec := 2000; sec <= 2290; sec += 10 {
		want = append(want, fmt.Sprint(sec))
	}
	for _, cfg := range []archives.Config{{Dirs: []string{dir}, Columns: archives.NoColumns}, {Dirs: []string{dir}}} {
		made := cfg.Columns != archives.NoColumns
		if made {
			for _, name := range []string{"20260101.00.00-a", "20260101.00.01-b", "20260101.00.02-a", "20260101.00.03-b"} {
				if err := columns.Make(context.Background(), path(name), ""); err != nil {
					t.Fatal(err)
				}
			}
		}
		s := open(t, cfg)
		id := named(t, s, "kernel.all.load")
		if n, _ := blocks(t, s, id); made != (n > 0) {
			t.Errorf("columns %t: %d blocks", made, n)
		}
		var got, swept, newest []string
		for sample, err := range s.Values(t.Context(), []sid.ID{id}, series.Window{}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprint(sample.Time.Sec))
		}
		for sample, err := range s.Sweep(t.Context(), []sid.ID{id}, pcp.Timestamp{}, pcp.Timestamp{}) {
			switch {
			case err != nil:
				t.Fatal(err)
			case sample.Block != nil:
				for _, at := range sample.Block.Times {
					swept = append(swept, fmt.Sprint(at/1e9))
				}
			case !sample.Gap:
				swept = append(swept, fmt.Sprint(sample.Time.Sec))
			}
		}
		if !slices.Equal(got, want) || !slices.Equal(swept, want) {
			t.Errorf("columns %t: values at %v, swept %v, want %v", made, got, swept, want)
		}
		for sample, err := range s.Values(t.Context(), []sid.ID{id}, series.Window{Newest: true, Count: len(want)}) {
			if err != nil {
				t.Fatal(err)
			}
			newest = append(newest, fmt.Sprint(sample.Time.Sec))
		}
		if slices.Reverse(newest); !slices.Equal(newest, want) {
			t.Errorf("columns %t: the newest %v, want %v", made, newest, want)
		}
	}
}
