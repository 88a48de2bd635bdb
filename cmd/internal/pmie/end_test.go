package pmie_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/pmie"
)

// TestEnd evaluates a rule at the last record, 600 ns after a microsecond: version 6 drops these, and version 7 rounds the time to
// a microsecond after the end, where there is no value.
func TestEnd(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	im, err := importer.Start(filepath.Join(t.TempDir(), "end"), importer.Options{Host: "end", TimeZone: "UTC", Version: 3})
	if err != nil {
		t.Fatal(err)
	}
	_, err = im.AddMetric("end.one", pcp.Desc{PMID: pcp.NewPMID(60, 0, 1), Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemDiscrete})
	for _, at := range []time.Duration{0, time.Second + 600} {
		err = errors.Join(err, im.PutValue("end.one", "", "7"), im.Write(start.Add(at)))
	}
	if err = errors.Join(err, im.End()); err != nil {
		t.Fatal(err)
	}
	for seven, want := range map[bool]string{false: "a (Thu Jan  1 00:00:01 2026): 7\n", true: "a (Thu Jan  1 00:00:01 2026): ?\n"} {
		var out strings.Builder
		e, err := pmie.New(t.Context(), pmie.Config{
			Archives: []string{im.Path()}, Out: &out, Err: &out, Zone: time.UTC, Nanoseconds: seven, Verbose: pmie.Values, Quiet: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		_, last := e.Bounds()
		e.Window(last, last)
		if _, err := e.Load(t.Context(), strings.NewReader("a = end.one;"), "rules"); err != nil {
			t.Fatal(err)
		}
		if err := e.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); !strings.HasPrefix(got, want) {
			t.Errorf("Nanoseconds %t: %q, want %q", seven, got, want)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
