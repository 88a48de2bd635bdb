package logextract

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
)

// bodies returns the records of an archive, and their decoded form.
func bodies(t *testing.T, base string) (list [][]byte, results []*pcp.Result) {
	t.Helper()
	a, err := archive.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	r := a.NewReader()
	defer r.Close()
	for {
		res, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list, results
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, bytes.Clone(r.Body()))
		results = append(results, res.Clone())
	}
}

func TestExtractAll(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "in")
	makeArchive(t, base, archive.Version2, 100)
	res := runTool(t, true, dir, nil, base, "out")
	if res.Status != 0 || len(res.Err) > 0 {
		t.Fatalf("status %d: %s", res.Status, res.Err)
	}
	want, _ := bodies(t, base)
	got, _ := bodies(t, filepath.Join(dir, "out"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records differ (-in +out):\n%s", diff)
	}
}

// TestVersion3 checks that values are the same in the other version.
func TestVersion3(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "in")
	makeArchive(t, base, archive.Version2, 20)
	res := runTool(t, true, dir, nil, "-V", "3", base, "out")
	if res.Status != 0 {
		t.Fatalf("status %d: %s", res.Status, res.Err)
	}
	_, want := bodies(t, base)
	_, got := bodies(t, filepath.Join(dir, "out"))
	same := cmp.Comparer(func(a, b pcp.Value) bool {
		return a.Inst == b.Inst && a.Type() == b.Type() && a.Bits() == b.Bits() && bytes.Equal(a.Bytes(), b.Bytes())
	})
	if diff := cmp.Diff(sets(want), sets(got), same); diff != "" {
		t.Errorf("values differ (-v2 +v3):\n%s", diff)
	}
	if a, err := archive.Open(filepath.Join(dir, "out")); err != nil {
		t.Error(err)
	} else {
		defer a.Close()
		rec, err := a.Meta().InDom(pcp.NewInDom(245, 1), got[0].Time)
		want := []pcp.Instance{{Inst: 0, Name: "red wine"}, {Inst: 1, Name: "white"}}
		if diff := cmp.Diff(want, rec.Instances); err != nil || diff != "" {
			t.Errorf("instances: %v\n%s", err, diff)
		}
	}
}

func sets(list []*pcp.Result) (s [][]pcp.ValueSet) {
	for _, r := range list {
		s = append(s, r.Sets)
	}
	return s
}

// TestPick checks the instances that are picked, in the order of the
// configuration file.
func TestPick(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "in")
	makeArchive(t, base, archive.Version3, 5)
	config := filepath.Join(dir, "config")
	f := func(text string, insts ...int32) {
		t.Helper()
		if err := os.WriteFile(config, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		sub := t.TempDir()
		if res := runTool(t, true, sub, nil, "-c", config, base, "out"); res.Status != 0 {
			t.Fatalf("%q: status %d: %s", text, res.Status, res.Err)
		}
		_, results := bodies(t, filepath.Join(sub, "out"))
		for _, res := range results {
			var got []int32
			for _, vs := range res.Sets {
				for _, v := range vs.Values {
					got = append(got, v.Inst)
				}
			}
			if !slices.Equal(got, insts) {
				t.Fatalf("%q: instances %v, want %v", text, got, insts)
			}
		}
	}
	f("cellar.size", 0, 1)
	f("cellar.size [1]", 1)
	f("cellar.size [ white, 'red wine' ]", 1, 0)
	f("cellar.size [ red ] # up to the space\ncellar.count", -1, 0)
	f("cellar", -1, 0, 1, -1)
}

