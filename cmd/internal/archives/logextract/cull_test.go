package logextract

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// TestCull extracts from an archive that lacks the descriptor of a metric. PCP 7 drops the metric,
// with its values in a warning; version 6 ends there.
func TestCull(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	known := pcp.Desc{PMID: pcp.NewPMID(245, 0, 1), Type: pcp.Type32, InDom: pcp.NewInDom(245, 1), Sem: pcp.SemInstant}
	lost := pcp.NewPMID(245, 0, 2)
	w, err := archive.Create(in, archive.WriterConfig{Label: archive.Label{Version: archive.Version3, TimeZone: "UTC", Start: pcp.Timestamp{Sec: 1700000000}}})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(w.Desc(known, "test.known"), w.InDom(pcp.Timestamp{Sec: 1700000000}, known.InDom, []pcp.Instance{{Inst: 0, Name: "a"}, {Inst: 1, Name: "b"}}))
	for i := range 3 {
		res := &pcp.Result{Time: pcp.Timestamp{Sec: 1700000000 + int64(i), Nsec: 5}}
		if i != 1 { // a record has only the metric without a descriptor
			res.AddSet(known.PMID)
			set := &res.Sets[0]
			set.Values = append(set.Values, pcp.Int32Value(7).WithInst(0), pcp.Int32Value(8).WithInst(1))
		}
		res.AddSet(lost)
		set := &res.Sets[len(res.Sets)-1]
		switch i {
		case 0:
			set.Values = append(set.Values, pcp.Int32Value(5).WithInst(pcp.InNull))
		case 2:
			set.Err = pcp.ErrAgain
		case 1:
			set.ValFmt = pcp.ValDPtr
			set.Values = append(set.Values, pcp.StringValue("x").WithInst(3), pcp.StringValue("y").WithInst(4))
		}
		err = errors.Join(err, w.WriteResult(res))
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	cfg := filepath.Join(dir, "cfg")
	if err := os.WriteFile(cfg, []byte("test.known [1]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	seven := []string{"PCP_COMPAT=7"}
	if res := runTool(t, true, dir, nil, in, "six"); res.Status == 0 {
		t.Errorf("version 6 extracts it: %s", res.Err)
	}
	res := runTool(t, true, dir, seven, in, "out")
	const warning = `pmlogextract: Warning: \[log .*in\] metadata for PMID 245.0.2 has not been found, culling this metric ...\n__pmResult dump from 0x[0-9a-f]+ timestamp: `
	want := warning + `1700000000.000000005 22:13:20.000000005 numpmid: 2\n\[1\]   245.0.2 \(<noname>\): numval: 1 valfmt: 0 vlist\[\]:\n   value 5 7.0064923e-45 0x5\n` +
		warning + `1700000001.000000005 22:13:21.000000005 numpmid: 1\n\[0\]   245.0.2 \(<noname>\): numval: 2 valfmt: 1 vlist\[\]:\n    inst \[3 or \?\?\?\] value "x"\n    inst \[4 or \?\?\?\] value "y"\n` +
		warning + `1700000002.000000005 22:13:22.000000005 numpmid: 2\n\[1\]   245.0.2 \(<noname>\): Try again. Information not currently available\n`
	if res.Status != 0 || !regexp.MustCompile("^"+want+"$").Match(res.Err) {
		t.Errorf("status %d:\n%s\nwant %s", res.Status, res.Err, want)
	}
	if _, results := bodies(t, filepath.Join(dir, "out")); len(results) != 2 || len(results[1].Sets) != 1 || len(results[1].Sets[0].Values) != 2 {
		t.Errorf("the copy has %v", results)
	}
	if res := runTool(t, true, dir, seven, "-c", "cfg", in, "one"); res.Status != 0 || len(res.Err) != 0 {
		t.Errorf("with a selection: status %d: %s", res.Status, res.Err)
	}
	if _, results := bodies(t, filepath.Join(dir, "one")); len(results) != 2 || len(results[1].Sets[0].Values) != 1 || results[1].Sets[0].Values[0].Inst != 1 {
		t.Errorf("the selection has %v", results)
	}
}

// TestLabels extracts labels of two times: PCP 7 keeps both, version 6 the first only.
func TestLabels(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	desc := pcp.Desc{PMID: pcp.NewPMID(245, 0, 1), Type: pcp.Type32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}
	w, err := archive.Create(in, archive.WriterConfig{Label: archive.Label{Version: archive.Version3, TimeZone: "UTC", Start: pcp.Timestamp{Sec: 1700000000}}})
	if err != nil {
		t.Fatal(err)
	}
	err = w.Desc(desc, "test.one")
	for i := range 2 {
		set, lerr := pcp.ParseLabels(`{"year":`+[]string{"1", "2"}[i]+`}`, pcp.LabelItem)
		res := &pcp.Result{Time: pcp.Timestamp{Sec: 1700000000 + int64(i)}}
		res.AddSet(desc.PMID)
		err = errors.Join(err, lerr, w.Labels(res.Time, pcp.LabelItem, uint32(desc.PMID), []pcp.LabelSet{set}), w.WriteResult(res))
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	for compat, want := range map[string]int{"6": 1, "7": 2} {
		if res := runTool(t, true, dir, []string{"PCP_COMPAT=" + compat}, in, "out"+compat); res.Status != 0 {
			t.Fatalf("status %d: %s", res.Status, res.Err)
		}
		a, err := archive.Open(filepath.Join(dir, "out"+compat))
		if err != nil {
			t.Fatal(err)
		}
		meta, c, err := a.OpenMeta()
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for rec, err := meta.Next(); err == nil; rec, err = meta.Next() {
			if rec.Type == archive.MetaLabel {
				n++
			}
		}
		c.Close()
		a.Close()
		if n != want {
			t.Errorf("PCP_COMPAT=%s: %d records of labels, want %d", compat, n, want)
		}
	}
}
