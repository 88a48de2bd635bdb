package archive_test

import (
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// TestCheckerRecord compares the sets of records with the decoded ones, with and
// without a layout.
func TestCheckerRecord(t *testing.T) {
	good := layouts(t)
	var c archive.Checker
	var numbers []int
	for round := range 3 {
		for i, body := range good {
			rec := archive.Record{Body: body, Version: archive.Version3}
			if err := c.Record(&rec); err != nil {
				t.Fatal(err)
			}
			if known := rec.Layout != 0; known != (round > 0) {
				t.Errorf("record %d the %d. time: layout %d", i, round+1, rec.Layout)
			}
			if round == 1 {
				numbers = append(numbers, rec.Layout)
			} else if round == 2 && numbers[i] != rec.Layout {
				t.Errorf("record %d: layout %d, and before %d", i, rec.Layout, numbers[i])
			}
			sameSets(t, &rec)
		}
	}
	slices.Sort(numbers)
	if len(slices.Compact(numbers)) != len(good) {
		t.Errorf("layouts %v", numbers)
	}
}

func sameSets(t *testing.T, rec *archive.Record) {
	t.Helper()
	var res pcp.Result
	if err := archive.DecodeResult(&res, rec.Body, rec.Version); err != nil {
		t.Fatal(err)
	}
	if rec.Time != res.Time || len(rec.Sets) != len(res.Sets) {
		t.Fatalf("%d sets at %v, want %d at %v", len(rec.Sets), rec.Time, len(res.Sets), res.Time)
	}
	for i := range rec.Sets {
		got, want := &rec.Sets[i], &res.Sets[i]
		if got.PMID != want.PMID || got.Len != len(want.Values) || got.Status != want.Err || got.Len > 0 && got.ValFmt != want.ValFmt {
			t.Errorf("set %d: %+v, want %+v", i, *got, *want)
			continue
		}
		if got.Len == 0 {
			continue
		}
		values := rec.Values(got)
		if last := want.Values[got.Len-1]; len(values) != 8*got.Len || int32(be32(values[8*got.Len-8:])) != last.Inst {
			t.Errorf("set %d: values % x", i, values)
		} else if got.ValFmt != pcp.ValInSitu {
			if typ, data := rec.Block(be32(values[8*got.Len-4:])); typ != last.Type() || len(data) == 0 {
				t.Errorf("set %d: block of type %v with % x", i, typ, data)
			}
			alike := true
			for _, v := range want.Values {
				alike = alike && v.Type() == want.Values[0].Type() && len(v.Bytes()) == len(want.Values[0].Bytes())
			}
			first := be32(values[4:])
			if at := int(first)*4 - 12; alike && (got.Blocks != at || got.Head != be32(rec.Body[at:])) || !alike && got.Head != 0 {
				t.Errorf("set %d: blocks alike: %v, but %#x at %d", i, alike, got.Head, got.Blocks)
			}
		}
	}
}

func be32(b []byte) uint32 {
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

// write makes an archive with values at some seconds.
func write(t *testing.T, name string, start, n int64) *archive.Archive {
	t.Helper()
	path := t.TempDir() + "/" + name
	w, err := archive.Create(path, archive.WriterConfig{Label: archive.Label{
		Version: archive.Version3, PID: 1, Host: "h", TimeZone: "UTC", Start: at(start),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Desc(pcp.Desc{PMID: 5, Type: pcp.TypeU64, InDom: pcp.InDomNull}, "some.metric"); err != nil {
		t.Fatal(err)
	}
	var res pcp.Result
	for k := range n {
		res.Reset()
		res.Time = at(start + k)
		res.AddSet(5)
		res.Add(pcp.Uint64Value(uint64(k)))
		if err := w.WriteResult(&res); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	a, err := archive.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// TestScanner reads two archives, with the mark between them.
func TestScanner(t *testing.T) {
	list := []*archive.Archive{write(t, "a", 0, 5), write(t, "b", 100, 3)}
	scan := func(s *archive.Scanner) (times []pcp.Timestamp) {
		defer s.Close()
		for rec, err := range s.Records() {
			if err != nil {
				t.Fatal(err)
			}
			times = append(times, rec.Time)
			if mark := rec.Body == nil; mark != (len(rec.Sets) == 0) {
				t.Errorf("at %v: %d bytes, %d sets", rec.Time, len(rec.Body), len(rec.Sets))
			} else if !mark {
				sameSets(t, rec)
			}
		}
		if _, err := s.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("after the end: %v", err)
		}
		return times
	}
	mark := at(4)
	mark.Nsec += 1e6
	all := []pcp.Timestamp{at(0), at(1), at(2), at(3), at(4), mark, at(100), at(101), at(102)}
	if got := scan(archive.NewScanner(list...)); !slices.Equal(got, all) {
		t.Errorf("records at %v, want %v", got, all)
	}
	s := archive.NewScanner(list...)
	if err := s.Seek(at(101)); err != nil {
		t.Fatal(err)
	}
	if got := scan(s); !slices.Contains(got, at(101)) || got[0].Compare(at(100)) < 0 {
		t.Errorf("records at %v from 101 on", got)
	}
	s = archive.NewScanner(list[1], list[0])
	defer s.Close()
	var err error
	for err == nil {
		_, err = s.Next()
	}
	if !errors.Is(err, pcp.ErrLogOverlap) {
		t.Errorf("in the wrong order: %v", err)
	}
}
