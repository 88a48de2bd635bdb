package archives_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
)

const monthStart = 1_767_225_600

// writeHost writes an archive for each of a number of days of a host: a metric with 8 instances and 50 others, each step.
func writeHost(t testing.TB, dir, host string, days int, step time.Duration) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(dir, host), 0o755))
	indom := pcp.NewInDom(60, 1)
	var disks []pcp.Instance
	for i := range 8 {
		disks = append(disks, pcp.Instance{Inst: int32(i), Name: fmt.Sprint("disk", i)})
	}
	for day := range days {
		at := pcp.Timestamp{Sec: monthStart + int64(day)*86400}
		base := filepath.Join(dir, host, fmt.Sprintf("day%02d", day))
		if _, err := os.Stat(base + ".meta"); err == nil {
			continue
		}
		w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Version: archive.Version3, PID: 1, Host: host, TimeZone: "UTC", Start: at}})
		must(err)
		for i := range 51 {
			desc := pcp.Desc{PMID: pcp.NewPMID(60, 0, i), Type: pcp.TypeU64, InDom: pcp.InDomNull, Sem: pcp.SemCounter, Units: pcp.Units{DimCount: 1}}
			if i == 0 {
				desc.InDom = indom
			}
			must(w.Desc(desc, fmt.Sprintf("disk.some.metric%02d", i)))
		}
		must(w.InDom(at, indom, disks))
		var res pcp.Result
		for d := time.Duration(0); d < 24*time.Hour; d += step {
			res.Reset()
			res.Time = at.Add(d)
			for i := range 51 {
				res.AddSet(pcp.NewPMID(60, 0, i))
				if i > 0 {
					res.Add(pcp.Uint64Value(uint64(d) * uint64(i)).WithInst(pcp.InNull))
					continue
				}
				for k := range 8 {
					res.Add(pcp.Uint64Value(uint64(d) + uint64(k)).WithInst(int32(k)))
				}
			}
			must(w.WriteResult(&res))
		}
		must(w.Close())
	}
}

// TestManyHosts reads a metric of different numbers of hosts, with more archives than may be open: the work for each host is the same. Each
// archive is opened once, and its volumes do not stay open.
func TestManyHosts(t *testing.T) {
	const days, most = 5, 8
	for _, hosts := range []int{2, 8} {
		dir := t.TempDir()
		for h := range hosts {
			writeHost(t, dir, fmt.Sprintf("h%03d", h), days, time.Hour)
		}
		s, err := archives.Open(t.Context(), archives.Config{Dirs: []string{dir}, Interval: -1, MaxOpen: most})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		list, err := s.Select(t.Context(), series.Matcher{Field: series.MetricName, Value: "disk.some.metric00"})
		if err != nil || len(list) != hosts {
			t.Fatal(len(list), err)
		}
		for range 3 {
			n := 0
			w := series.Window{Start: pcp.Timestamp{Sec: monthStart}, Interval: 2 * time.Hour}
			for sample, err := range s.Values(t.Context(), list, w) {
				if err != nil {
					t.Fatal(err)
				}
				n += len(sample.Values)
			}
			if n < hosts*days*12*8 {
				t.Errorf("%d hosts: %d values", hosts, n)
			}
			if n := s.Opened(); n != hosts*days {
				t.Errorf("%d hosts: %d archives were opened, want %d", hosts, n, hosts*days)
			}
			if n := s.Stats().Open; n > most {
				t.Errorf("%d hosts: %d archives stay open", hosts, n)
			}
		}
	}
}

// BenchmarkMonthOfHosts reads a metric of all hosts over a month in 1,000 steps, and prints the time for each host.
func BenchmarkMonthOfHosts(b *testing.B) {
	dir := b.TempDir()
	if keep := os.Getenv("PCP_BENCH_DIR"); keep != "" {
		dir = keep
	}
	for _, hosts := range []int{4, 40, 160} {
		b.Run(fmt.Sprint(hosts), func(b *testing.B) {
			own := filepath.Join(dir, fmt.Sprint("of", hosts))
			for h := range hosts {
				writeHost(b, own, fmt.Sprintf("h%03d", h), 30, 5*time.Minute)
			}
			cfg := archives.Config{Dirs: []string{own}, Index: filepath.Join(own, "series.db"), Interval: -1}
			s, err := archives.Open(b.Context(), cfg)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			ask := func() {
				list, err := s.Select(context.Background(), series.Matcher{Field: series.MetricName, Value: "disk.some.metric00"})
				if err != nil || len(list) != hosts {
					b.Fatal(len(list), err)
				}
				n := 0
				w := series.Window{Start: pcp.Timestamp{Sec: monthStart}, End: pcp.Timestamp{Sec: monthStart + 30*86400}, Interval: 30 * 86400 / 1000 * time.Second}
				for sample, err := range s.Values(context.Background(), list, w) {
					if err != nil {
						b.Fatal(err)
					}
					n += len(sample.Values)
				}
				if n < hosts*900*8 {
					b.Fatalf("%d values", n)
				}
			}
			b.ReportAllocs()
			ask()
			var u0, u1 syscall.Rusage
			syscall.Getrusage(0, &u0)
			for b.Loop() {
				ask()
			}
			syscall.Getrusage(0, &u1)
			b.ReportMetric(float64(u1.Utime.Nano()+u1.Stime.Nano()-u0.Utime.Nano()-u0.Stime.Nano())/1e3/float64(b.N)/float64(hosts), "cpu-µs/host")
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(hosts), "µs/host")
		})
	}
}
