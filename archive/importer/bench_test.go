package importer_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

const benchRecords = 2000

// BenchmarkImport writes an archive of a million values, given as strings, and
// has the C library write the same. Both include the start of the archive; C
// also that of its process.
func BenchmarkImport(b *testing.B) {
	b.Run("go", func(b *testing.B) {
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			write(b, filepath.Join(b.TempDir(), strconv.Itoa(n)))
		}
		b.ReportMetric(float64(b.N)*benchRecords*500/b.Elapsed().Seconds(), "values/s")
	})
	b.Run("libpcp_import", func(b *testing.B) {
		oracle.Require(b)
		exe := filepath.Join(b.TempDir(), "bench")
		if out, err := exec.Command("cc", "-O2", "-o", exe, "testdata/bench.c", "-lpcp_import", "-lpcp").CombinedOutput(); err != nil {
			b.Skipf("no C compiler, or no headers of PCP: %v: %s", err, out)
		}
		for n := 0; b.Loop(); n++ {
			cmd := exec.Command(exe, filepath.Join(b.TempDir(), strconv.Itoa(n)), strconv.Itoa(benchRecords))
			cmd.Env = append(os.Environ(), oracle.Env()...)
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		}
		b.ReportMetric(float64(b.N)*benchRecords*500/b.Elapsed().Seconds(), "values/s")
	})
}

func write(b testing.TB, base string) {
	im, err := importer.Start(base, importer.Options{Host: "h", TimeZone: "UTC"})
	must(b, err)
	types := []pcp.Type{pcp.TypeU32, pcp.TypeU64, pcp.TypeDouble, pcp.TypeFloat, pcp.TypeString}
	indom := im.NewInDom()
	var handles []importer.Handle
	for m := range 10 {
		metric, err := im.NewMetric(fmt.Sprint("bench.m", m), importer.Spec{Type: types[m%5], InDom: indom})
		must(b, err)
		for i := range 50 {
			h, err := metric.Instance(fmt.Sprint("i", i))
			must(b, err)
			handles = append(handles, h)
		}
	}
	for r := range benchRecords {
		for _, h := range handles {
			if err := h.Put("1234567"); err != nil {
				b.Fatal(err)
			}
		}
		must(b, im.Write(time.Unix(int64(1000000+r), 0)))
	}
	must(b, im.End())
}
