package archives

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

// FuzzRecords decodes bytes as each kind of index value. Accepted values must encode to the same bytes.
func FuzzRecords(f *testing.F) {
	a := archiveRecord{
		num: 7, meta: "x.meta 12 34", volumes: "x.0 1 2\n", host: "h", source: 3,
		start: pcp.Timestamp{Sec: -5, Nsec: 999_999_999}, end: pcp.Timestamp{Sec: 1 << 40}, err: "no",
	}
	s := seriesRecord{sid.String("x"), 9, pcp.Desc{PMID: 1, Type: pcp.TypeNoSupport, InDom: pcp.InDomNull, Units: pcp.NewUnits(1, -1, 0, 1, 3, 0)}, 5, "a.b"}
	f.Add(byte(0), a.append(nil))
	f.Add(byte(1), s.append(nil))
	f.Add(byte(2), appendHas(nil, []seriesOf{{1, 5}, {2, 3}, {900, 1 << 31}}))
	set, err := pcp.ParseLabels(`{"a":1,"b":{"c":"d"}}`, pcp.LabelItem)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(byte(3), appendSet(nil, set))
	f.Add(byte(0), []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Add(byte(3), []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 'a'})
	f.Fuzz(func(t *testing.T, kind byte, b []byte) {
		switch kind % 4 {
		case 0:
			var rec, again archiveRecord
			if rec.decode(b) != nil {
				return
			}
			if err := again.decode(rec.append(nil)); err != nil || again != rec {
				t.Fatalf("%+v became %+v, %v", rec, again, err)
			}
		case 1:
			var rec, again seriesRecord
			if rec.decode(b) != nil {
				return
			}
			if err := again.decode(rec.append(nil)); err != nil || again.name != rec.name || again.id != rec.id || again.desc.PMID != rec.desc.PMID {
				t.Fatalf("%+v became %+v, %v", rec, again, err)
			}
		case 2:
			var list, again []seriesOf
			if eachHas(b, func(s seriesOf) bool { list = append(list, s); return true }) != nil {
				return
			}
			if err := eachHas(appendHas(nil, list), func(s seriesOf) bool { again = append(again, s); return true }); err != nil || len(again) != len(list) {
				t.Fatalf("%v became %v, %v", list, again, err)
			}
		case 3:
			list, err := decodeSet(b)
			if err == nil && len(list) > len(b) {
				t.Fatalf("%d labels of %d bytes", len(list), len(b))
			}
		}
	})
}

// FuzzIndex opens an index in which some bytes are changed.
func FuzzIndex(f *testing.F) {
	dir := f.TempDir()
	base := filepath.Join(dir, "one")
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Host: "h", Start: pcp.Timestamp{Sec: 1}}})
	if err != nil {
		f.Fatal(err)
	}
	desc := pcp.Desc{PMID: 5, Type: pcp.TypeU32, InDom: pcp.InDomNull}
	var res pcp.Result
	res.Time = pcp.Timestamp{Sec: 2}
	res.AddSet(desc.PMID)
	res.Add(pcp.Uint32Value(1))
	for _, err := range []error{w.Desc(desc, "a.b"), w.WriteResult(&res), w.Close()} {
		if err != nil {
			f.Fatal(err)
		}
	}
	path := filepath.Join(dir, "series.db")
	s, err := Open(f.Context(), Config{Dirs: []string{base}, Index: path, Interval: -1})
	if err != nil {
		f.Fatal(err)
	}
	if err := s.Close(); err != nil {
		f.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(0), []byte{})
	for off := uint32(0); int(off) < len(good); off += 4096 {
		f.Add(off, []byte{0xff, 0xff})
		f.Add(off+8, []byte{0x04, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff})
		f.Add(off+16, bytes.Repeat([]byte{0x7f}, 24))
	}
	f.Fuzz(func(t *testing.T, off uint32, b []byte) {
		bad := bytes.Clone(good)
		if int(off) < len(bad) {
			copy(bad[off:], b)
		}
		path := filepath.Join(t.TempDir(), "series.db")
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), Config{Dirs: []string{base}, Index: path, Interval: -1})
		if err != nil {
			t.Fatal(err) // the archives are intact, whatever the index has
		}
		defer s.Close()
		list, err := s.Select(t.Context(), series.Matcher{Field: series.MetricName, Match: func(string) bool { return true }})
		if err != nil {
			return
		}
		for _, err := range s.Values(t.Context(), list, series.Window{}) {
			if err != nil {
				return
			}
		}
	})
}
