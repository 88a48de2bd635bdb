package archive_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/testing/damage"
)

// volumeRecords is the number of records in each volume of threeVolumes.
const volumeRecords = 40

// threeVolumes writes an archive of three volumes. All files are compressed
// if compress is not nil.
func threeVolumes(t *testing.T, suffix string, compress func(*testing.T, []byte) []byte) string {
	t.Helper()
	base := filepath.Join(t.TempDir(), "a")
	w, err := archive.Create(base, archive.WriterConfig{
		Label: archive.Label{Host: "h", TimeZone: "UTC", PID: 1, Start: at(0)}, IndexBytes: 400,
	})
	must(t, err)
	d := metric(1, pcp.TypeU32, pcp.InDomNull, pcp.SemInstant)
	must(t, w.Desc(d, "some.metric"))
	var res pcp.Result
	for i := range 3 * volumeRecords {
		if i > 0 && i%volumeRecords == 0 {
			must(t, w.NewVolume())
		}
		res.Reset()
		res.Time = at(int64(i))
		res.AddSet(d.PMID)
		res.Add(pcp.Uint32Value(uint32(i)))
		must(t, w.WriteResult(&res))
	}
	must(t, w.Close())
	if compress == nil {
		return base
	}
	paths, _ := filepath.Glob(base + ".*")
	for _, p := range paths {
		b, err := os.ReadFile(p)
		must(t, err)
		if b = compress(t, b); b == nil {
			t.Skipf("SKIPPED: no program for %s", suffix)
		}
		must(t, os.WriteFile(p+suffix, b, 0o600))
		must(t, os.Remove(p))
	}
	return base
}

// everyWay reads an archive in all possible ways, and calls fn with the number of
// records and the error of each.
func everyWay(t *testing.T, base string, fn func(way string, records int, err error)) {
	t.Helper()
	a, err := archive.Open(base)
	if err != nil {
		fn("Open", 0, err)
		return
	}
	defer a.Close()
	end := at(3 * volumeRecords)
	until := func(way string, next func() error) {
		n := 0
		for {
			err := next()
			if errors.Is(err, io.EOF) {
				err = nil
			} else if err == nil && n <= 3*volumeRecords {
				n++
				continue
			}
			fn(way, n, err)
			return
		}
	}
	for _, dir := range []archive.Direction{archive.Forward, archive.Backward} {
		from, name := a.Label().Start, " forwards"
		if dir == archive.Backward {
			from, name = end, " backwards"
		}
		r := a.NewReader()
		if err := r.Seek(from, dir); err != nil {
			fn("Seek"+name, 0, err)
		} else {
			until("Next"+name, func() error { _, err := r.Next(); return err })
		}
		r.Close()
		r = a.NewReader()
		if err := r.Seek(from, dir); err != nil {
			fn("Seek for Step"+name, 0, err)
		} else {
			until("Step"+name, func() error { _, err := r.Step(dir); return err })
		}
		r.Close()
		r = a.NewReader()
		until("Step of a new reader"+name, func() error { _, err := r.Step(dir); return err })
		r.Close()
	}
	last, err := a.End()
	n := int(last.Sub(at(0))) + 1
	fn("End", n, err)
}

// TestDamagedVolumeCompressed damages one of three compressed volumes, whose
// formats have check sums. A reader gets all records or an error: it does not skip
// a volume that cannot be read.
func TestDamagedVolumeCompressed(t *testing.T) {
	for kind, compress := range compressors {
		suffix := strings.TrimRight(kind, " c")
		if suffix == ".Z" || suffix == ".lzma" {
			continue // without check sums; see TestDamagedVolumeCut
		}
		t.Run(kind, func(t *testing.T) {
			v, err := damage.Copy(t.TempDir(), threeVolumes(t, suffix, compress))
			must(t, err)
			errs := 0
			for _, d := range v.DrawFrom(1, 60, ".0"+suffix, ".1"+suffix, ".2"+suffix) {
				must(t, v.Apply(d))
				everyWay(t, v.Base, func(way string, n int, err error) {
					if err != nil {
						errs++
					} else if n != 3*volumeRecords {
						t.Errorf("%v: %s: %d records without an error, want %d", d, way, n, 3*volumeRecords)
					}
				})
				must(t, v.Restore())
			}
			if errs < 60 {
				t.Errorf("%d errors for 60 damages", errs)
			}
		})
	}
}

// TestDamagedVolumeCut cuts compressed volumes, down to nothing. That gives
// pcp.ErrLogRec, not the end of the contents nor an archive without records; for
// the first volume when the archive is opened.
func TestDamagedVolumeCut(t *testing.T) {
	for kind, compress := range compressors {
		suffix := strings.TrimRight(kind, " c")
		t.Run(kind, func(t *testing.T) {
			v, err := damage.Copy(t.TempDir(), threeVolumes(t, suffix, compress))
			must(t, err)
			for volume := range 3 {
				file := "." + string(rune('0'+volume)) + suffix
				for i := range 5 {
					d := damage.Damage{File: file, Kind: damage.Cut, At: v.Size(file) * i / 5}
					if suffix == ".Z" && i > 0 {
						continue // a format without a length: it may end anywhere
					}
					must(t, v.Apply(d))
					everyWay(t, v.Base, func(way string, n int, err error) {
						if way == "End" && volume < 2 {
							return // is in the last volume
						}
						if !errors.Is(err, pcp.ErrLogRec) {
							t.Errorf("%v: %s: %d records and error %v, want ErrLogRec", d, way, n, err)
						}
						if volume == 0 && way != "Open" {
							t.Errorf("%v: the archive opens", d)
						}
					})
					must(t, v.Restore())
				}
			}
		})
	}
}

