package archive_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

func at(sec int64) pcp.Timestamp { return pcp.Timestamp{Sec: 1_700_000_000 + sec, Nsec: 250_000_000} }

func metric(item int, typ pcp.Type, indom pcp.InDom, sem pcp.Sem) pcp.Desc {
	return pcp.Desc{PMID: pcp.NewPMID(510, 0, item), Type: typ, InDom: indom, Sem: sem}
}

// create starts an archive in a directory of the test.
func create(t testing.TB, cfg archive.WriterConfig) *archive.Writer {
	t.Helper()
	if cfg.Label.Host == "" {
		cfg.Label.Host, cfg.Label.TimeZone, cfg.Label.PID = "writer.example.com", "UTC", 4711
	}
	w, err := archive.Create(filepath.Join(t.TempDir(), "x"), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sample writes everything once: values of all types, an instance domain that
// changes in every way, text, labels, a mark.
func sample(t testing.TB, w *archive.Writer, samples int) {
	t.Helper()
	dom := pcp.NewInDom(510, 7)
	metrics := []struct {
		desc  pcp.Desc
		names []string
		value func(i int) pcp.Value
	}{
		{metric(1, pcp.Type32, pcp.InDomNull, pcp.SemInstant), []string{"w.i32"}, func(i int) pcp.Value { return pcp.Int32Value(int32(-i)) }},
		{metric(2, pcp.TypeU32, dom, pcp.SemCounter), []string{"w.u32", "w.alias"}, func(i int) pcp.Value { return pcp.Uint32Value(uint32(i)) }},
		{metric(3, pcp.Type64, pcp.InDomNull, pcp.SemInstant), []string{"w.i64"}, func(i int) pcp.Value { return pcp.Int64Value(-int64(i) << 33) }},
		{metric(4, pcp.TypeU64, dom, pcp.SemCounter), []string{"w.u64"}, func(i int) pcp.Value { return pcp.Uint64Value(uint64(i) << 33) }},
		{metric(5, pcp.TypeFloat, pcp.InDomNull, pcp.SemInstant), []string{"w.float"}, func(i int) pcp.Value { return pcp.FloatValue(float32(i) / 3) }},
		{metric(6, pcp.TypeDouble, pcp.InDomNull, pcp.SemInstant), []string{"w.double"}, func(i int) pcp.Value { return pcp.DoubleValue(float64(i) / 7) }},
		{metric(7, pcp.TypeString, pcp.InDomNull, pcp.SemDiscrete), []string{"w.string"}, func(i int) pcp.Value { return pcp.StringValue(strings.Repeat("ab", i%5) + "é") }},
		{metric(8, pcp.TypeAggregate, pcp.InDomNull, pcp.SemDiscrete), []string{"w.aggregate"}, func(i int) pcp.Value {
			return pcp.BytesValue(pcp.TypeAggregate, []byte("\x00\xff\x80bytes"[:1+i%8]))
		}},
	}
	label := func(json string) pcp.LabelSet {
		set, err := pcp.ParseLabels(json, pcp.LabelItem)
		must(t, err)
		return set
	}
	for _, m := range metrics {
		must(t, w.Desc(m.desc, m.names...))
		must(t, w.Text(pcp.TextOneLine|pcp.TextPMID, uint32(m.desc.PMID), "one line of "+m.names[0]))
		must(t, w.Text(pcp.TextHelp|pcp.TextPMID, uint32(m.desc.PMID), "All about\n"+m.names[0]))
	}
	must(t, w.Text(pcp.TextOneLine|pcp.TextInDom, uint32(dom), "things"))
	must(t, w.Labels(at(0), pcp.LabelContext, 0, []pcp.LabelSet{label(`{"host":"h","n":1}`)}))
	must(t, w.Labels(at(0), pcp.LabelItem, uint32(metrics[0].desc.PMID), []pcp.LabelSet{label(`{"units":"bananas"}`)}))
	var res pcp.Result
	for i := range samples {
		insts := []pcp.Instance{{Inst: 3, Name: "three"}, {Inst: 1, Name: "one of many"}, {Inst: 900, Name: "nine"}}
		if i%7 > 3 {
			insts = append(insts, pcp.Instance{Inst: 20, Name: "twenty"})
		}
		if i%11 > 8 {
			insts[0].Name = "THREE"
		}
		if i%13 == 12 {
			insts = insts[:2]
		}
		must(t, w.InDom(at(int64(i)), dom, insts))
		res.Reset()
		res.Time = at(int64(i))
		for _, m := range metrics {
			if i%17 == 16 {
				res.AddError(m.desc.PMID, pcp.ErrAgain)
				continue
			}
			res.AddSet(m.desc.PMID)
			if m.desc.InDom == pcp.InDomNull {
				res.Add(m.value(i))
				continue
			}
			for _, in := range insts {
				res.Add(m.value(i + int(in.Inst)).WithInst(in.Inst))
			}
		}
		must(t, w.WriteResult(&res))
		if i%50 == 49 {
			must(t, w.Mark(at(int64(i)).Add(1e6)))
		}
	}
}

// TestWriterOracle has the real tools read an archive of a Writer.
func TestWriterOracle(t *testing.T) {
	oracle.Require(t)
	for _, version := range []int{archive.Version2, archive.Version3} {
		for _, volume := range []int64{0, 5000} {
			t.Run(fmt.Sprintf("v%d/%d", version, volume), func(t *testing.T) {
				w := create(t, archive.WriterConfig{Label: archive.Label{Version: version, Host: "h", TimeZone: "CET-1CEST", PID: 17}, VolumeBytes: volume, IndexBytes: 3000})
				sample(t, w, 200)
				must(t, w.Close())
				if out := oracle.Run(t, "pmlogcheck", w.Path()); out.Exit != 0 || out.Stdout+out.Stderr != "" {
					t.Errorf("pmlogcheck: exit %d: %s%s", out.Exit, out.Stdout, out.Stderr)
				}
				out := oracle.Run(t, "pmdumplog", "-ah", w.Path())
				if out.Exit != 0 || out.Stderr != "" {
					t.Errorf("pmdumplog: exit %d: %s", out.Exit, out.Stderr)
				}
				for _, want := range []string{"w.alias", "All about", "<mark>", `value "ababé"`, "or \"THREE\""} {
					if !strings.Contains(out.Stdout, want) {
						t.Errorf("pmdumplog does not show %q", want)
					}
				}
			})
		}
	}
}

// TestWriterReadBack reads an archive of a Writer and compares it with the input.
func TestWriterReadBack(t *testing.T) {
	for _, version := range []int{archive.Version2, archive.Version3} {
		for _, volume := range []int64{0, 5000, 1} {
			t.Run(fmt.Sprintf("v%d/%d", version, volume), func(t *testing.T) {
				w := create(t, archive.WriterConfig{Label: archive.Label{Version: version}, VolumeBytes: volume, IndexBytes: 3000})
				samples := 120
				if volume == 1 {
					samples = 40 // of as many volumes
				}
				sample(t, w, samples)
				must(t, w.Close())
				a, err := archive.Open(w.Path())
				must(t, err)
				defer a.Close()
				if got := a.Label().Start; got != at(0) {
					t.Errorf("Start = %v, want the first record's %v", got, at(0))
				}
				n, marks := 0, 0
				for res, err := range a.Records(at(0), archive.Forward) {
					must(t, err)
					if len(res.Sets) == 0 {
						marks++
						continue
					}
					if want := at(int64(n)); res.Time != want {
						t.Fatalf("record %d of %v, want %v", n, res.Time, want)
					}
					n++
				}
				if n != samples || marks != samples/50 {
					t.Errorf("%d records and %d marks, want %d and %d", n, marks, samples, samples/50)
				}
				if vols := len(a.Volumes()); volume == 1 && vols != samples+samples/50 || volume == 0 && vols != 1 || volume == 5000 && vols < 3 {
					t.Errorf("%d volumes", vols)
				}
				// After 30 records there are THREE and twenty.
				rec, err := a.Meta().InDom(pcp.NewInDom(510, 7), at(32))
				must(t, err)
				want := []pcp.Instance{{Inst: 1, Name: "one of many"}, {Inst: 3, Name: "THREE"}, {Inst: 20, Name: "twenty"}, {Inst: 900, Name: "nine"}}
				if !slices.Equal(rec.Instances, want) {
					t.Errorf("instances %v, want %v", rec.Instances, want)
				}
				if got := a.Meta().Names(pcp.NewPMID(510, 0, 2)); !slices.Equal(got, []string{"w.u32", "w.alias"}) {
					t.Errorf("names %q", got)
				}
				checkIndex(t, a)
			})
		}
	}
}

// checkIndex checks the index of an archive as pmlogcheck does: times do not go
// back, records start at the offsets, and no record of the entry's time or later
// is before them.
func checkIndex(t *testing.T, a *archive.Archive) {
	t.Helper()
	version := a.Version()
	list := a.Index()
	if len(list) < 2 {
		t.Fatalf("index of %d entries", len(list))
	}
	size := int64(archive.LabelSize(version))
	if first := list[0]; first.Time != a.Label().Start || first.Meta != size || first.Data != size {
		t.Errorf("first entry %+v", first)
	}
	last := list[len(list)-1]
	if end, err := a.End(); err != nil || last.Time != end {
		t.Errorf("last entry %+v, end %v, %v", last, end, err)
	}
	starts := make(map[[2]int64]pcp.Timestamp)
	r := a.NewReader()
	defer r.Close()
	for {
		res, err := r.Next()
		if err != nil {
			break
		}
		vol, off := r.Position()
		starts[[2]int64{int64(vol), off - int64(len(r.Body())) - 8}] = res.Time
	}
	for i, e := range list {
		if size, err := archive.FileSize(fmt.Sprint(a.Path(), ".", e.Vol)); err != nil {
			t.Error(err)
		} else if e == last && e.Data == size {
			break
		}
		if i > 0 && e.Time.Compare(list[i-1].Time) <= 0 {
			t.Errorf("entry %d does not come after the one before", i)
		}
		if at, ok := starts[[2]int64{int64(e.Vol), e.Data}]; !ok || at != e.Time {
			t.Errorf("entry %d %+v: a record of %v starts there (%t)", i, e, at, ok)
		}
	}
}

func TestCreateRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"x.index", "x.meta", "x.0", "x.0.xz", "x.meta.zst", "x.17"} {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, []byte("precious"), 0o600))
		_, err := archive.Create(filepath.Join(dir, "x"), archive.WriterConfig{})
		if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), path) {
			t.Errorf("Create beside %s: %v", name, err)
		}
		must(t, os.Remove(path))
		if list, _ := os.ReadDir(dir); len(list) != 0 {
			t.Errorf("Create beside %s left %v", name, list)
		}
	}
	if _, err := archive.Create(filepath.Join(dir, "none", "x"), archive.WriterConfig{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Create in no directory: %v", err)
	}
	if _, err := archive.Create(filepath.Join(dir, "x"), archive.WriterConfig{Label: archive.Label{Version: 1}}); !errors.Is(err, pcp.ErrLabel) {
		t.Errorf("Create of version 1: %v", err)
	}
}

