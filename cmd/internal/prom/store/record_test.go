package store_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
	"github.com/go-pcp/pcp/cmd/internal/prom/store"
)

// write writes an archive of a counter: values each 10 seconds, of which a negative one is a mark record.
func write(t *testing.T, base string, start int64, values ...int64) {
	t.Helper()
	w, err := archive.Create(base, archive.WriterConfig{
		Label: archive.Label{Version: archive.Version3, PID: 1, Host: "www", TimeZone: "UTC", Start: pcp.Timestamp{Sec: start}},
	})
	if err != nil {
		t.Fatal(err)
	}
	desc := pcp.Desc{PMID: pcp.NewPMID(60, 1, 1), Type: pcp.TypeU64, InDom: pcp.InDomNull, Sem: pcp.SemCounter}
	if err := w.Desc(desc, "net.in"); err != nil {
		t.Fatal(err)
	}
	var res pcp.Result
	for i, v := range values {
		at := pcp.Timestamp{Sec: start + 10*int64(i)}
		if v < 0 {
			if err := w.Mark(at); err != nil {
				t.Fatal(err)
			}
			continue
		}
		res.Reset()
		res.Time = at
		res.AddSet(desc.PMID)
		res.Add(pcp.Uint64Value(uint64(v)).WithInst(pcp.InNull))
		if err := w.WriteResult(&res); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestRecorded queries archives with a counter that is reset, mark records, archives that follow each other, and a pause between two.
func TestRecorded(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "1"), 1000, 100, 110, 120, -1, 5, 15) // to 1050
	write(t, filepath.Join(dir, "2"), 1060, 25, 35)                   // to 1070, without a pause
	write(t, filepath.Join(dir, "3"), 1200, 3, 13)                    // to 1210
	src, err := archives.Open(context.Background(), archives.Config{Dirs: []string{dir}, Interval: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	s := store.New(src, store.Config{})
	f := func(expr string, at int64, want string) {
		t.Helper()
		if got, _, _ := strings.Cut(query(t, s, expr, at), " @["); got != want {
			t.Errorf("%s at %d: %q, want %q", expr, at, got, want)
		}
	}
	f("sum(net_in)", 999, "")
	f("sum(net_in)", 1029, "{} => 120")
	f("sum(net_in)", 1030, "") // the mark record
	f("sum(net_in)", 1039, "")
	f("sum(net_in)", 1045, "{} => 5")
	f("sum(net_in)", 1059, "{} => 15")
	f("sum(net_in)", 1065, "{} => 25")
	f("sum(net_in)", 1075, "") // the end of an archive before a pause
	f("sum(net_in)", 1199, "")
	f("sum(net_in)", 1205, "{} => 3")
	f("sum(net_in)", 1210+5*minute-1, "{} => 13")
	f("sum(net_in)", 1210+5*minute, "")
	f("sum(resets(net_in[100s]))", 1070, "{} => 1")
	f("sum(resets(net_in[300s]))", 1210, "{} => 2")
	f("sum(increase(net_in[30s]))", 1020, "{} => 30")
	f("sum(rate(net_in[20s]))", 1070, "{} => 1")
	f("sum(delta(net_in[20s]))", 1020, "{} => 20")
	f("sum(count_over_time(net_in[1000s]))", 1210, "{} => 9")
}
