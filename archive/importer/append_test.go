package importer_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// session writes records of a program that appends to an archive each time it runs.
func session(t *testing.T, base string, opt importer.Options, first, records int) {
	t.Helper()
	opt.Append = true
	im, err := importer.Start(base, opt)
	must(t, err)
	count, err := im.NewMetric("my.count", importer.Spec{Type: pcp.TypeU32, Sem: pcp.SemCounter, OneLine: "a count", Help: "It counts."})
	must(t, err)
	load, err := im.NewMetric("my.load", importer.Spec{Type: pcp.TypeDouble, InDom: im.NewInDom()})
	must(t, err)
	must(t, im.PutLabel(pcp.LabelItem, uint32(load.ID()), 0, "first", fmt.Sprint(first)))
	for i := first; i < first+records; i++ {
		must(t, count.PutInt(int64(i)))
		for _, name := range []string{"a", "b", fmt.Sprint("from-", first)} {
			h, err := load.Instance(name)
			must(t, err)
			must(t, h.PutDouble(float64(i)))
		}
		must(t, im.Write(t0.Add(time.Duration(i)*time.Second)))
	}
	must(t, im.End())
}

// TestAppend appends to an archive, and has the tools of the C implementation read it.
func TestAppend(t *testing.T) {
	for _, opt := range []importer.Options{
		{Version: archive.Version2, VolumeBytes: 3000},
		{Version: archive.Version3, VolumeBytes: 3000},
		{Version: archive.Version3, InDomDeltas: true},
	} {
		t.Run(fmt.Sprint(opt.Version, opt.InDomDeltas), func(t *testing.T) {
			base := filepath.Join(t.TempDir(), "x")
			var done []string
			opt.VolumeDone = func(path string) {
				if _, err := os.Stat(path); err != nil {
					t.Error(err)
				}
				done = append(done, filepath.Base(path))
			}
			first := opt
			first.Host, first.TimeZone = "h", "UTC"
			n := 0
			for _, more := range []int{1, 30, 2, 40} {
				if n == 0 {
					session(t, base, first, n, more)
				} else {
					session(t, base, opt, n, more)
				}
				n += more
			}
			a, err := archive.Open(base)
			must(t, err)
			defer a.Close()
			if vols := a.Volumes(); len(done) != len(vols)-1 || opt.VolumeBytes > 0 && !slices.Contains(done, "x.1") {
				t.Errorf("volumes %v, callback for %v", vols, done)
			}
			if l := a.Label(); l.Host != "h" || l.TimeZone != "UTC" || !l.Start.Time().Truncate(time.Microsecond).Equal(t0.Truncate(time.Microsecond)) {
				t.Errorf("label %+v", l)
			}
			id, _ := a.Meta().LookupName("my.load")
			desc, err := a.Meta().Desc(id)
			must(t, err)
			i := 0
			for res, err := range a.Records(a.Label().Start, archive.Forward) {
				must(t, err)
				if len(res.Sets) != 2 || res.Sets[0].Values[0].As(pcp.TypeU32).Uint32() != uint32(i) || len(res.Sets[1].Values) != 3 {
					t.Fatalf("record %d is %v", i, res)
				}
				for k, v := range res.Sets[1].Values {
					name, _ := a.Meta().View(desc.InDom, res.Time).Name(v.Inst)
					if v.Double() != float64(i) || k < 2 && name != "ab"[k:k+1] || k == 2 && !strings.HasPrefix(name, "from-") {
						t.Errorf("record %d: %v of %q", i, v, name)
					}
				}
				i++
			}
			if i != n {
				t.Errorf("%d records, want %d", i, n)
			}
			descs, texts := 0, 0
			r, closer, err := a.OpenMeta()
			must(t, err)
			defer closer.Close()
			for rec, err := r.Next(); err == nil; rec, err = r.Next() {
				switch rec.Type {
				case archive.MetaDesc:
					descs++
				case archive.MetaText:
					texts++
				}
			}
			if descs != 2 || texts != 2 {
				t.Errorf("%d descriptors and %d texts, want 2 and 2", descs, texts)
			}
			if sets, _ := a.Meta().LookupLabels(pcp.LabelItem, uint32(id), pcp.Timestamp{Sec: 1 << 40}); len(sets) != 1 || !strings.Contains(sets[0].JSON, "33") {
				t.Errorf("labels at the end: %+v", sets)
			}
			oracle.Require(t)
			if out := oracle.Run(t, "pmlogcheck", base); out.Exit != 0 || out.Stdout+out.Stderr != "" {
				t.Errorf("pmlogcheck: %+v", out)
			}
			if out := oracle.Run(t, "pmval", "-a", base, "-t", "1", "my.count"); strings.Count(out.Stdout, "1.000") < n-2 {
				t.Errorf("pmval: %+v", out)
			}
		})
	}
}

