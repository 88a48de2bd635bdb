package archive_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

var sameResult = []cmp.Option{cmp.Exporter(func(reflect.Type) bool { return true }), cmpopts.IgnoreFields(pcp.Result{}, "values"), cmpopts.EquateEmpty()}

// FuzzAppendResult decodes records and encodes them again, in both versions: the
// result must be the same.
func FuzzAppendResult(f *testing.F) {
	for _, version := range []int{archive.Version2, archive.Version3} {
		w := create(f, archive.WriterConfig{Label: archive.Label{Version: version}})
		sample(f, w, 18)
		must(f, w.Close())
		a, err := archive.Open(w.Path())
		must(f, err)
		r := a.NewReader()
		for range 18 {
			_, err := r.Next()
			must(f, err)
			f.Add(bytes.Clone(r.Body()), version == archive.Version3)
		}
		r.Close()
		a.Close()
	}
	f.Fuzz(func(t *testing.T, body []byte, v3 bool) {
		version, other := archive.Version2, archive.Version3
		if v3 {
			version, other = other, version
		}
		var res, again pcp.Result
		if archive.DecodeResult(&res, body, version) != nil {
			return
		}
		b, err := archive.AppendResult([]byte("before"), &res, version)
		if err != nil {
			if res.Time.Nsec < 0 || res.Time.Nsec >= 1e9 || noType(&res) {
				return
			}
			t.Fatal(err)
		}
		if err := archive.DecodeResult(&again, b[len("before"):], version); err != nil {
			t.Fatal(err)
		}
		if version == archive.Version2 {
			res.Time.Nsec -= res.Time.Nsec % 1000 // overflow of decoding
		}
		if diff := cmp.Diff(&res, &again, sameResult...); diff != "" {
			t.Error(diff)
		}
		// The other version has the same contents, except the time.
		if b, err = archive.AppendResult(b[:0], &res, other); err != nil {
			if v3 && res.Time.Sec != int64(int32(res.Time.Sec)) {
				return
			}
			t.Fatal(err)
		}
		if err := archive.DecodeResult(&again, b, other); err != nil {
			t.Fatal(err)
		}
		again.Time = res.Time
		if diff := cmp.Diff(&res, &again, sameResult...); diff != "" {
			t.Error(diff)
		}
	})
}

// noType reports whether there is a value in a block without its own type.
func noType(res *pcp.Result) bool {
	for _, vs := range res.Sets {
		for _, v := range vs.Values {
			if vs.ValFmt != pcp.ValInSitu && (v.Type() == pcp.TypeUnknown || v.Type() == pcp.TypeNoSupport) {
				return true
			}
		}
	}
	return false
}

// FuzzAppendMeta decodes metadata and encodes them again: the result must be the
// same.
func FuzzAppendMeta(f *testing.F) {
	for _, version := range []int{archive.Version2, archive.Version3} {
		w := create(f, archive.WriterConfig{Label: archive.Label{Version: version}})
		sample(f, w, 30)
		must(f, w.Close())
		a, err := archive.Open(w.Path())
		must(f, err)
		mr, closer, err := a.OpenMeta()
		must(f, err)
		for {
			if _, err := mr.Next(); err != nil {
				break
			}
			f.Add(bytes.Clone(mr.Body()), version == archive.Version3)
		}
		closer.Close()
		a.Close()
	}
	f.Fuzz(func(t *testing.T, body []byte, v3 bool) {
		version := archive.Version2
		if v3 {
			version = archive.Version3
		}
		read := func(body []byte) (*archive.MetaRecord, error) {
			l := archive.Label{Version: version, Vol: archive.VolMeta}
			file := l.Append(nil)
			framed(&file, body)
			mr, err := archive.NewMetaReader(bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			rec, err := mr.Next()
			if err == nil && !bytes.Equal(mr.Body(), body) {
				t.Errorf("Body is %q, want %q", mr.Body(), body)
			}
			return rec, err
		}
		rec, err := read(body)
		if err != nil {
			return
		}
		b, err := archive.AppendMeta(nil, rec, version)
		if err != nil {
			return // a record of the other version, or a time out of range
		}
		again, err := read(b)
		if err != nil {
			t.Fatal(err)
		}
		// The type follows the version.
		again.Type = rec.Type
		if version == archive.Version2 {
			rec.Time.Nsec -= rec.Time.Nsec % 1000
		}
		if diff := cmp.Diff(rec, again, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	})
}
