package archive

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/go-pcp/pcp"
)

// TestTrim stops a Writer after each write, and inside each: after Trim the archive reads
// without an error to its last complete record, or it is Empty.
func TestTrim(t *testing.T) {
	for _, version := range []int{Version2, Version3} {
		j := new(journal)
		dir := t.TempDir()
		w, err := Create(filepath.Join(dir, "x"), WriterConfig{Label: Label{Version: version, Host: "h"}, VolumeBytes: 2000, BufferBytes: 500, IndexBytes: 300, create: j.create})
		if err != nil {
			t.Fatal(err)
		}
		if err := churn(w, 0, 60); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		files := make(map[string][]byte)
		last, empty, trimmed := 0, 0, Trimmed{}
		check := func(what string) {
			t.Helper()
			base := filepath.Join(t.TempDir(), "x")
			for path, b := range files {
				if err := os.WriteFile(base+strings.TrimPrefix(path, filepath.Join(dir, "x")), b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			did, err := Trim(base)
			if err != nil {
				t.Errorf("version %d, %s: %v", version, what, err)
				return
			}
			if did.Empty {
				empty++
				if last > 0 {
					t.Errorf("version %d, %s: empty after %d records", version, what, last)
				}
				return
			}
			trimmed.Data += did.Data
			trimmed.Meta += did.Meta
			trimmed.Index += did.Index
			a, err := Open(base)
			if err != nil {
				t.Errorf("version %d, %s: %v", version, what, err)
				return
			}
			defer a.Close()
			n := 0
			for res, err := range a.Records(a.Label().Start, Forward) {
				if err != nil {
					t.Errorf("version %d, %s: record %d: %v", version, what, n, err)
					break
				}
				if name, ok := a.Meta().View(pcp.NewInDom(1, 1), res.Time).Name(int32(n)); !ok || name != fmt.Sprint(n) {
					t.Errorf("version %d, %s: record %d: its instance has name %q, %t", version, what, n, name, ok)
				}
				n++
			}
			if n < last {
				t.Errorf("version %d, %s: %d records, %d before", version, what, n, last)
			}
			last = max(last, n)
			if again, err := Trim(base); err != nil || again != (Trimmed{}) {
				t.Errorf("version %d, %s: once more: %+v, %v", version, what, again, err)
			}
		}
		for i, wr := range j.writes {
			what := fmt.Sprintf("write %d to %s", i, filepath.Base(wr.path))
			before := files[wr.path]
			if wr.b == nil {
				files[wr.path] = []byte{}
			}
			for _, cut := range []int{1, 3, 4, 7, 8, 40, len(wr.b) / 2, len(wr.b) - 5, len(wr.b) - 1} {
				if cut < 1 || cut >= len(wr.b) {
					continue
				}
				files[wr.path] = append(before[:len(before):len(before)], wr.b[:cut]...)
				if i > 2 {
					check(fmt.Sprintf("%s, cut to %d of %d", what, cut, len(wr.b)))
				}
				// After a crash of the machine there may be zeros, from a word on.
				files[wr.path] = append(files[wr.path], make([]byte, len(wr.b)-cut)...)
				if i > 2 && cut >= 8 && len(wr.b)-cut > 4 {
					check(fmt.Sprintf("%s, zeros after %d of %d", what, cut, len(wr.b)))
				}
			}
			files[wr.path] = append(before[:len(before):len(before)], wr.b...)
			if i > 2 {
				check(what)
			}
		}
		if last != 60 || empty == 0 || trimmed.Data == 0 || trimmed.Meta == 0 || trimmed.Index == 0 {
			t.Errorf("version %d: %d records at the end; %d times empty, %+v cut", version, last, empty, trimmed)
		}
	}
}

// TestTrimDamage checks that Trim refuses an archive with other damage, and does not
// change it.
func TestTrimDamage(t *testing.T) {
	base := filepath.Join(t.TempDir(), "x")
	w, err := Create(base, WriterConfig{Label: Label{Host: "h"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(churn(w, 0, 20), w.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(base + ".index"); err != nil { // its offset would be behind the damage
		t.Fatal(err)
	}
	for _, suffix := range []string{".0", ".meta"} {
		good, err := os.ReadFile(base + suffix)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range []byte{0, 1, 0x7f, 0xff} {
			bad := append([]byte(nil), good...)
			bad[LabelSize(Version3)] = b
			bad[LabelSize(Version3)+3] ^= 0x44
			if err := os.WriteFile(base+suffix, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			if did, err := Trim(base); !errors.Is(err, pcp.ErrLogRec) || !strings.Contains(err.Error(), base+suffix) || did.Data+did.Meta+did.Index > 0 {
				t.Errorf("%s, first byte %#x: %+v, %v", suffix, b, did, err)
			}
			if now, _ := os.ReadFile(base + suffix); string(now) != string(bad) {
				t.Errorf("%s was changed", suffix)
			}
		}
		if err := os.WriteFile(base+suffix, good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A fullFile is a file on a full file system while full is set: a write writes a few
// bytes.
type fullFile struct {
	*os.File
	full *string // the suffix of the file without space
	seen *int
}

func (f fullFile) Write(b []byte) (int, error) {
	if *f.full == "" || !strings.HasSuffix(f.Name(), *f.full) {
		return f.File.Write(b)
	}
	*f.seen++
	n, err := f.File.Write(b[:min(len(b), *f.seen%40)])
	if err == nil {
		err = syscall.ENOSPC
	}
	return n, err
}

// TestWaitForSpace has each file run out of space for a while: nothing is lost.
func TestWaitForSpace(t *testing.T) {
	for _, suffix := range []string{".meta", ".0", ".index", ".1"} {
		base := filepath.Join(t.TempDir(), "x")
		full, seen := "", 0
		w, err := Create(base, WriterConfig{
			Label: Label{Host: "h"}, WaitForSpace: true, BufferBytes: 300, VolumeBytes: 3000, IndexBytes: 300,
			create: func(path string) (io.WriteCloser, error) {
				f, err := createFile(path)
				if err != nil {
					return nil, err
				}
				return fullFile{f.(*os.File), &full, &seen}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		desc := pcp.Desc{PMID: pcp.NewPMID(1, 2, 3), Type: pcp.TypeU64, InDom: pcp.NewInDom(1, 1), Sem: pcp.SemInstant}
		if err := w.Desc(desc, "a.metric"); err != nil {
			t.Fatal(err)
		}
		var res pcp.Result
		lost := 0
		for i := range 100 {
			full = ""
			if i/10%3 == 1 {
				full = suffix
			}
			at := pcp.Timestamp{Sec: int64(1000 + i)}
			if err := w.InDom(at, desc.InDom, []pcp.Instance{{Inst: int32(i - lost), Name: fmt.Sprint(i - lost)}}); err != nil {
				t.Fatal(err)
			}
			res.Reset()
			res.Time = at
			res.AddSet(desc.PMID)
			res.Add(pcp.Uint64Value(uint64(i - lost)).WithInst(int32(i - lost)))
			if err := w.WriteResult(&res); NoSpace(err) {
				lost++ // it needed a new volume
			} else if err != nil {
				t.Fatalf("%s: record %d: %v", suffix, i, err)
			}
			held := w.Held()
			if err := w.Flush(); err != nil && (full == "" || !NoSpace(err) || held == 0 || w.Held() == 0) {
				t.Errorf("%s: record %d: flush: %v, %d bytes held", suffix, i, err, held)
			}
		}
		full = ""
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if seen == 0 || lost > 40 {
			t.Errorf("%s: %d writes failed, %d records were lost", suffix, seen, lost)
		}
		a, err := Open(base)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for res, err := range a.Records(a.Label().Start, Forward) {
			if err != nil {
				t.Fatalf("%s: record %d: %v", suffix, n, err)
			}
			if v := res.Sets[0].Values[0]; v.Uint64() != uint64(n) {
				t.Fatalf("%s: record %d is %d", suffix, n, v.Uint64())
			}
			n++
		}
		if n != 100-lost {
			t.Errorf("%s: %d records and %d lost of 100", suffix, n, lost)
		}
		t.Logf("%s: %d writes failed, %d records lost", suffix, seen, lost)
		a.Close()
	}
}