// TestFull fills the disk: the incomplete output must be removed, or with -d be a valid
// archive.
func TestFull(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "in")
	makeArchive(t, base, archive.Version3, 40000)
	limit := []string{twin.Limit(1500000)}
	out := t.TempDir()
	res := runTool(t, true, out, limit, base, "out")
	want := "pmlogextract: Error: __pmLogPutResult: log data: File too large\nArchive \"out\" not created.\n"
	if res.Status != 1 || string(res.Err) != want || len(res.Files) > 0 {
		t.Errorf("status %d, files %d, want 1 and 0: %s", res.Status, len(res.Files), res.Err)
	}
	res = runTool(t, true, out, limit, "-d", base, "out")
	if res.Status != 1 {
		t.Errorf("-d: status %d, want 1", res.Status)
	}
	whole, _ := bodies(t, base)
	a, err := archive.Open(filepath.Join(out, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	r := a.NewReader()
	defer r.Close()
	n := 0
	for ; ; n++ {
		if _, err := r.Next(); err != nil {
			break // io.EOF, or a truncated record
		}
		if !bytes.Equal(r.Body(), whole[n]) {
			t.Fatalf("-d: record %d is not that of the input", n)
		}
	}
	if n < 1000 {
		t.Errorf("-d: %d records", n)
	}
}

// TestNoPlace has an output that cannot be made.
func TestNoPlace(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "in")
	makeArchive(t, base, archive.Version3, 5)
	for _, out := range []string{"nosuch/out", filepath.Join(base+".0", "out"), base} {
		res := runTool(t, true, dir, nil, base, out)
		if res.Status != 1 || !strings.Contains(string(res.Err), "Error: __pmLogCreate: ") {
			t.Errorf("%s: status %d: %s", out, res.Status, res.Err)
		}
	}
	if a, err := archive.Open(base); err != nil {
		t.Errorf("the input is gone: %v", err)
	} else {
		a.Close()
	}
}

// TestSets gives a directory and a list instead of an archive.
func TestSets(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	makeArchive(t, first, archive.Version3, 3)
	makeArchive(t, second, archive.Version3, 3)
	for _, in := range []string{dir, first + "," + second} {
		out := t.TempDir()
		res := runTool(t, true, out, nil, in, "out")
		if res.Status != 0 {
			t.Fatalf("%s: status %d: %s", in, res.Status, res.Err)
		}
		list, _ := bodies(t, filepath.Join(out, "out"))
		if len(list) < 6 {
			t.Errorf("%s: %d records, want those of both archives", in, len(list))
		}
	}
}

// TestSeven extracts until a time between two records: 6.0.3 writes the next record too, PCP 7 does not, and
// has no two entries of the index for one time.
func TestSeven(t *testing.T) {
	base := filepath.Join(t.TempDir(), "in")
	makeArchive(t, base, archive.Version3, 10)
	for _, c := range []struct {
		env              []string
		args             []string
		records, entries int
	}{
		{nil, []string{"-T", "29.5"}, 4, 2},
		{[]string{"PCP_COMPAT=7"}, []string{"-T", "29.5"}, 3, 2},
		{nil, []string{"-T", "0"}, 1, 2},
		{[]string{"PCP_COMPAT=7"}, []string{"-T", "0"}, 1, 1},
	} {
		dir := t.TempDir()
		if res := runTool(t, true, dir, c.env, append(c.args, base, "out")...); res.Status != 0 {
			t.Fatalf("%v: status %d: %s", c.env, res.Status, res.Err)
		}
		_, results := bodies(t, filepath.Join(dir, "out"))
		a, err := archive.Open(filepath.Join(dir, "out"))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(a.Index()); len(results) != c.records || n != c.entries {
			t.Errorf("%v %v: %d records and %d entries, want %d and %d", c.env, c.args, len(results), n, c.records, c.entries)
		}
		a.Close()
	}
}

// TestMarkInOrder merges two archives. The longer has a record at the time of the last record of the other: no time of the output goes back.
func TestMarkInOrder(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"short", "long"} {
		desc := pcp.Desc{PMID: pcp.NewPMID(245, 0, 1+i), Type: pcp.Type32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}
		start := pcp.Timestamp{Sec: 1700000000}
		w, err := archive.Create(filepath.Join(dir, name), archive.WriterConfig{Label: archive.Label{Start: start, Host: "cellar", TimeZone: "UTC"}})
		if err != nil {
			t.Fatal(err)
		}
		err = w.Desc(desc, "test."+name)
		for j := range 3 + 2*i {
			res := pcp.Result{Time: start.Add(time.Duration(j) * time.Second)}
			res.AddSet(desc.PMID)
			res.Add(pcp.Int32Value(1))
			err = errors.Join(err, w.WriteResult(&res))
		}
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if res := runTool(t, true, dir, nil, "short", "long", "out"); res.Status != 0 {
		t.Fatalf("status %d: %s", res.Status, res.Err)
	}
	a, err := archive.Open(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var times []pcp.Timestamp
	marks := 0
	for r, err := range a.Records(pcp.Timestamp{}, archive.Forward) {
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, r.Time)
		if len(r.Sets) == 0 {
			marks++
		}
	}
	if !slices.IsSortedFunc(times, pcp.Timestamp.Compare) || len(times) != 3+5+1 || marks != 1 {
		t.Errorf("%d marks, times %v", marks, times)
	}
}

