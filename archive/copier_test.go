package archive_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// copyAll copies an archive to one of another version, and changes nothing else.
func copyAll(t *testing.T, a *archive.Archive, version int) *archive.Archive {
	t.Helper()
	label := a.Label()
	label.Version = version
	w := create(t, archive.WriterConfig{Label: label})
	c := archive.NewCopier(w)
	mr, closer, err := a.OpenMeta()
	must(t, err)
	defer closer.Close()
	for {
		m, err := mr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		must(t, c.Meta(m, mr.Body()))
	}
	s := archive.NewScanner(a)
	defer s.Close()
	for rec, err := range s.Records() {
		must(t, err)
		must(t, c.Record(rec, nil))
	}
	must(t, w.Close())
	b, err := archive.Open(w.Path())
	must(t, err)
	t.Cleanup(func() { b.Close() })
	return b
}

// recordBodies returns the contents of all records, of values and of metadata.
func recordBodies(t *testing.T, a *archive.Archive) (list [][]byte) {
	t.Helper()
	mr, closer, err := a.OpenMeta()
	must(t, err)
	defer closer.Close()
	for {
		if _, err := mr.Next(); err != nil {
			break
		}
		list = append(list, bytes.Clone(mr.Body()))
	}
	r := a.NewReader()
	defer r.Close()
	for {
		if _, err := r.Next(); err != nil {
			return list
		}
		list = append(list, bytes.Clone(r.Body()))
	}
}

// TestCopierVersions copies from one version to the other and back: an archive of
// version 2 is unchanged, an archive of version 3 has the same contents.
func TestCopierVersions(t *testing.T) {
	for _, version := range []int{archive.Version2, archive.Version3} {
		w := create(t, archive.WriterConfig{Label: archive.Label{Version: version}})
		sample(t, w, 300)
		must(t, w.Close())
		a, err := archive.Open(w.Path())
		must(t, err)
		defer a.Close()
		if diff := cmp.Diff(recordBodies(t, a), recordBodies(t, copyAll(t, a, version))); diff != "" {
			t.Errorf("version %d: a copy differs:\n%s", version, diff)
		}
		other := copyAll(t, a, archive.Version2+archive.Version3-version)
		if version == archive.Version2 {
			if diff := cmp.Diff(recordBodies(t, a), recordBodies(t, copyAll(t, other, version))); diff != "" {
				t.Errorf("version 2 to 3 and back:\n%s", diff)
			}
		}
		history := func(a *archive.Archive) (list []archive.InDomRecord) {
			for _, indom := range a.Meta().InDoms() {
				for rec := range a.Meta().History(indom) {
					rec.Instances = slices.Clone(rec.Instances)
					list = append(list, rec)
				}
			}
			return list
		}
		if diff := cmp.Diff(history(a), history(other)); diff != "" {
			t.Errorf("instances of version %d in the other:\n%s", version, diff)
		}
		var res []*pcp.Result
		for r, err := range a.Records(a.Label().Start, archive.Forward) {
			must(t, err)
			res = append(res, r.Clone())
		}
		for r, err := range other.Records(a.Label().Start, archive.Forward) {
			must(t, err)
			if diff := cmp.Diff(res[0], r, sameResult...); diff != "" {
				t.Fatalf("a record of version %d in the other:\n%s", version, diff)
			}
			res = res[1:]
		}
		if len(res) > 0 {
			t.Errorf("%d records are missing", len(res))
		}
	}
}

// mangled returns a record of version 2 with its two blocks in the wrong order.
func mangled() []byte {
	b := []byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1} // sec usec numpmid
	w := func(words ...uint32) {
		for _, v := range words {
			b = binary.BigEndian.AppendUint32(b, v)
		}
	}
	w(1<<22|1, 2, uint32(pcp.ValDPtr))
	w(0, (12+40+8)/4, 1, (12+40)/4)             // the second block is first
	w(uint32(pcp.TypeString)<<24|6, 0x79002021) // "y", padded with rubbish
	w(uint32(pcp.TypeString)<<24|6, 0x78007e7e) // "x"
	return b
}

