package archive

import (
	"path/filepath"
	"testing"

	"github.com/go-pcp/pcp"
)

// TestNoMeta reads records of an archive without its metadata, also after it grew.
func TestNoMeta(t *testing.T) {
	base := filepath.Join(t.TempDir(), "x")
	w, err := Create(base, WriterConfig{Label: Label{Version: Version3, Host: "h"}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Discard()
	id := pcp.NewPMID(1, 2, 3)
	if err := w.Desc(pcp.Desc{PMID: id, Type: pcp.TypeU32, InDom: pcp.InDomNull}, "a.metric"); err != nil {
		t.Fatal(err)
	}
	add := func(sec int64) {
		t.Helper()
		var res pcp.Result
		res.Time = pcp.Timestamp{Sec: sec}
		res.AddSet(id)
		res.Add(pcp.Uint32Value(uint32(sec)))
		if err := w.WriteResult(&res); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	add(1)
	a, err := Options{NoMeta: true}.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if n := len(a.Meta().Descs()); n != 0 || a.Label().Host != "h" {
		t.Errorf("%d descriptors, label %+v", n, a.Label())
	}
	r := a.NewReader()
	defer r.Close()
	for _, sec := range []int64{1, 2} {
		if body, err := r.Step(Forward); err != nil {
			t.Fatal(err)
		} else if at, _, _ := RecordTime(body, a.Version()); at.Sec != sec {
			t.Errorf("record at %v, want %d", at, sec)
		}
		add(sec + 1)
		if err := a.Refresh(); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(a.Meta().Descs()); n != 0 {
		t.Errorf("%d descriptors after Refresh", n)
	}
	mr, closer, err := a.OpenMeta()
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	if rec, err := mr.Next(); err != nil || rec.Desc.PMID != id {
		t.Errorf("OpenMeta: %v, %v", rec, err)
	}
}

// TestReadAhead reads records in both directions with a small buffer, including longer records.
func TestReadAhead(t *testing.T) {
	base := filepath.Join(t.TempDir(), "x")
	w, err := Create(base, WriterConfig{Label: Label{Version: Version3, Host: "h"}})
	if err != nil {
		t.Fatal(err)
	}
	id := pcp.NewPMID(1, 2, 3)
	if err := w.Desc(pcp.Desc{PMID: id, Type: pcp.TypeString, InDom: pcp.InDomNull}, "a.metric"); err != nil {
		t.Fatal(err)
	}
	var res pcp.Result
	const n = 300
	for i := range n {
		res.Reset()
		res.Time = pcp.Timestamp{Sec: int64(1 + i)}
		res.AddSet(id)
		res.Add(pcp.StringValue(string(make([]byte, i*i%20_000))))
		if err := w.WriteResult(&res); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	a, err := Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for _, ahead := range []int{0, 5000, 64 << 10} {
		r := a.NewReader()
		r.ReadAhead(ahead)
		for _, dir := range []Direction{Forward, Backward} {
			if err := r.Rewind(dir); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				if dir == Backward {
					i = n - 1 - i
				}
				body, err := r.Step(dir)
				if err != nil {
					t.Fatalf("record %d, %d bytes at once: %v", i, ahead, err)
				}
				if at, _, _ := RecordTime(body, a.Version()); at.Sec != int64(1+i) || len(body) < i*i%20_000 {
					t.Fatalf("record %d, %d bytes at once: %v, %d bytes", i, ahead, at, len(body))
				}
			}
		}
		r.Close()
	}
}
