package archives_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// writeDay writes an archive of one day of a host: 1,000 metrics, of which 100 have 8 instances, each step
// seconds.
func writeDay(t testing.TB, base, host string, day int64, step, seconds int64) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(base), 0o755); err != nil {
		t.Fatal(err)
	}
	at := pcp.Timestamp{Sec: 1_767_225_600 + day*86400}
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Version: archive.Version3, PID: 1, Host: host, TimeZone: "UTC", Start: at}})
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	const metrics, withInsts, insts = 1000, 100, 8
	indom := pcp.NewInDom(60, 1)
	var disks []pcp.Instance
	for i := range insts {
		disks = append(disks, pcp.Instance{Inst: int32(i), Name: "disk" + strconv.Itoa(i)})
	}
	id := func(i int) pcp.PMID { return pcp.NewPMID(60, i/100, i%100) }
	for i := range metrics {
		desc := pcp.Desc{PMID: id(i), Type: pcp.TypeU64, InDom: pcp.InDomNull, Sem: pcp.SemCounter, Units: pcp.NewUnits(0, 0, 1, 0, 0, 0)}
		if i < withInsts {
			desc.InDom = indom
		}
		must(w.Desc(desc, fmt.Sprintf("kernel.group%02d.some.metric%02d", i/100, i%100)))
		must(w.Text(pcp.TextPMID|pcp.TextOneLine, uint32(desc.PMID), "one line of help about this metric"))
	}
	set, err := pcp.StringLabels(pcp.LabelContext, "hostname", host)
	must(err)
	must(w.Labels(at, pcp.LabelContext, uint32(pcp.PMIDNull), []pcp.LabelSet{set}))
	set, err = pcp.StringLabels(pcp.LabelDomain, "agent", "linux")
	must(err)
	must(w.Labels(at, pcp.LabelDomain, 60, []pcp.LabelSet{set}))
	must(w.InDom(at, indom, disks))
	var res pcp.Result
	for s := int64(0); s < seconds; s += step {
		res.Reset()
		res.Time = at.Add(time.Duration(s) * time.Second)
		for i := range metrics {
			res.AddSet(id(i))
			n := uint64(s * int64(i))
			switch {
			case i < withInsts:
				for k := range insts {
					res.Add(pcp.Uint64Value(n + uint64(k)).WithInst(int32(k)))
				}
			default:
				res.Add(pcp.Uint64Value(n).WithInst(pcp.InNull))
			}
		}
		must(w.WriteResult(&res))
	}
	must(w.Close())
}

// BenchmarkMonth reads a metric with 8 instances over a month in 1,000 steps. In the long form, a day is 90 MB of
// archive, as from a host with 1,000 metrics every 35 seconds; in the short form a twentieth of that. In the cold
// case the archives are not open; the files are in the page cache, as they usually are after they were written.
func BenchmarkMonth(b *testing.B) {
	dir := b.TempDir()
	if keep := os.Getenv("PCP_BENCH_DIR"); keep != "" {
		dir = keep
	}
	const days = 30
	for day := range int64(days) {
		base := filepath.Join(dir, fmt.Sprintf("host/day%02d", day))
		if _, err := os.Stat(base + ".meta"); err != nil {
			writeDay(b, base, "host", day, int64(longtest.N(700, 35)), 86400)
		}
	}
	ctx := context.Background()
	cfg := archives.Config{Dirs: []string{dir}, Index: filepath.Join(b.TempDir(), "series.db"), Interval: -1}
	s, err := archives.Open(ctx, cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { s.Close() }()
	list, err := s.Select(ctx, series.Matcher{Field: series.MetricName, Value: "kernel.group00.some.metric42"})
	if err != nil || len(list) != 1 {
		b.Fatal(list, err)
	}
	ask := func(b *testing.B, list []sid.ID, w series.Window) {
		b.Helper()
		n := 0
		for sample, err := range s.Values(ctx, list, w) {
			if err != nil {
				b.Fatal(err)
			}
			n += len(sample.Values)
		}
		if n < 700 {
			b.Fatalf("%d values", n)
		}
	}
	steps := series.Window{Start: pcp.Timestamp{Sec: 1_767_225_600}, End: pcp.Timestamp{Sec: 1_767_225_600 + days*86400}, Interval: days * 86400 / 1000 * time.Second}
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
			if s, err = archives.Open(ctx, cfg); err != nil {
				b.Fatal(err)
			}
			ask(b, list, steps)
		}
	})
	b.Run("warm", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ask(b, list, steps)
		}
	})
	b.Run("hour", func(b *testing.B) {
		w := series.Window{Start: pcp.Timestamp{Sec: 1_767_225_600 + 20*86400}, End: pcp.Timestamp{Sec: 1_767_225_600 + 20*86400 + 3*3600*20}}
		for b.Loop() {
			ask(b, list, w)
		}
	})
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			ask(b, list, series.Window{})
		}
	})
}

// BenchmarkHosts opens a store with the archives of many hosts: 100, of 10 days each, in the long form. It reports
// the resident memory once the index exists. An archive has few records here, which does not matter, as values are
// not kept in memory.
func BenchmarkHosts(b *testing.B) {
	dir := b.TempDir()
	if keep := os.Getenv("PCP_BENCH_DIR"); keep != "" {
		dir = keep
	}
	for host := range longtest.N(5, 100) {
		for day := range int64(longtest.N(2, 10)) {
			base := filepath.Join(dir, fmt.Sprintf("hosts/h%03d/day%02d", host, day))
			if _, err := os.Stat(base + ".meta"); err != nil {
				writeDay(b, base, fmt.Sprintf("h%03d.example.com", host), day, 40_000, 86400)
			}
		}
	}
	ctx := context.Background()
	cfg := archives.Config{Dirs: []string{filepath.Join(dir, "hosts")}, Index: filepath.Join(dir, "hosts.db"), Interval: -1}
	for b.Loop() {
		s, err := archives.Open(ctx, cfg)
		if err != nil {
			b.Fatal(err)
		}
		list, err := s.Select(ctx, series.Matcher{Field: series.MetricName, Value: "kernel.group00.some.metric42"})
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for _, err := range s.Values(ctx, list, series.Window{Newest: true, Count: 1}) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != len(list) || n == 0 {
			b.Fatalf("%d samples of %d series", n, len(list))
		}
		status, err := os.ReadFile("/proc/self/status")
		if err == nil {
			for line := range strings.Lines(string(status)) {
				if kb, ok := strings.CutPrefix(line, "VmRSS:"); ok {
					var n float64
					fmt.Sscan(kb, &n)
					b.ReportMetric(n/1024, "MB-resident")
				}
			}
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
