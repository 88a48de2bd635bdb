package archives_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

// sweep returns the samples of each series as text: seconds, and the values, or "gap".
func sweep(t *testing.T, s series.Store, ids []sid.ID, start, end int64) map[sid.ID][]string {
	t.Helper()
	got := map[sid.ID][]string{}
	for sample, err := range s.Sweep(context.Background(), ids, pcp.Timestamp{Sec: start}, pcp.Timestamp{Sec: end}) {
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint(sample.Time.Sec)
		for _, v := range sample.Values {
			text += " " + string(series.AppendValue(nil, v.Value, v.Value.Type()))
		}
		if sample.Gap {
			text += " gap"
		}
		got[sample.Series] = append(got[sample.Series], text)
	}
	return got
}

// TestSweep compares with Values, and looks for gaps.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	record(t, filepath.Join(dir, "a", "1"), "a", 1000).add(12).close() // to 1110
	record(t, filepath.Join(dir, "a", "2"), "a", 1120).add(6).close()  // to 1170, without a pause
	r := record(t, filepath.Join(dir, "a", "3"), "a", 1500).add(3)     // after a pause
	if err := r.w.Mark(pcp.Timestamp{Sec: 1525}); err != nil {
		t.Fatal(err)
	}
	r.add(4).close() // to 1560
	record(t, filepath.Join(dir, "b", "1"), "b", 1000).add(3).close()
	s := open(t, archives.Config{Dirs: []string{dir}})

	var ids []sid.ID
	for _, name := range []string{"kernel.all.load", "hinv.ncpu", "hinv.cpus", "app.state"} {
		ids = append(ids, sel(t, s, series.Matcher{Field: series.MetricName, Value: name})...)
	}
	ids = append(ids, ids[0], sid.ID{}) // twice, and unknown
	for _, w := range [][2]int64{{0, 0}, {1000, 1700}, {1035, 1125}, {1110, 1110}, {1510, 1540}, {2000, 3000}, {0, 500}} {
		got := sweep(t, s, ids, w[0], w[1])
		for _, id := range ids[:len(ids)-2] {
			var want []string
			for sample, err := range s.Values(context.Background(), []sid.ID{id}, series.Window{Start: pcp.Timestamp{Sec: w[0]}, End: pcp.Timestamp{Sec: w[1]}}) {
				if err != nil {
					t.Fatal(err)
				}
				text := fmt.Sprint(sample.Time.Sec)
				for _, v := range sample.Values {
					text += " " + string(series.AppendValue(nil, v.Value, v.Value.Type()))
				}
				want = append(want, text)
			}
			have := slices.DeleteFunc(slices.Clone(got[id]), func(s string) bool { return strings.HasSuffix(s, "gap") })
			if !slices.Equal(have, want) {
				t.Errorf("%v of %v: %q, want %q", w, id, have, want)
			}
		}
	}

	for _, id := range ids[:1] {
		m, err := s.Metric(context.Background(), id)
		if err != nil {
			t.Fatal(err)
		}
		list, err := s.Select(context.Background(), series.Matcher{Field: series.ContextName, Value: "a"})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(list, id) {
			id = ids[1]
		}
		for end, want := range map[int64][]string{0: {"1170 gap", "1525 gap"}, 1170: nil, 1171: {"1170 gap"}, 1300: {"1170 gap"}, 1125: nil} {
			var gaps []string
			for _, text := range sweep(t, s, []sid.ID{id}, 0, end)[id] {
				if strings.HasSuffix(text, "gap") {
					gaps = append(gaps, text)
				}
			}
			if !slices.Equal(gaps, want) {
				t.Errorf("%s to %d: gaps %q, want %q", m.Name, end, gaps, want)
			}
		}
	}

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, err := range s.Sweep(ctx, ids, pcp.Timestamp{}, pcp.Timestamp{}) {
		if err == nil {
			t.Error("a cancelled sweep yields samples")
		}
	}
	n := 0
	for range s.Sweep(context.Background(), ids, pcp.Timestamp{}, pcp.Timestamp{}) {
		if n++; n == 5 {
			break
		}
	}
	if n != 5 {
		t.Errorf("%d samples", n)
	}
}