// TestSevenTwice merges archives with records of the same times, each with new instances and thus an entry of the index:
// with PCP_COMPAT=7 each time has one entry.
func TestSevenTwice(t *testing.T) {
	from := t.TempDir()
	const n = 3
	for i, name := range []string{"a", "b"} {
		desc := pcp.Desc{PMID: pcp.NewPMID(245, 0, 1+i), Type: pcp.Type32, InDom: pcp.NewInDom(245, 1+i), Sem: pcp.SemInstant}
		start := pcp.Timestamp{Sec: 1700000000}
		w, err := archive.Create(filepath.Join(from, name), archive.WriterConfig{Label: archive.Label{Version: archive.Version3, Start: start, Host: "cellar", TimeZone: "UTC"}})
		if err != nil {
			t.Fatal(err)
		}
		err = w.Desc(desc, "test."+name)
		for j := range n {
			res := pcp.Result{Time: start.Add(time.Duration(j) * time.Second)}
			res.AddSet(desc.PMID)
			res.Sets[0].ValFmt = pcp.ValInSitu
			res.Add(pcp.Int32Value(1).WithInst(int32(j)))
			err = errors.Join(err, w.InDom(res.Time, desc.InDom, []pcp.Instance{{Inst: int32(j), Name: strconv.Itoa(j)}}), w.WriteResult(&res))
		}
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		compat string
		times  int // an entry at the end, too, without PCP_COMPAT
	}{{"", 2*n + 1}, {"7", n}} {
		dir := t.TempDir()
		if res := runTool(t, true, dir, []string{"PCP_COMPAT=" + c.compat}, filepath.Join(from, "a"), filepath.Join(from, "b"), "out"); res.Status != 0 {
			t.Fatalf("PCP_COMPAT=%s: status %d: %s", c.compat, res.Status, res.Err)
		}
		a, err := archive.Open(filepath.Join(dir, "out"))
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Index(); len(got) != c.times {
			t.Errorf("PCP_COMPAT=%s: %d entries, want %d: %v", c.compat, len(got), c.times, got)
		}
		a.Close()
	}
}

func TestChain(t *testing.T) {
	var c chain
	for i := range uint32(200) {
		c.add(i * 7 % 50) // each key four times
	}
	if got := len(c.order()); got != 200 {
		t.Errorf("%d nodes in the walk, want 200", got)
	}
	for key := range uint32(50) {
		n := c.find(key)
		if n < 0 || c.nodes[n].key != key {
			t.Errorf("find(%d) = %d", key, n)
		}
	}
	if n := c.find(1000); n != -1 {
		t.Errorf("find of what is not there = %d", n)
	}
}

