package pmapi

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/pmns"
)

// suite is where the QA suite of the real PCP has its archives.
const suite = "/var/lib/pcp/testsuite/"

func openSuite(t *testing.T, name string) *ArchiveContext {
	t.Helper()
	if _, err := os.Stat(suite); err != nil {
		t.Skipf("the QA suite of PCP is not installed: %v", err)
	}
	c, err := OpenArchive(suite + name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestArchiveContext(t *testing.T) {
	ctx := context.Background()
	c := openSuite(t, "archives/ok-foo")
	mode, err := c.Mode(ctx)
	if c.Kind() != SourceArchive || c.PMNSLocation() != PMNSArchive || mode != ModeForw || err != nil {
		t.Errorf("kind %v, names %v, mode %v, %v", c.Kind(), c.PMNSLocation(), mode, err)
	}
	label, err := c.Label(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if host, err := c.HostName(ctx); host != label.Host || err != nil {
		t.Errorf("HostName = %q, %v; want %q", host, err, label.Host)
	}
	end, err := c.End(ctx)
	if err != nil {
		t.Fatal(err)
	}

	var forw, back []pcp.Timestamp
	for {
		res, err := c.FetchArchive(ctx)
		if errors.Is(err, pcp.ErrEOL) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		forw = append(forw, res.Time)
	}
	if len(forw) == 0 || forw[len(forw)-1] != end {
		t.Fatalf("%d records, the end is %v", len(forw), end)
	}
	if err := c.SetMode(ctx, ModeBack, nil, 0); err != nil {
		t.Fatal(err)
	}
	for {
		res, err := c.FetchArchive(ctx)
		if errors.Is(err, pcp.ErrEOL) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		back = append(back, res.Time)
	}
	if len(back) != len(forw) || back[0] != end || back[len(back)-1] != forw[0] {
		t.Errorf("%d records forwards, %d backwards", len(forw), len(back))
	}

	ids, err := c.LookupName(ctx, "sample.colour")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetMode(ctx, ModeForw, &label.Start, 0); err != nil {
		t.Fatal(err)
	}
	desc, err := c.LookupDesc(ctx, ids[0])
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for {
		res, err := c.Fetch(ctx, ids)
		if errors.Is(err, pcp.ErrEOL) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 2 && len(res.Sets[0].Values) > 1 {
			if err := c.DelProfile(desc.InDom, res.Sets[0].Values[0].Inst); err != nil {
				t.Fatal(err)
			}
			if err := c.AddProfile(desc.InDom, res.Sets[0].Values[1].Inst); err != nil {
				t.Fatal(err)
			}
		}
		if n == 3 && len(res.Sets[0].Values) != 1 {
			t.Errorf("%d values with a profile of one", len(res.Sets[0].Values))
		}
	}
	if n == 0 {
		t.Error("no record has sample.colour")
	}
	if err := c.SetMode(ctx, 0, nil, 0); !errors.Is(err, pcp.ErrMode) {
		t.Errorf("SetMode(0): %v", err)
	}
	if err := c.Store(ctx, &pcp.Result{Sets: []pcp.ValueSet{{PMID: ids[0], Values: []pcp.Value{pcp.Int32Value(1)}}}}); !errors.Is(err, pcp.ErrNotHost) {
		t.Errorf("Store: %v", err)
	}
}

// record writes an archive of a counter with two instances, the second of which
// appears 20 s after the start, labels and help text.
func record(t testing.TB) (path string, start pcp.Timestamp) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	start = pcp.Timestamp{Sec: 1_700_000_000}
	path = filepath.Join(t.TempDir(), "rec")
	w, err := archive.Create(path, archive.WriterConfig{
		Label: archive.Label{Host: "rec.example.com", TimeZone: "CET-1", PID: 1, Start: start},
	})
	must(err)
	dom, id := pcp.NewInDom(510, 1), pcp.NewPMID(510, 0, 1)
	must(w.Desc(pcp.Desc{PMID: id, Type: pcp.TypeU64, InDom: dom, Sem: pcp.SemCounter, Units: pcp.NewUnits(1, 0, 0, pcp.SpaceKByte, 0, 0)}, "rec.bytes"))
	must(w.Text(pcp.TextOneLine|pcp.TextPMID, uint32(id), "bytes"))
	label := func(sec int, value string) {
		set, err := pcp.StringLabels(pcp.LabelItem, "since", value)
		must(err)
		must(w.Labels(start.Add(time.Duration(sec)*time.Second), pcp.LabelItem, uint32(id), []pcp.LabelSet{set}))
	}
	label(0, "start")
	label(20, "later")
	list := []pcp.Instance{{Inst: 1, Name: "one"}}
	var res pcp.Result
	for i := range 5 {
		res.Reset()
		res.Time = start.Add(time.Duration(i) * 10 * time.Second)
		if i == 2 {
			list = append(list, pcp.Instance{Inst: 2, Name: "two more"})
		}
		must(w.InDom(res.Time, dom, list))
		res.AddSet(id)
		for _, in := range list {
			res.Add(pcp.Uint64Value(uint64(i * 100 * int(in.Inst))).WithInst(in.Inst))
		}
		must(w.WriteResult(&res))
	}
	must(w.Close())
	return path, start
}

// TestTrimNameSpace takes out of a name space what an archive does not have.
func TestTrimNameSpace(t *testing.T) {
	ctx := context.Background()
	path, _ := record(t)
	c, err := OpenArchive(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	names, err := pmns.Parse(strings.NewReader("root { a b }\na { here 510:0:1 gone 510:0:2 }\nb { gone 9:0:1 }\n"), "names", true)
	if err != nil {
		t.Fatal(err)
	}
	left := func() (list []string) {
		t.Helper()
		if err := c.TrimNameSpace(ctx); err != nil {
			t.Fatal(err)
		}
		for name, err := range c.Traverse(ctx, "") {
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, name)
		}
		return list
	}
	if list := left(); !slices.Equal(list, []string{"rec.bytes", "event.flags", "event.missed"}) {
		t.Errorf("of the archive's own names %q are left", list)
	}
	c.UseNameSpace(names)
	if list := left(); !slices.Equal(list, []string{"a.here", "event.flags", "event.missed"}) {
		t.Errorf("of a name space of one's own %q are left", list)
	}
	if _, err := names.Lookup("b.gone"); err != nil {
		t.Errorf("the tree that was given: %v", err)
	}
}

// TestEventMetricAtMark fetches event.flags, which no record has, from an archive that ends with a mark.
func TestEventMetricAtMark(t *testing.T) {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "marked")
	w, err := archive.Create(path, archive.WriterConfig{Label: archive.Label{Host: "h", TimeZone: "UTC", PID: 1}})
	if err != nil {
		t.Fatal(err)
	}
	id := pcp.NewPMID(510, 0, 1)
	if err := w.Desc(pcp.Desc{PMID: id, Type: pcp.Type32, InDom: pcp.InDomNull}, "a.metric"); err != nil {
		t.Fatal(err)
	}
	res := &pcp.Result{Time: pcp.Timestamp{Sec: 1_700_000_000}}
	res.AddError(id, 0)
	if err := w.WriteResult(res); err != nil {
		t.Fatal(err)
	}
	end := pcp.Timestamp{Sec: 1_700_000_001}
	if err := w.Mark(end); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := OpenArchive(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, x := range []struct {
		at   pcp.Timestamp
		want error
	}{{res.Time, nil}, {end, pcp.ErrEOL}} {
		if err := c.SetMode(ctx, ModeForw, &x.at, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Fetch(ctx, []pcp.PMID{pmns.EventFlags}); !errors.Is(err, x.want) {
			t.Errorf("at %v: %v, want %v", x.at, err, x.want)
		}
	}
}

// TestArchiveMetadata holds that metadata are those of the context's time.
func TestArchiveMetadata(t *testing.T) {
	ctx := context.Background()
	path, start := record(t)
	c, err := OpenArchive(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	dom, id := pcp.NewInDom(510, 1), pcp.NewPMID(510, 0, 1)
	for _, x := range []struct {
		sec   int
		insts int
		label string
	}{{5, 1, "start"}, {19, 1, "start"}, {20, 2, "later"}, {40, 2, "later"}, {0, 1, "start"}} {
		when := start.Add(time.Duration(x.sec) * time.Second)
		if err := c.SetMode(ctx, ModeInterp, &when, time.Second); err != nil {
			t.Fatal(err)
		}
		list, err := c.GetInDom(ctx, dom)
		if err != nil || len(list) != x.insts {
			t.Errorf("at %d: %d instances, %v", x.sec, len(list), err)
		}
		inst, err := c.LookupInDom(ctx, dom, "two")
		if x.insts == 2 && (inst != 2 || err != nil) || x.insts == 1 && !errors.Is(err, pcp.ErrInstLog) {
			t.Errorf("at %d: instance %d, %v", x.sec, inst, err)
		}
		_, err = c.NameInDom(ctx, dom, 2)
		if x.insts == 2 && err != nil || x.insts == 1 && !errors.Is(err, pcp.ErrInstLog) {
			t.Errorf("at %d: name of instance 2: %v", x.sec, err)
		}
		sets, err := c.Labels(ctx, pcp.LabelItem, uint32(id))
		if err != nil || len(sets) != 1 {
			t.Fatalf("at %d: labels %v, %v", x.sec, sets, err)
		}
		if l, _ := sets[0].Lookup("since"); l.Value != `"`+x.label+`"` {
			t.Errorf("at %d: label %s", x.sec, l.Value)
		}
	}
	list, err := c.GetInDomArchive(ctx, dom)
	if err != nil || len(list) != 2 {
		t.Errorf("GetInDomArchive: %v, %v", list, err)
	}
	if inst, err := c.LookupInDomArchive(ctx, dom, "two more"); inst != 2 || err != nil {
		t.Errorf("LookupInDomArchive: %d, %v", inst, err)
	}
	if _, err := c.LookupInDomArchive(ctx, dom, "three"); !errors.Is(err, pcp.ErrInstLog) {
		t.Errorf("LookupInDomArchive: %v", err)
	}
	if name, err := c.NameInDomArchive(ctx, dom, 2); name != "two more" || err != nil {
		t.Errorf("NameInDomArchive: %q, %v", name, err)
	}
	if _, err := c.GetInDomArchive(ctx, pcp.NewInDom(510, 2)); !errors.Is(err, pcp.ErrInDomLog) {
		t.Errorf("GetInDomArchive: %v", err)
	}
	if s, err := c.LookupText(ctx, id, pcp.TextHelp); s != "bytes" || err != nil {
		t.Errorf("LookupText: %q, %v", s, err)
	}
	if _, err := c.LookupInDomText(ctx, dom, pcp.TextOneLine); !errors.Is(err, pcp.ErrNotHost) {
		t.Errorf("LookupInDomText: %v", err)
	}
	if sets, err := c.Labels(ctx, pcp.LabelContext, 0); err != nil || len(sets) != 1 {
		t.Errorf("context labels: %v, %v", sets, err)
	}
	if tz, err := c.TimeZone(ctx); tz != "CET-1" || err != nil {
		t.Errorf("TimeZone: %q, %v", tz, err)
	}
	if _, err := c.LookupName(ctx, "rec"); !errors.Is(err, pcp.ErrNonLeaf) {
		t.Errorf("LookupName: %v", err)
	}
	if _, err := c.LookupName(ctx, "rec.none"); !errors.Is(err, pcp.ErrName) {
		t.Errorf("LookupName: %v", err)
	}
	if _, err := c.LookupDesc(ctx, pcp.NewPMID(1, 2, 3)); !errors.Is(err, pcp.ErrPMIDLog) {
		t.Errorf("LookupDesc: %v", err)
	}

	// A duplicate has a time of its own.
	n, err := c.Dup(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Fetch(ctx, []pcp.PMID{id}); !errors.Is(err, pcp.ErrNoContext) {
		t.Errorf("Fetch of a closed context: %v", err)
	}
	res, err := n.Fetch(ctx, []pcp.PMID{id})
	if err != nil || len(res.Sets[0].Values) != 1 {
		t.Errorf("Fetch of a duplicate: %v, %v", res, err)
	}
	n.Close()
}

func TestArchiveFetchGroup(t *testing.T) {
	ctx := context.Background()
	path, start := record(t)
	c, err := OpenArchive(path)
	if err != nil {
		t.Fatal(err)
	}
	when := start.Add(20 * time.Second)
	if err := c.SetMode(ctx, ModeInterp, &when, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	g, err := NewFetchGroup(c.Context)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	rate, err := g.Add(ctx, GroupMetric{Metric: "rec.bytes", Instance: "two more", Type: pcp.TypeDouble})
	if err != nil {
		t.Fatal(err)
	}
	all, err := g.AddInstances(ctx, GroupMetric{Metric: "rec.bytes", Scale: "instant", Type: pcp.TypeU64})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if err := g.Fetch(ctx); err != nil {
			t.Fatal(err)
		}
		if i == 0 && rate.Err != pcp.ErrAgain || i > 0 && (rate.Err != nil || rate.Value.Double() != 20) {
			t.Errorf("fetch %d: rate %v, %v", i, rate.Value, rate.Err)
		}
		if len(all.Values) != 2 || all.Values[1].Name != "two more" || all.Values[1].Value.Uint64() != uint64(400+100*i) {
			t.Errorf("fetch %d: %v", i, all.Values)
		}
	}
	if err := g.Fetch(ctx); !errors.Is(err, pcp.ErrEOL) {
		t.Errorf("behind the end: %v", err)
	}
}

// TestArchive holds which contexts are on archives.
func TestArchive(t *testing.T) {
	if a, ok := newContext(&host{}, nil).Archive(); ok || a != nil {
		t.Error("a context on a collector is one on archives")
	}
	path, _ := record(t)
	opened, err := OpenArchive(path)
	if err != nil {
		t.Fatal(err)
	}
	a, ok := opened.Context.Archive()
	if !ok || a.Context != opened.Context {
		t.Fatalf("the context of an archive gives %v, %v", a, ok)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Mode(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Mode of a cancelled context: %v", err)
	}
	a.Close()
	if _, err := a.Label(t.Context()); !errors.Is(err, pcp.ErrNoContext) {
		t.Errorf("Label of a closed context: %v", err)
	}
}