// TestCopierCanonical checks that a record which the C library would not write is
// copied in the C library's form, also when its layout is known.
func TestCopierCanonical(t *testing.T) {
	w := create(t, archive.WriterConfig{Label: archive.Label{Version: archive.Version2}})
	defer w.Close()
	c := archive.NewCopier(w)
	padded := func(fill byte) []byte {
		b := mangled()[:12]
		for _, v := range []uint32{1<<22 | 1, 1, uint32(pcp.ValDPtr), 0, (12 + 32) / 4, uint32(pcp.TypeString)<<24 | 6} {
			b = binary.BigEndian.AppendUint32(b, v)
		}
		return append(b, 'x', 0, fill, fill)
	}
	f := func(body []byte, canonical bool) {
		t.Helper()
		var check archive.Checker
		for range 3 {
			rec := archive.Record{Body: body, Version: archive.Version2}
			must(t, check.Record(&rec))
			got := bytes.Clone(c.Body(&rec, nil))
			if rec.Canonical != canonical || bytes.Equal(got, body) != canonical {
				t.Errorf("canonical is %t, want %t; % x became % x", rec.Canonical, canonical, body, got)
			}
			again := archive.Record{Body: got, Version: archive.Version2}
			must(t, check.Record(&again))
			if !again.Canonical {
				t.Errorf("% x is not canonical", got)
			}
		}
	}
	f(mangled(), false)
	f(padded('~'), true)
	f(padded('\n'), false)
	mark := []byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}
	f(mark, true)
	if got := c.Body(&archive.Record{Time: pcp.Timestamp{Sec: 1}, Version: archive.Version3}, nil); !bytes.Equal(got, mark) {
		t.Errorf("the mark between archives is % x, want % x", got, mark)
	}
}

// FuzzCopier copies parts of records that are good, and finds them in the copy.
func FuzzCopier(f *testing.F) {
	f.Add(mangled(), false, false, uint32(0))
	for _, b := range layouts(f) {
		f.Add(b, true, false, uint32(0))
		f.Add(b, true, true, uint32(0x1234567))
	}
	w2 := create(f, archive.WriterConfig{Label: archive.Label{Version: archive.Version2}})
	w3 := create(f, archive.WriterConfig{Label: archive.Label{Version: archive.Version3}})
	f.Cleanup(func() { w2.Close(); w3.Close() })
	f.Fuzz(func(t *testing.T, body []byte, from3, to3 bool, choice uint32) {
		rec := archive.Record{Body: body, Version: archive.Version2}
		if from3 {
			rec.Version = archive.Version3
		}
		c, version := archive.NewCopier(w2), archive.Version2
		if to3 {
			c, version = archive.NewCopier(w3), archive.Version3
		}
		var check archive.Checker
		var want, got pcp.Result
		for range 2 + choice%2 {
			if check.Record(&rec) != nil {
				return
			}
		}
		must(t, archive.DecodeResult(&want, body, rec.Version))
		want = *want.Clone()
		bit := func() bool { choice = choice>>1 | choice<<31; return choice>>31 == 1 }
		var parts []archive.Part
		if choice != 0 {
			sets := want.Sets
			want.Sets, parts = nil, []archive.Part{}
			for i, s := range rec.Sets {
				if bit() {
					continue
				}
				p := archive.Part{Set: s}
				vs := sets[i]
				if p.PMID == 5 {
					p.PMID, vs.PMID = 6, 6
				}
				if bit() {
					p.Pick = []int{}
					vs.Values, vs.Err = nil, 0
					for k := range s.Len {
						if bit() {
							p.Pick, vs.Values = append(p.Pick, k), append(vs.Values, sets[i].Values[k])
						}
					}
				}
				parts, want.Sets = append(parts, p), append(want.Sets, vs)
			}
		}
		out := c.Body(&rec, parts)
		if err := archive.DecodeResult(&got, out, version); err != nil {
			t.Fatalf("what is written cannot be decoded: %v", err)
		}
		if version == archive.Version2 && want.Time.Sec != int64(int32(want.Time.Sec)) || want.Time.Nsec%1000 != 0 {
			got.Time = want.Time // which the writer would refuse
		}
		if len(got.Sets) != len(want.Sets) || got.Time != want.Time {
			t.Fatalf("%d sets of %v, want %d of %v", len(got.Sets), got.Time, len(want.Sets), want.Time)
		}
		for i, vs := range want.Sets {
			if got.Sets[i].PMID != vs.PMID || got.Sets[i].Err != vs.Err || len(got.Sets[i].Values) != len(vs.Values) {
				t.Fatalf("set %d is %v, want %v", i, got.Sets[i], vs)
			}
			for k, v := range vs.Values {
				if w := got.Sets[i].Values[k]; w.Inst != v.Inst || w.Type() != v.Type() || w.Bits() != v.Bits() || !bytes.Equal(w.Bytes(), v.Bytes()) {
					t.Fatalf("set %d value %d is %v, want %v", i, k, w, v)
				}
			}
		}
	})
}