// FuzzRecord checks that a record is accepted only if it can be decoded, and checks the
// parts picked from it.
func FuzzRecord(f *testing.F) {
	base := filepath.Join(f.TempDir(), "in")
	makeArchive(f, base, archive.Version3, 6)
	vols := volumes{i: -1}
	a, err := archive.Open(base)
	if err != nil {
		f.Fatal(err)
	}
	defer a.Close()
	for vols.a = a; ; {
		body, err := vols.next()
		if err != nil {
			break
		}
		f.Add(bytes.Clone(body), true, int32(0), int32(1))
	}
	vols.close()
	f.Fuzz(func(t *testing.T, body []byte, v3 bool, first, second int32) {
		version := archive.Version2
		if v3 {
			version = archive.Version3
		}
		wants := []*wanted{nil, {all: true}, {insts: []int32{first}}, {insts: []int32{second, first}}}
		var s scanner
		r, err := s.scan(body, version, func(id pcp.PMID) *metric { return &metric{id: id, want: wants[id%4]} })
		var want pcp.Result
		decoded := archive.DecodeResult(&want, body, version)
		if (err == nil) != (decoded == nil) {
			t.Fatalf("scanned: %v, decoded: %v", err, decoded)
		}
		if err != nil || len(r.Sets) == 0 {
			return
		}
		new(input).pmcd(&r, func(string, error) {})
		x := &extractor{sel: new(selection)}
		if !x.pick(&s, &r) {
			return
		}
		if r.parts != nil && len(r.parts) != len(r.metrics) {
			t.Fatalf("%d parts of %d metrics", len(r.parts), len(r.metrics))
		}
		for i, p := range r.parts {
			m := r.metrics[i]
			if m.id != p.PMID || m.want == nil || m.want.all && p.Pick != nil || len(p.Pick) > len(m.want.insts) {
				t.Fatalf("%v of metric %v, want %v", p, m.id, m.want)
			}
			for _, k := range p.Pick {
				if inst := int32(be(r.Values(&p.Set)[8*k:])); !slices.Contains(m.want.insts, inst) {
					t.Fatalf("instance %d was picked, want %v", inst, m.want.insts)
				}
			}
		}
	})
}

// FuzzMeta checks that arbitrary bytes of metadata do no harm.
func FuzzMeta(f *testing.F) {
	base := filepath.Join(f.TempDir(), "in")
	makeArchive(f, base, archive.Version3, 2)
	b, err := os.ReadFile(base + ".meta")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b[archive.LabelSize(archive.Version3):])
	f.Fuzz(func(t *testing.T, b []byte) {
		m := metaFile{b: b, version: archive.Version3}
		for {
			body, err := m.next()
			if err != nil {
				return
			}
			switch archive.MetaType(be(body)) {
			case archive.MetaInDom, archive.MetaInDomDelta:
				h := history{bodies: [][]byte{body, body, body}}
				for _, n := range []int{1, 2, 0} {
					list, err := h.instances(n)
					if _, bad := archive.DecodeMeta(body, archive.Version3); (err == nil) != (bad == nil) {
						t.Fatalf("%d instances, %v, but decoding is %v", len(list), err, bad)
					}
				}
			case archive.MetaDesc:
				descNames(body)
			}
		}
	})
}

func BenchmarkExtract(b *testing.B) {
	dir := b.TempDir()
	base := filepath.Join(dir, "in")
	makeArchive(b, base, archive.Version3, 50000)
	a, err := archive.Open(base)
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close()
	size, err := archive.FileSize(base + ".0")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	b.ReportAllocs()
	known := make(map[pcp.PMID]*metric)
	for b.Loop() {
		vols := volumes{a: a, i: -1, read: readMost}
		var s scanner
		for {
			body, err := vols.next()
			if err != nil {
				break
			}
			r, err := s.scan(body, a.Version(), func(id pcp.PMID) *metric {
				if known[id] == nil {
					known[id] = &metric{id: id}
				}
				return known[id]
			})
			if err != nil || !r.Canonical {
				b.Fatal(err)
			}
		}
		vols.close()
	}
}

// TestTraceVolumes checks that -D appl5 prints the reasons for new volumes with PCP_COMPAT=7 only.
func TestTraceVolumes(t *testing.T) {
	base := filepath.Join(t.TempDir(), "in")
	makeArchive(t, base, archive.Version3, 10)
	for volume, want := range map[string]string{
		"4":     "vol switch record count 4\n",
		"1000b": "vol switch volume size 9",
		"25sec": "vol switch volume timespan after next record 30.000000000 sec\n",
	} {
		for _, compat := range []string{"6", "7"} {
			res := runTool(t, true, t.TempDir(), []string{"PCP_COMPAT=" + compat}, "-D", "appl5", "-v", volume, base, "out")
			if res.Status != 0 || !strings.Contains(string(res.Err), "New log volume 1") || strings.Contains(string(res.Err), want) != (compat == "7") {
				t.Errorf("PCP_COMPAT=%s, -v %s: status %d: %s", compat, volume, res.Status, res.Err)
			}
		}
	}
}