// TestAppendConflicts declares metrics and instances otherwise than they are in the archive.
func TestAppendConflicts(t *testing.T) {
	base := filepath.Join(t.TempDir(), "x")
	session(t, base, importer.Options{Host: "h", TimeZone: "UTC"}, 0, 5)
	before, err := os.ReadFile(base + ".meta")
	must(t, err)
	for text, opt := range map[string]importer.Options{
		`host of the archive is "h", not "g"`:    {Host: "g"},
		`zone of the archive is "UTC", not "XX"`: {TimeZone: "XX"},
		"version of the archive is 3, not 2":     {Version: 2},
		"version 4: Illegal archive version":     {Version: 4},
	} {
		opt.Append = true
		if _, err := importer.Start(base, opt); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error %v, want %q", err, text)
		}
	}
	im, err := importer.Start(base, importer.Options{Append: true})
	must(t, err)
	count := pcp.Desc{PMID: pcp.PMIDNull, Type: pcp.TypeU32, Sem: pcp.SemCounter, InDom: pcp.InDomNull}
	indom := im.NewInDom()
	add := func(name string, change func(d *pcp.Desc), want error) {
		t.Helper()
		d := count
		change(&d)
		if _, err := im.AddMetric(name, d); !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	if err := im.PutValue("my.count", "", "1"); !errors.Is(err, pcp.ErrName) {
		t.Errorf("a value before the declaration: %v", err)
	}
	add("my.count", func(d *pcp.Desc) { d.Type = pcp.Type64 }, pcp.ErrLogChangeType)
	add("my.count", func(d *pcp.Desc) { d.Type = pcp.TypeEvent }, importer.ErrBadType)
	add("my.count", func(d *pcp.Desc) { d.Sem = pcp.SemInstant }, pcp.ErrLogChangeSem)
	add("my.count", func(d *pcp.Desc) { d.InDom = indom }, pcp.ErrLogChangeInDom)
	add("my.count", func(d *pcp.Desc) { d.Units = pcp.Units{DimCount: 1} }, pcp.ErrLogChangeUnits)
	add("my.count", func(d *pcp.Desc) { d.PMID = pcp.NewPMID(1, 2, 3) }, importer.ErrDupMetricName)
	add("my.other", func(d *pcp.Desc) { d.PMID = pcp.NewPMID(importer.Domain, 0, 1) }, importer.ErrDupMetricID)
	add("my.count", func(*pcp.Desc) {}, nil)
	add("my.count", func(*pcp.Desc) {}, importer.ErrDupMetricName)
	add("my.new", func(*pcp.Desc) {}, nil)
	if err := im.AddInstance(indom, "a", 0); err != nil {
		t.Errorf("an instance of the archive: %v", err)
	}
	if err := im.AddInstance(indom, "a", 7); !errors.Is(err, importer.ErrDupInstName) {
		t.Errorf("its name with another number: %v", err)
	}
	if err := im.AddInstance(indom, "z", 0); !errors.Is(err, importer.ErrDupInstID) {
		t.Errorf("its number with another name: %v", err)
	}
	must(t, im.PutValue("my.count", "", "1"))
	if err := im.Write(t0); !errors.Is(err, importer.ErrBadTimestamp) {
		t.Errorf("a time before the end of the archive: %v", err)
	}
	must(t, im.End())
	after, err := os.ReadFile(base + ".meta")
	must(t, err)
	if string(before) != string(after) {
		t.Error("the metadata have changed")
	}

	// A mark, and metadata inherited from another archive.
	other := start(t, importer.Options{})
	must(t, func() error { _, err := other.AddMetric("my.count", count); return err }())
	im, err = importer.Start(base, importer.Options{Append: true, Inherit: other})
	if err == nil {
		err = errors.Join(im.PutMark(), im.PutValue("my.count", "", "6"), im.Write(t0.Add(time.Hour)), im.End())
	}
	must(t, err)
	must(t, func() error { _, err := other.AddMetric("my.load", count); return err }())
	if _, err = importer.Start(base, importer.Options{Append: true, Inherit: other}); !errors.Is(err, pcp.ErrLogChangeType) {
		t.Errorf("inherited metrics that differ: %v", err)
	}
	a, err := archive.Open(base)
	must(t, err)
	defer a.Close()
	if end, err := a.End(); err != nil || !end.Time().Equal(t0.Add(time.Hour)) {
		t.Errorf("the end is %v, %v", end, err)
	}
}

// TestAppendDiscard leaves the archive as it was.
func TestAppendDiscard(t *testing.T) {
	base := filepath.Join(t.TempDir(), "x")
	session(t, base, importer.Options{Host: "h", TimeZone: "UTC"}, 0, 5)
	read := func() (all string) {
		for _, part := range []string{".0", ".meta", ".index"} {
			b, err := os.ReadFile(base + part)
			must(t, err)
			all += string(b)
		}
		return all
	}
	was := read()
	im, err := importer.Start(base, importer.Options{Append: true, VolumeBytes: 1000})
	must(t, err)
	m, err := im.NewMetric("another", importer.Spec{})
	must(t, err)
	for i := range 100 {
		must(t, m.PutInt(int64(i)))
		must(t, im.Write(t0.Add(time.Hour+time.Duration(i))))
	}
	must(t, im.Flush())
	must(t, im.Discard())
	if list, _ := filepath.Glob(base + "*"); len(list) != 3 || read() != was {
		t.Errorf("files %v, and others than before", list)
	}
}
