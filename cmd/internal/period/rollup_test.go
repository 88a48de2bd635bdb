package period

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/storage"
)

// TestChoose chooses among archives of several levels.
func TestChoose(t *testing.T) {
	const raw, minute, hour = time.Duration(0), time.Minute, time.Hour
	list := []Extent{
		{hour, 0, 100}, {minute, 0, 100}, // 0, 1: the recorded one has expired
		{hour, 101, 200}, {minute, 101, 200}, {raw, 101, 200}, // 2, 3, 4
		{raw, 201, 250}, {raw, 251, 300}, {minute, 202, 299}, // 5, 6, 7: two recorders, one after the other
		{raw, 301, 400}, // 8: there are no roll-ups yet
	}
	for _, c := range []struct {
		best time.Duration
		want []int
	}{
		{0, []int{1, 4, 5, 6, 8}},
		{minute, []int{1, 3, 7, 8}},
		{2 * minute, []int{1, 3, 7, 8}},
		{hour, []int{0, 2, 7, 8}},
	} {
		if got := Choose(list, c.best); !slices.Equal(got, c.want) {
			t.Errorf("Choose(%v) = %v, want %v", c.best, got, c.want)
		}
	}
	if got := Choose(nil, hour); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

// TestBest checks for which windows roll-ups are used.
func TestBest(t *testing.T) {
	for _, c := range []struct{ resolution, window, want time.Duration }{
		{0, 0, 0},
		{30 * time.Second, 0, 0},
		{time.Minute, 0, time.Minute},
		{time.Minute, time.Hour, 0},
		{time.Hour, 500 * time.Minute, time.Minute},
		{time.Hour, 500 * time.Hour, time.Hour},
		{24 * time.Hour, 0, time.Hour},
	} {
		if got := Best(c.resolution, c.window); got != c.want {
			t.Errorf("Best(%v, %v) = %v, want %v", c.resolution, c.window, got, c.want)
		}
	}
	for path, want := range map[string]time.Duration{
		"s3://b/p/rollup/1min/h/20260101": time.Minute, "/a/rollup/1h/h/20260101": time.Hour, "/a/rollup/2h/h/20260101": 0,
		"/a/h/20260101": 0, "rollup/1h/x": 0, "/a/rollup/1h/h/i/20260101": 0,
	} {
		if got := StepOf(path); got != want {
			t.Errorf("StepOf(%q) = %v, want %v", path, got, want)
		}
	}
}

// TestBefore looks for the roll-ups of expired times, on the disk and in a store.
func TestBefore(t *testing.T) {
	d := &dirStore{root: t.TempDir(), opened: map[string]bool{}}
	storage.Register("dir", func() storage.Store { return d })
	start := at(t, "20250101.00.10")
	for i := range 10 {
		s := start.AddDate(0, 0, i)
		name := s.Format("20060102.15.04")
		write(t, filepath.Join(d.root, "p/rollup/1h/h", name), s, s.Add(23*time.Hour))
		if i >= 4 {
			write(t, filepath.Join(d.root, "p/rollup/1min/h", name), s, s.Add(23*time.Hour))
		}
		if i >= 6 {
			write(t, filepath.Join(d.root, "p/h", name), s, s.Add(24*time.Hour-time.Minute))
		}
	}
	for _, root := range []string{"dir://p", filepath.Join(d.root, "p")} {
		for _, c := range []struct {
			from, to string
			want     []string // without the directory of roll-ups
			recorded bool
		}{
			{"20250102.12.00", "20250102.13.00", []string{"1h/h/20250102.00.10"}, false},
			{"20250105.12.00", "20250105.13.00", []string{"1min/h/20250105.00.10"}, false},
			{"20250106.12.00", "20250108.13.00", []string{"1min/h/20250106.00.10"}, true},
			{"20250108.12.00", "20250108.13.00", nil, true},
		} {
			list, recorded := Before(root+"/h", pcp.TimestampOf(at(t, c.from)), pcp.TimestampOf(at(t, c.to)))
			var got []string
			for _, a := range list {
				got = append(got, a.Path[len(root+"/rollup/"):])
			}
			if !slices.Equal(got, c.want) || recorded != c.recorded {
				t.Errorf("%s, %s to %s: %q, %v, want %q, %v", root, c.from, c.to, got, recorded, c.want, c.recorded)
			}
		}
		if list, recorded := Before(root+"/other", pcp.Timestamp{}, pcp.Timestamp{}); list != nil || !recorded {
			t.Errorf("of a host without roll-ups: %v, %v", list, recorded)
		}
	}
	if err := os.RemoveAll(filepath.Join(d.root, "p/h")); err != nil {
		t.Fatal(err)
	}
	list, recorded := Before(filepath.Join(d.root, "p/h"), pcp.TimestampOf(start), pcp.TimestampOf(start.AddDate(1, 0, 0)))
	if recorded || len(list) != 10 {
		t.Errorf("without recorded archives: %d, %v", len(list), recorded)
	}
}
