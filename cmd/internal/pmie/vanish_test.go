package pmie

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
)

// TestOnlyInstanceGoes has rules about the only instance of a metric: when it is gone they are unknown, and when
// the archive is evaluated again they have their earlier values.
func TestOnlyInstanceGoes(t *testing.T) {
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	im, err := importer.Start(filepath.Join(t.TempDir(), "one"), importer.Options{Host: "one", TimeZone: "UTC"})
	check(err)
	indom := pcp.NewInDom(60, 1)
	check(im.AddInstance(indom, "only", 1))
	_, err = im.AddMetric("one.only", pcp.Desc{PMID: pcp.NewPMID(60, 0, 0), Type: pcp.TypeU32, Sem: pcp.SemInstant, InDom: indom})
	check(err)
	_, err = im.AddMetric("one.count", pcp.Desc{PMID: pcp.NewPMID(60, 0, 1), Type: pcp.TypeU32, Sem: pcp.SemCounter, InDom: pcp.InDomNull})
	check(err)
	only, err := im.Handle("one.only", "only")
	check(err)
	count, err := im.Handle("one.count", "")
	check(err)
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for n := range 6 {
		if n < 3 {
			check(only.PutUint(5))
		}
		if n == 3 {
			check(im.PutMark())
		}
		check(count.PutUint(uint64(7 * n)))
		check(im.Write(start.Add(time.Duration(n) * time.Second)))
	}
	check(im.End())

	var out bytes.Buffer
	e, err := New(t.Context(), Config{Out: &out, Archives: []string{im.Path()}, Interval: time.Second, Zone: time.UTC, Verbose: Applet})
	check(err)
	defer e.Close()
	if _, err := e.Load(t.Context(), strings.NewReader(`
one.only > 1 -> print 1 hour "fired";
ruleset one.only > 9 -> print "a" else one.only > 1 -> print 1 hour "b" unknown -> print 1 hour "unknown";
one.count;
`), "rules"); err != nil {
		t.Fatal(err)
	}
	const want = "print Thu Jan  1 00:00:00 2026: fired\nprint Thu Jan  1 00:00:00 2026: b\ntrue true ? \ntrue true 7 \ntrue true 7 \n" +
		"print Thu Jan  1 00:00:03 2026: unknown\nunknown unknown ? \nunknown unknown ? \nunknown unknown 7 \n"
	for run := range 2 {
		out.Reset()
		first, last := e.Bounds()
		e.Window(first, last)
		check(e.Run(t.Context()))
		if out.String() != want {
			t.Errorf("run %d:\n%s\nwant\n%s", run, out.String(), want)
		}
	}
}
