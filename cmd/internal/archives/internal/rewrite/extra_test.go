package rewrite_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/archives/internal/rewrite"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/wire"
)

// TestRandomUnits takes random descriptors with extra units through a PDU, an archive, a rewriting of it, and text.
// The rewriting sets the extra units that EXTRAUNITS has names for, and keeps the others.
func TestRandomUnits(t *testing.T) {
	r := rand.New(rand.NewPCG(longtest.Seed(t), 74))
	base := filepath.Join(t.TempDir(), "a")
	start := pcp.Timestamp{Sec: 1700000000}
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Version: archive.Version3, PID: 1, Start: start, Host: "cellar", TimeZone: "UTC"}})
	if err != nil {
		t.Fatal(err)
	}
	descs := make([]pcp.Desc, 10000)
	named := []pcp.Extra{
		pcp.Celsius, pcp.Fahrenheit, pcp.Kelvin, pcp.Volt, pcp.Millivolt, pcp.Microvolt, pcp.Ampere, pcp.Milliampere, pcp.Microampere,
		pcp.Kilowatt, pcp.Watt, pcp.Milliwatt, pcp.Microwatt,
	}
	var rules strings.Builder
	ruled := 0
	for i := range descs {
		d := &descs[i]
		*d = pcp.Desc{PMID: pcp.NewPMID(245, i/1000, i%1000), Type: pcp.Type(r.IntN(6)), InDom: pcp.InDomNull, Sem: pcp.SemInstant, Units: pcp.UnpackUnits(r.Uint32())}
		if r.IntN(2) == 0 {
			d.InDom = pcp.NewInDom(245, r.IntN(100))
		}
		for d.Units.Extra.Unit() == 0 {
			d.Units.Extra = pcp.Extra(r.Uint32())
		}
		if u := &d.Units; r.IntN(2) == 0 {
			u.Extra = named[r.IntN(len(named))]
			u.ScaleSpace, u.ScaleTime, u.ScaleCount = uint8(r.IntN(7)), uint8(r.IntN(6)), int8(r.IntN(8))
		}
		var answer wire.Desc
		pdu := wire.Append(nil, wire.FromAnon, &wire.Desc{Desc: *d})
		if err := answer.DecodeBody(pdu[wire.HeaderSize:]); err != nil || answer.Desc != *d {
			t.Fatalf("the PDU of %+v has %+v, %v", d, answer.Desc, err)
		}
		if text := d.Units.String(); text != "" {
			u, mult, err := pcp.ParseUnits(text)
			if err != nil || mult != 1 || u.String() != text || u.Extra.Unit() != d.Units.Extra.Unit() {
				t.Fatalf("%q are the units %+v, %g, %v", text, u, mult, err)
			}
		}
		before := *d
		if rule := clause(d.Units); rule != "" {
			before.Units.Extra = 0
			fmt.Fprintf(&rules, "metric r.m%d { %s }\n", i, rule)
			ruled++
		}
		if err := w.Desc(before, fmt.Sprintf("r.m%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if ruled < 4000 {
		t.Errorf("%d rules of %d descriptors", ruled, len(descs))
	}
	res := pcp.Result{Time: start}
	res.AddSet(descs[0].PMID)
	if err := w.WriteResult(&res); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	a, err := archive.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	set := rewrite.New(a, rewrite.Config{})
	if err := set.Parse("rules", []byte(rules.String())); err != nil {
		t.Fatal(err)
	}
	if err := set.Resolve(); err != nil {
		t.Fatal(err)
	}
	out, err := archive.Create(base+"-out", archive.WriterConfig{Label: set.Label(), ManualIndex: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Rewrite(context.Background(), out, nil); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := archive.Open(base + "-out")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for i, want := range descs {
		id, ok := b.Meta().LookupName(fmt.Sprintf("r.m%d", i))
		if got, _ := b.Meta().Desc(id); !ok || got != want {
			t.Fatalf("r.m%d is %+v (%t), want %+v", i, got, ok, want)
		}
	}
}

// clause returns the rule that sets units, "" if it lacks a name for one of them.
func clause(u pcp.Units) string {
	text, _, _ := strings.Cut(pcp.Units{Extra: u.Extra}.String(), ")")
	unit, scale, ok := strings.Cut(text, " (")
	if !ok || u.Extra.Unit() < 0 || strings.HasPrefix(scale, "scale-") || u.ScaleSpace > pcp.SpaceEByte || u.ScaleTime > pcp.TimeHour || u.ScaleCount < 0 {
		return ""
	}
	return fmt.Sprintf("extraunits -> %d,%d,%d,%sBYTE,%s,%d,%s,%s", u.DimSpace, u.DimTime, u.DimCount, strings.TrimSpace(" KMGTPE"[u.ScaleSpace:u.ScaleSpace+1]),
		[]string{"NSEC", "USEC", "MSEC", "SEC", "MIN", "HOUR"}[u.ScaleTime], u.ScaleCount, strings.ToUpper(unit), scale)
}