func TestWriterRefuses(t *testing.T) {
	w := create(t, archive.WriterConfig{Label: archive.Label{Version: archive.Version2}, MetaBytes: 400})
	must(t, w.Desc(metric(1, pcp.Type32, pcp.InDomNull, pcp.SemInstant), "a"))
	f := func(err error, want error) {
		t.Helper()
		if !errors.Is(err, want) || !strings.Contains(err.Error(), filepath.Base(w.Path())+".") {
			t.Errorf("%v, want %v and the name of a file", err, want)
		}
	}
	f(w.Desc(metric(1, pcp.TypeU32, pcp.InDomNull, pcp.SemInstant), "a"), pcp.ErrLogChangeType)
	f(w.Desc(metric(1, pcp.Type32, pcp.InDomNull, pcp.SemCounter), "a"), pcp.ErrLogChangeSem)
	f(w.Desc(metric(2, pcp.Type32, pcp.InDomNull, pcp.SemCounter), strings.Repeat("n", 5000)), pcp.ErrTooBig)
	f(w.Text(pcp.TextOneLine|pcp.TextPMID, 1, strings.Repeat("n", 5000)), syscall.EFBIG)
	f(w.InDom(at(1), 1, []pcp.Instance{{Inst: -1, Name: "x"}}), pcp.ErrInst)
	f(w.Mark(pcp.Timestamp{Sec: 1 << 31}), syscall.ERANGE)
	f(w.Mark(pcp.Timestamp{Nsec: 1e9}), syscall.EINVAL)
	f(w.WriteRecord(at(1), make([]byte, 7)), pcp.ErrLogRec)
	f(w.WriteMeta(make([]byte, 3)), pcp.ErrLogRec)
	res := &pcp.Result{Time: at(1), Sets: []pcp.ValueSet{{PMID: 1, Values: []pcp.Value{pcp.Int64Value(1)}}}}
	f(w.WriteResult(res), pcp.ErrType)
	res.Sets[0] = pcp.ValueSet{PMID: 1, ValFmt: pcp.ValDPtr, Values: []pcp.Value{pcp.BytesValue(pcp.TypeAggregate, make([]byte, 1<<24))}}
	f(w.WriteResult(res), pcp.ErrTooBig)
	f(w.Index(pcp.Timestamp{Sec: 1 << 40}), syscall.ERANGE)
	f(w.IndexAt(at(1), 131, 132), syscall.EINVAL)

	// None of that left any files.
	must(t, w.Mark(at(2)))
	must(t, w.Close())
	a, err := archive.Open(w.Path())
	must(t, err)
	defer a.Close()
	if end, err := a.End(); err != nil || end != at(2) {
		t.Errorf("End = %v, %v, want that of the only record", end, err)
	}
	if err := w.Mark(at(3)); err == nil {
		t.Error("Mark after Close is no error")
	}
}