// TestDamagedVolumeLabel distinguishes damaged volumes from those that are
// missing or empty because the logger was stopped, or is running.
func TestDamagedVolumeLabel(t *testing.T) {
	whole := threeVolumes(t, "", nil)
	label := archive.LabelSize(archive.Version3)
	const all = 3 * volumeRecords
	for _, tt := range []struct {
		name    string
		change  func(base string) error
		records int // -1: an error
	}{
		{"whole", func(string) error { return nil }, all},
		{"second removed", func(base string) error { return os.Remove(base + ".1") }, all - volumeRecords},
		{"last removed", func(base string) error { return os.Remove(base + ".2") }, all - volumeRecords},
		{"one more, empty", func(base string) error { return os.WriteFile(base+".3", nil, 0o600) }, all},
		{"two more, empty", func(base string) error {
			return errors.Join(os.WriteFile(base+".3", nil, 0o600), os.WriteFile(base+".999", nil, 0o600))
		}, all},
		{"two more, without an index", func(base string) error {
			return errors.Join(os.Remove(base+".index"), os.WriteFile(base+".3", nil, 0o600), os.WriteFile(base+".4", nil, 0o600))
		}, all},
		{"second emptied, without an index", func(base string) error {
			return errors.Join(os.Remove(base+".index"), os.Truncate(base+".1", 0))
		}, -1},
		{"one more, half a label", func(base string) error {
			b, err := os.ReadFile(base + ".2")
			return errors.Join(err, os.WriteFile(base+".3", b[:label/2], 0o600))
		}, all},
		{"one more, a label alone", func(base string) error {
			b, err := os.ReadFile(base + ".2")
			b[27] = 3 // the volume's number
			return errors.Join(err, os.WriteFile(base+".3", b[:label], 0o600))
		}, all},
		{"one more, a copy of the first", func(base string) error {
			b, err := os.ReadFile(base + ".0")
			return errors.Join(err, os.WriteFile(base+".3", b, 0o600))
		}, all},
		{"second overwritten by the first", func(base string) error {
			b, err := os.ReadFile(base + ".0")
			return errors.Join(err, os.WriteFile(base+".1", b, 0o600))
		}, -1},
		{"second emptied", func(base string) error { return os.Truncate(base+".1", 0) }, -1},
		{"second cut to its label", func(base string) error { return os.Truncate(base+".1", int64(label)) }, -1},
		{"last emptied", func(base string) error { return os.Truncate(base+".2", 0) }, -1},
		{"last cut to half a label", func(base string) error { return os.Truncate(base+".2", int64(label/2)) }, -1},
		{"second without magic number", func(base string) error { return overwrite(base+".1", 4, 0) }, -1},
		{"last without magic number", func(base string) error { return overwrite(base+".2", 4, 0) }, -1},
		{"second of another number", func(base string) error { return overwrite(base+".1", 27, 7) }, -1},
		{"second that is a folder", func(base string) error {
			return errors.Join(os.Remove(base+".1"), os.Mkdir(base+".1", 0o700))
		}, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v, err := damage.Copy(t.TempDir(), whole)
			must(t, err)
			must(t, tt.change(v.Base))
			everyWay(t, v.Base, func(way string, n int, err error) {
				switch {
				case way == "End": // below
				case tt.records < 0 && err == nil:
					t.Errorf("%s: %d records and no error", way, n)
				case tt.records >= 0 && (err != nil || n != tt.records):
					t.Errorf("%s: %d records, error %v, want %d records", way, n, err, tt.records)
				}
				if way == "End" && (err != nil) != (tt.records < 0 && strings.HasPrefix(tt.name, "last")) {
					t.Errorf("End: error %v", err)
				}
			})
		})
	}
}

func overwrite(path string, at int64, b byte) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte{b}, at)
	return errors.Join(err, f.Close())
}

// TestCutMetadata cuts the metadata at each length: only the label alone, or
// none, is an archive without contents.
func TestCutMetadata(t *testing.T) {
	v, err := damage.Copy(t.TempDir(), threeVolumes(t, "", nil))
	must(t, err)
	label := archive.LabelSize(archive.Version3)
	for n := range v.Size(".meta") {
		must(t, v.Apply(damage.Damage{File: ".meta", Kind: damage.Cut, At: n}))
		_, err := archive.Open(v.Base)
		want := pcp.ErrLogRec
		switch {
		case n < 8 || n == label:
			want = pcp.ErrNoData
		case n < label:
			want = pcp.ErrLabel
		}
		if pcp.Code(err) != want {
			t.Errorf("metadata of %d bytes: %v, want %v", n, err, want)
		}
		must(t, v.Restore())
	}
}
