package options_test

import (
	"bytes"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/getopt"
	"github.com/go-pcp/pcp/options"
	"github.com/go-pcp/pcp/pmapi"
)

// TestCompat reads an instantaneous value between two records: with PCP_COMPAT=7 it is that of the nearer record.
func TestCompat(t *testing.T) {
	base := filepath.Join(t.TempDir(), "day")
	im, err := importer.Start(base, importer.Options{Host: "cellar", TimeZone: "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	id := pcp.NewPMID(245, 0, 1)
	if _, err := im.AddMetric("a.level", pcp.Desc{PMID: id, Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if err := im.PutValue("a.level", "", strconv.Itoa(10+10*i)); err != nil {
			t.Fatal(err)
		}
		if err := im.Write(time.Unix(noon+10*int64(i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	if err := im.End(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		compat string
		want   []uint32 // at 0, 4 and 8 seconds
	}{{"", []uint32{10, 10, 10}}, {"6", []uint32{10, 10, 10}}, {"7", []uint32{10, 10, 20}}} {
		o := options.Parse(&getopt.Program{
			Options: getopt.General, Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer),
			Config: config.New(func(name string) string { return map[string]string{"PCP_COMPAT": c.compat}[name] }),
		}, []string{"tool", "-a", base})
		a, err := o.OpenArchive(base)
		if err != nil {
			t.Fatal(err)
		}
		start := pcp.Timestamp{Sec: noon}
		if err := a.SetMode(t.Context(), pmapi.ModeInterp, &start, 4*time.Second); err != nil {
			t.Fatal(err)
		}
		for i, want := range c.want {
			res, err := a.Fetch(t.Context(), []pcp.PMID{id})
			if err != nil || len(res.Sets[0].Values) != 1 {
				t.Fatalf("%v, %v", res, err)
			}
			if got := res.Sets[0].Values[0].As(pcp.TypeU32).Uint32(); got != want {
				t.Errorf("PCP_COMPAT=%q, %d seconds: %d, want %d", c.compat, 4*i, got, want)
			}
		}
		a.Close()
	}
}