// TestMixedInDoms writes an instance domain as bytes between values: there must be
// no delta to an outdated state.
func TestMixedInDoms(t *testing.T) {
	w := create(t, archive.WriterConfig{})
	dom := pcp.NewInDom(1, 2)
	must(t, w.Desc(metric(1, pcp.Type32, dom, pcp.SemInstant), "a"))
	insts := func(n ...int32) (list []pcp.Instance) {
		for _, inst := range n {
			list = append(list, pcp.Instance{Inst: inst, Name: fmt.Sprint("i", inst)})
		}
		return list
	}
	must(t, w.InDom(at(0), dom, insts(1, 2, 3, 4, 5)))
	body, err := archive.AppendInDom(nil, at(1), dom, insts(6, 7, 8), archive.Version3)
	must(t, err)
	must(t, w.WriteMeta(body))
	must(t, w.InDom(at(2), dom, insts(1, 2, 3, 4)))
	must(t, w.InDom(at(3), dom, insts(1, 2, 3, 4, 9)))
	must(t, w.Mark(at(4)))
	must(t, w.WriteEpilogue(at(5), &archive.Logger{PID: 17, Host: "h"}))
	must(t, w.Close())
	a, err := archive.Open(w.Path())
	must(t, err)
	defer a.Close()
	for i, want := range [][]pcp.Instance{insts(1, 2, 3, 4, 5), insts(6, 7, 8), insts(1, 2, 3, 4), insts(1, 2, 3, 4, 9)} {
		rec, err := a.Meta().InDom(dom, at(int64(i)))
		must(t, err)
		if !slices.Equal(rec.Instances, want) {
			t.Errorf("at %d: %v, want %v", i, rec.Instances, want)
		}
	}
	mr, closer, err := a.OpenMeta()
	must(t, err)
	defer closer.Close()
	deltas := 0
	for {
		rec, err := mr.Next()
		if err != nil {
			break
		}
		if rec.Type == archive.MetaInDomDelta {
			deltas++
		}
	}
	if deltas != 1 {
		t.Errorf("%d deltas, want only the last", deltas)
	}
	if _, ok := a.Meta().LookupName("pmcd.seqnum"); !ok {
		t.Error("an epilogue without its metadata")
	}
}

