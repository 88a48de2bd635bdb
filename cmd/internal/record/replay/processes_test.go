package replay

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
)

// TestFewProcesses checks the message about an archive that has no processes, or no rates for them.
func TestFewProcesses(t *testing.T) {
	f := func(samples int, want string) {
		t.Helper()
		base := filepath.Join(t.TempDir(), "a")
		im, err := importer.Start(base, importer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		indom := pcp.NewInDom(3, 9)
		for name, desc := range map[string]pcp.Desc{
			"kernel.all.nprocs": {PMID: pcp.NewPMID(60, 0, 1), Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemInstant},
			"proc.psinfo.pid":   {PMID: pcp.NewPMID(3, 8, 0), Type: pcp.TypeU32, InDom: indom, Sem: pcp.SemInstant},
		} {
			if _, err := im.AddMetric(name, desc); err != nil {
				t.Fatal(err)
			}
		}
		if err := im.AddInstance(indom, "000007 sh", 7); err != nil {
			t.Fatal(err)
		}
		for i := range 10 { // the rest is recorded more often
			if err := im.PutValue("kernel.all.nprocs", "", "1"); err != nil {
				t.Fatal(err)
			}
			if i < samples {
				if err := im.PutValue("proc.psinfo.pid", "000007 sh", "7"); err != nil {
					t.Fatal(err)
				}
			}
			if err := im.Write(time.Unix(1e9+int64(i), 0)); err != nil {
				t.Fatal(err)
			}
		}
		if err := im.End(); err != nil {
			t.Fatal(err)
		}
		if got := fewProcesses(t.Context(), base); got != want && (want == "" || !strings.HasPrefix(got, want)) {
			t.Errorf("%d samples: %q, want %q", samples, got, want)
		}
	}
	f(0, "no sample of processes is recorded yet: ")
	f(1, "processes are recorded once a minute, and there is one sample so far: ")
	f(2, "")
	if got := fewProcesses(t.Context(), filepath.Join(t.TempDir(), "none")); got != "" {
		t.Errorf("without an archive: %q", got)
	}
}