// FuzzAppendMetaCopy copies records of the metadata to both versions: a record
// that can be decoded has the same contents in the copy.
func FuzzAppendMetaCopy(f *testing.F) {
	for _, version := range []int{archive.Version2, archive.Version3} {
		w := create(f, archive.WriterConfig{Label: archive.Label{Version: version}})
		sample(f, w, 18)
		must(f, w.Close())
		a, err := archive.Open(w.Path())
		must(f, err)
		mr, closer, err := a.OpenMeta()
		must(f, err)
		for {
			if _, err := mr.Next(); err != nil {
				break
			}
			f.Add(bytes.Clone(mr.Body()), true)
			f.Add(bytes.Clone(mr.Body()), false)
		}
		closer.Close()
		a.Close()
	}
	f.Fuzz(func(t *testing.T, body []byte, v3 bool) {
		version := archive.Version2
		if v3 {
			version = archive.Version3
		}
		b, err := archive.AppendMetaCopy([]byte("before"), body, at(1), version)
		want, bad := archive.DecodeMeta(body, version)
		if bad != nil {
			return // it need not be looked at
		}
		if err != nil {
			if want.Type == archive.MetaInDomDelta && !v3 {
				return
			}
			t.Fatal(err)
		}
		got, err := archive.DecodeMeta(b[len("before"):], version)
		must(t, err)
		switch want.Type {
		case archive.MetaInDomV2, archive.MetaInDom, archive.MetaInDomDelta, archive.MetaLabelV2, archive.MetaLabel:
			want.Time = at(1)
		}
		if v3 && got.Type == archive.MetaInDom || !v3 && got.Type == archive.MetaInDomV2 ||
			v3 && got.Type == archive.MetaLabel || !v3 && got.Type == archive.MetaLabelV2 {
			want.Type = got.Type
		}
		if diff := cmp.Diff(want, got, sameResult...); diff != "" {
			t.Error(diff)
		}
	})
}

// TestInDomState applies records, and finds the deltas between the resulting states.
func TestInDomState(t *testing.T) {
	insts := func(pairs ...any) (list []archive.Change) {
		for i := 0; i < len(pairs); i += 2 {
			c := archive.Change{Inst: int32(pairs[i].(int))}
			if name, ok := pairs[i+1].(string); ok {
				c.Name = []byte(name)
			}
			list = append(list, c)
		}
		return list
	}
	var s archive.InDomState
	f := func(typ archive.MetaType, change, want, delta []archive.Change) {
		t.Helper()
		old := slices.Clone(s.Instances)
		s.Apply(&archive.MetaRecord{Type: typ, Instances: change})
		if diff := cmp.Diff(want, s.Instances); diff != "" {
			t.Errorf("after %v (-want +got):\n%s", change, diff)
		}
		got, ok := archive.InDomDelta(old, s.Instances)
		if diff := cmp.Diff(delta, got); diff != "" || ok != (delta != nil) {
			t.Errorf("from %v to %v: %t, %s", old, s.Instances, ok, diff)
		}
	}
	const full, delta = archive.MetaInDom, archive.MetaInDomDelta
	f(delta, insts(2, "b", 1, "a", 7, nil), insts(1, "a", 2, "b"), insts(1, "a", 2, "b"))
	f(full, insts(3, "c", 1, "a"), insts(1, "a", 3, "c"), insts(2, nil, 3, "c"))
	f(delta, insts(1, nil), insts(3, "c"), insts(1, nil))
	f(delta, insts(4, "d", 2, "b"), insts(2, "b", 3, "c", 4, "d"), insts(2, "b", 4, "d"))
	f(delta, insts(4, "new"), insts(2, "b", 3, "c", 4, "new"), nil) // a delta cannot rename
	f(delta, nil, insts(2, "b", 3, "c", 4, "new"), nil)
	f(delta, insts(2, nil, 3, nil), insts(4, "new"), nil) // more changes than instances
}