func TestDiscard(t *testing.T) {
	w := create(t, archive.WriterConfig{})
	sample(t, w, 3)
	must(t, w.NewVolume())
	must(t, w.Mark(at(1000)))
	must(t, w.Flush())
	if err := w.Discard(); err != nil {
		t.Error(err)
	}
	left, err := filepath.Glob(w.Path() + ".*")
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if err := w.Mark(at(2000)); err == nil {
		t.Error("a mark after Discard: no error")
	}
	if err := w.Discard(); err != nil {
		t.Errorf("again: %v", err)
	}
}

// TestWriterLeavesOutOptional writes labels some of which are optional.
func TestWriterLeavesOutOptional(t *testing.T) {
	w := create(t, archive.WriterConfig{})
	must(t, w.Desc(metric(1, pcp.Type32, pcp.InDomNull, pcp.SemInstant), "a"))
	set, err := pcp.ParseLabels(`{"kept":1,"left":2}`, pcp.LabelContext)
	must(t, err)
	for i, l := range set.Index {
		if string(set.JSON[l.Name:int(l.Name)+int(l.NameLen)]) == "left" {
			set.Index[i].Flags |= pcp.LabelOptional
		}
	}
	must(t, w.Labels(at(0), pcp.LabelContext, 0, []pcp.LabelSet{set}))
	var res pcp.Result
	res.Time = at(0)
	res.AddSet(metric(1, pcp.Type32, pcp.InDomNull, pcp.SemInstant).PMID)
	res.Add(pcp.Int32Value(1))
	must(t, w.WriteResult(&res))
	must(t, w.Close())
	meta, err := os.ReadFile(w.Path() + ".meta")
	must(t, err)
	if !bytes.Contains(meta, []byte(`"kept":1`)) || bytes.Contains(meta, []byte("left")) {
		t.Errorf("metadata are %q", meta)
	}
}
