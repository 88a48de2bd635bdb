package send

import (
	"encoding/hex"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/catalog"
	"github.com/go-pcp/pcp/cmd/internal/prom/names"
	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
)

// TestDescriptions checks the series that describe metrics: their labels, and a sample at the first values and in each hour.
func TestDescriptions(t *testing.T) {
	base := filepath.Join(t.TempDir(), "a")
	im, err := importer.Start(base, importer.Options{Host: "www", TimeZone: "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	units := pcp.NewUnits(1, -1, 0, pcp.SpaceKByte, pcp.TimeSec, 0)
	reads, err := im.NewMetric("d.reads", importer.Spec{Type: pcp.TypeU64, Sem: pcp.SemCounter, InDom: im.NewInDom(), Units: units})
	if err != nil {
		t.Fatal(err)
	}
	late, err := im.NewMetric("d.late_one", importer.Spec{Type: pcp.TypeDouble, Sem: pcp.SemInstant})
	if err != nil {
		t.Fatal(err)
	}
	long, err := im.NewMetric(strings.Repeat("d", maxDescribed+1), importer.Spec{Type: pcp.TypeU32, Sem: pcp.SemInstant})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 11, 20, 10, 50, 0, 0, time.UTC)
	for n := range 10 { // until 12:20
		h, err := reads.Instance("sda")
		if err != nil {
			t.Fatal(err)
		}
		if err := h.PutUint(uint64(n)); err != nil {
			t.Fatal(err)
		}
		if n >= 3 {
			if err := late.PutDouble(1); err != nil {
				t.Fatal(err)
			}
		}
		if err := long.PutUint(1); err != nil {
			t.Fatal(err)
		}
		if err := im.Write(start.Add(time.Duration(n) * 10 * time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	if err := im.End(); err != nil {
		t.Fatal(err)
	}
	a := open1(t, base)
	c, err := catalog.Read(a)
	if err != nil {
		t.Fatal(err)
	}
	list, r := windows(t, a, nowhere(), false)
	got := map[string][]string{}
	labels := map[string]map[string]string{}
	for _, w := range list {
		for _, p := range w.parts {
			for i := range p {
				if !described(&p[i]) {
					continue
				}
				of := map[string]string{}
				for _, l := range p[i].Labels {
					of[l.Name] = l.Value
				}
				name := of[names.SeriesMetric]
				labels[name] = of
				for _, s := range p[i].Samples {
					if s.Bits != remote.Number(1) {
						t.Errorf("%s: a sample %x", name, s.Bits)
					}
					got[name] = append(got[name], time.UnixMilli(s.Time).UTC().Format("15:04"))
				}
			}
		}
	}
	want := map[string][]string{"d.reads": {"10:50", "11:00", "12:00"}, "d.late_one": {"11:20", "12:00"}}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("samples %v, want %v", got, want)
	}
	for _, m := range c.Metrics {
		if len(m.Name) > maxDescribed {
			continue
		}
		of := labels[m.Name]
		var flags []byte
		for l := range m.Labels.All() {
			flags = append(flags, byte(l.Flags))
		}
		want := map[string]string{
			names.NameLabel: names.Series, names.SeriesFlags: hex.EncodeToString(flags), names.SeriesHost: "www", names.SeriesLabels: m.Labels.JSON,
			names.SeriesMetric: m.Name, names.SeriesPMID: m.Desc.PMID.String(), names.SeriesSem: m.Desc.Sem.String(), names.SeriesID: m.ID.String(),
			names.SeriesSource: c.Source.String(), names.SeriesType: m.Desc.Type.String(),
		}
		if m.Name == "d.reads" {
			want[names.SeriesUnits], want[names.SeriesInDom], want[names.SeriesWithin] = "Kbyte / sec", m.Desc.InDom.String(), m.Within
		}
		if !maps.Equal(of, want) {
			t.Errorf("%s: labels %v, want %v", m.Name, of, want)
		}
	}
	if r.sum.series != 3 || r.sum.samples != 27 {
		t.Errorf("%+v, without descriptions 3 series and 27 samples", r.sum)
	}
}
