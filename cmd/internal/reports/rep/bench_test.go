package rep_test

import (
	"fmt"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/reports/rep"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// writeArchive writes an archive of 20 metrics, counters and numbers, each 10 s.
func writeArchive(tb testing.TB, records int) string {
	tb.Helper()
	im, err := importer.Start(filepath.Join(tb.TempDir(), "archive"), importer.Options{Host: "bench", TimeZone: "UTC"})
	if err != nil {
		tb.Fatal(err)
	}
	var metrics []*importer.Metric
	for i := range 20 {
		spec := importer.Spec{Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: pcp.Units{DimCount: 1}}
		if i%2 == 1 {
			spec.Type, spec.Sem = pcp.TypeDouble, pcp.SemInstant
		}
		m, err := im.NewMetric(fmt.Sprintf("bench.m%d", i), spec)
		if err != nil {
			tb.Fatal(err)
		}
		metrics = append(metrics, m)
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for n := range records {
		for i, m := range metrics {
			if i%2 == 1 {
				err = m.PutDouble(float64(n%1000) * 1.25)
			} else {
				err = m.PutUint(uint64(n * (i + 1)))
			}
			if err != nil {
				tb.Fatal(err)
			}
		}
		if err := im.Write(start.Add(time.Duration(n) * 10 * time.Second)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := im.End(); err != nil {
		tb.Fatal(err)
	}
	return im.Path()
}

// BenchmarkCSV reports 20 metrics of a day at 10 s, interpolated and as recorded.
func BenchmarkCSV(b *testing.B) {
	path := writeArchive(b, 8640)
	for name, args := range map[string][]string{"interpolated": {"-t", "10s"}, "recorded": {"-u"}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				env := &cli.Env{
					Name: "pmrep", Command: rep.Command, Stdout: io.Discard, Stderr: b.Output(), Getenv: func(string) string { return "" },
					Args: append([]string{"-C", "-a", path, "-Z", "UTC", "-o", "csv"}, append(args, "bench")...),
				}
				env.Args = env.Args[1:]
				if status := rep.Command.Run(b.Context(), env); status != 0 {
					b.Fatalf("status %d", status)
				}
			}
		})
	}
}
