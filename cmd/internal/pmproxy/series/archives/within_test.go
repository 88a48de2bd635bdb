package archives_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

// TestWithin asks for the series and instances of windows.
func TestWithin(t *testing.T) {
	dir := t.TempDir()
	// The instances of a change, and a series that only the second archive has.
	r := record(t, filepath.Join(dir, "a", "1"), "a", 1000).add(3) // to 1020
	indom := func(sec int64, insts ...pcp.Instance) {
		t.Helper()
		for i := range int32(20) { // with so many the writer writes changes
			insts = append(insts, pcp.Instance{Inst: 100 + i, Name: fmt.Sprint("other ", i)})
		}
		if err := r.w.InDom(pcp.Timestamp{Sec: sec}, loadDesc.InDom, insts); err != nil {
			t.Fatal(err)
		}
	}
	one, five, fifteen := pcp.Instance{Inst: 1, Name: "1 minute"}, pcp.Instance{Inst: 5, Name: "5 minute"}, pcp.Instance{Inst: 15, Name: "15 minute"}
	indom(1030, one, fifteen)
	r.add(3) // to 1050
	indom(1060, one, five)
	r.add(2).close() // to 1070
	r = record(t, filepath.Join(dir, "a", "2"), "a", 2000)
	extra := pcp.Desc{PMID: pcp.NewPMID(60, 7, 7), Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}
	if err := r.w.Desc(extra, "app.extra"); err != nil {
		t.Fatal(err)
	}
	r.add(3).close() // to 2020
	record(t, filepath.Join(dir, "b", "1"), "b", 5000).add(3).close()
	s := open(t, archives.Config{Dirs: []string{dir}})

	var ids []sid.ID
	for _, name := range []string{"kernel.all.load", "hinv.ncpu", "app.extra"} {
		ids = append(ids, sel(t, s, series.Matcher{Field: series.MetricName, Value: name})...)
	}
	ids = append(ids, sid.ID{}) // unknown
	ctx := context.Background()
	f := func(start, end int64, want string) {
		t.Helper()
		list, err := s.Within(ctx, ids, pcp.Timestamp{Sec: start}, pcp.Timestamp{Sec: end}, true)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range list {
			m, err := s.Metric(ctx, p.Series)
			if err != nil {
				t.Fatal(err)
			}
			text := m.Name
			for _, in := range p.Instances {
				if strings.HasPrefix(in.Name, "other") {
					continue
				}
				text += "/" + in.Name
			}
			got = append(got, text)
		}
		if have := strings.Join(got, " "); have != want {
			t.Errorf("%d to %d: %s, want %s", start, end, have, want)
		}
	}
	const all = "kernel.all.load/1 minute/5 minute/15 minute"
	f(0, 999, "")
	f(0, 1000, "kernel.all.load/1 minute/5 minute hinv.ncpu")
	f(1010, 1020, "kernel.all.load/1 minute/5 minute hinv.ncpu")
	f(1010, 1030, all+" hinv.ncpu")
	f(1030, 1059, "kernel.all.load/1 minute/15 minute hinv.ncpu")
	f(1040, 1050, "kernel.all.load/1 minute/15 minute hinv.ncpu")
	f(1040, 1060, all+" hinv.ncpu")
	f(1061, 1062, "kernel.all.load/1 minute/5 minute hinv.ncpu")
	f(1061, 2000, "kernel.all.load/1 minute/5 minute hinv.ncpu app.extra")
	f(1100, 1900, "")
	f(2010, 2015, "kernel.all.load/1 minute/5 minute hinv.ncpu app.extra")
	f(4000, 0, "kernel.all.load/1 minute/5 minute hinv.ncpu")
	both, err := s.Within(ctx, ids, pcp.Timestamp{}, pcp.Timestamp{}, true)
	if err != nil || len(both) != 5 {
		t.Errorf("%d series at all times, %v, want 5", len(both), err)
	}
	plain, err := s.Within(ctx, ids, pcp.Timestamp{Sec: 1040}, pcp.Timestamp{Sec: 1050}, false)
	if err != nil || len(plain) != 2 || plain[0].Instances != nil {
		t.Errorf("without instances: %v, %v", plain, err)
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Within(canceled, ids, pcp.Timestamp{Sec: 1040}, pcp.Timestamp{Sec: 1050}, true); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// TestWithinGrown asks for a window after the last scan.
func TestWithinGrown(t *testing.T) {
	dir := t.TempDir()
	r := record(t, filepath.Join(dir, "a", "1"), "a", 1000).add(3) // to 1020
	s := open(t, archives.Config{Dirs: []string{dir}, Interval: -1})
	ids := sel(t, s, series.Matcher{Field: series.MetricName, Value: "kernel.all.load"})
	within := func() int {
		t.Helper()
		list, err := s.Within(context.Background(), ids, pcp.Timestamp{Sec: 1100}, pcp.Timestamp{}, true)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	if n := within(); n != 0 {
		t.Errorf("%d series after the end", n)
	}
	r.add(20)
	if n := within(); n != 1 {
		t.Errorf("%d series in an archive that has grown, want 1", n)
	}
	r.close()
}
