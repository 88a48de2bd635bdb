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

// A journal is a file system that remembers every write in its order.
type journal struct {
	writes []write
	fail   int // number of the write that fails, from 1
	short  int // bytes of it that are still written
}

type write struct {
	path string
	b    []byte // nil: the file is made
}

type journalFile struct {
	j    *journal
	path string
}

func (j *journal) create(path string) (io.WriteCloser, error) {
	j.writes = append(j.writes, write{path, nil})
	return &journalFile{j, path}, nil
}

func (f *journalFile) Write(b []byte) (int, error) {
	if f.j.fail > 0 {
		if f.j.fail--; f.j.fail == 0 {
			n := min(f.j.short, len(b))
			f.j.writes = append(f.j.writes, write{f.path, append([]byte{}, b[:n]...)})
			return n, syscall.ENOSPC
		}
	}
	f.j.writes = append(f.j.writes, write{f.path, append([]byte{}, b...)})
	return len(b), nil
}

func (f *journalFile) Close() error { return nil }

// churn writes records, with numbers from first, before each of which the instance domain changes:
// the name of the only instance is the number of the record.
func churn(w *Writer, first, records int) error {
	desc := pcp.Desc{PMID: pcp.NewPMID(1, 2, 3), Type: pcp.TypeU64, InDom: pcp.NewInDom(1, 1), Sem: pcp.SemInstant}
	if err := w.Desc(desc, "a.metric"); err != nil {
		return err
	}
	var res pcp.Result
	for i := first; i < first+records; i++ {
		t := pcp.Timestamp{Sec: int64(1000 + i)}
		if err := w.InDom(t, desc.InDom, []pcp.Instance{{Inst: int32(i), Name: fmt.Sprint(i)}}); err != nil {
			return err
		}
		res.Reset()
		res.Time = t
		res.AddSet(desc.PMID)
		res.Add(pcp.Uint64Value(uint64(i)).WithInst(int32(i)))
		if err := w.WriteResult(&res); err != nil {
			return err
		}
	}
	return nil
}

// checkChurn opens the remains of an archive that churn wrote and returns the
// number of records, each with its instance.
func checkChurn(t *testing.T, base string) int {
	t.Helper()
	a, err := Open(base)
	if err != nil {
		t.Errorf("%v", err)
		return -1
	}
	defer a.Close()
	n, cut := 0, false
	for res, err := range a.Records(a.Label().Start, Forward) {
		if err != nil {
			cut = true
			if !errors.Is(err, pcp.ErrLogRec) {
				t.Errorf("record %d: %v", n, err)
			}
			break // the last record is cut
		}
		if len(res.Sets) != 1 || len(res.Sets[0].Values) != 1 || res.Sets[0].Values[0].Uint64() != uint64(n) {
			t.Errorf("record %d is not the one that was written", n)
		}
		if name, ok := a.Meta().View(pcp.NewInDom(1, 1), res.Time).Name(int32(n)); !ok || name != fmt.Sprint(n) {
			t.Errorf("record %d: its instance has name %q, %t", n, name, ok)
		}
		n++
	}
	// If the last volume is cut and not yet in the index, readers take the end
	// from the previous volume, as the C library does.
	vols, index := a.Volumes(), a.Index()
	if n > 0 && (!cut || len(index) > 0 && int(index[len(index)-1].Vol) == vols[len(vols)-1]) {
		if end, err := a.End(); err != nil || end.Sec != int64(999+n) {
			t.Errorf("after %d records the end is %v, %v", n, end, err)
		}
	}
	for i, e := range index {
		size, err := FileSize(fmt.Sprint(base, ".", e.Vol))
		if err != nil || e.Data > size {
			t.Errorf("entry %d of the index leads to %d of volume %d, which has %d, %v", i, e.Data, e.Vol, size, err)
		}
		if size, err := FileSize(base + ".meta"); err != nil || e.Meta > size {
			t.Errorf("entry %d of the index leads to %d of the metadata, which have %d, %v", i, e.Meta, size, err)
		}
	}
	return n
}

// replay makes the files with the writes, checks them after each, and in the middle of each, and
// returns the number of records at the end, and of checks. At first there are some records; the
// first writes make and write labels.
func (j *journal) replay(t *testing.T, base string, version, last, labels int) (records, states int) {
	t.Helper()
	check := func(what string) {
		states++
		n := checkChurn(t, base)
		if n < last {
			t.Errorf("version %d, %s: %d records, %d before", version, what, n, last)
		}
		last = max(last, n)
	}
	add := func(path string, b []byte) {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	for i, wr := range j.writes {
		what := fmt.Sprintf("write %d to %s", i, filepath.Base(wr.path))
		if wr.b == nil {
			add(wr.path, nil)
			if i > labels/2-1 {
				check(what + ", which is made")
			}
			continue
		}
		first := len(wr.b) >= LabelSize(version) && i < labels // the labels are first
		if !first && !strings.HasSuffix(wr.path, ".meta") {
			for _, cut := range []int{1, 3, 4, len(wr.b) / 2, len(wr.b) - 5, len(wr.b) - 1} {
				if cut < 1 || cut >= len(wr.b) {
					continue
				}
				size, _ := FileSize(wr.path)
				add(wr.path, wr.b[:cut])
				check(fmt.Sprintf("%s, cut to %d of %d", what, cut, len(wr.b)))
				if err := os.Truncate(wr.path, size); err != nil {
					t.Fatal(err)
				}
			}
		}
		add(wr.path, wr.b)
		if i >= labels-1 {
			check(what)
		}
	}
	return last, states
}

// TestCrash checks the files after each write of a Writer, and in the middle of
// each: they are an archive up to its last complete record. It leaves out
// metadata cut inside of a record; see Writer.
func TestCrash(t *testing.T) {
	for _, version := range []int{Version2, Version3} {
		j := new(journal)
		dir := t.TempDir()
		base := filepath.Join(dir, "x")
		w, err := Create(base, WriterConfig{Label: Label{Version: version, Host: "h"}, VolumeBytes: 2000, BufferBytes: 500, IndexBytes: 300, create: j.create})
		if err != nil {
			t.Fatal(err)
		}
		const records = 100
		if err := churn(w, 0, records); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		last, states := j.replay(t, base, version, 0, 6)
		if last != records || states < 100 {
			t.Errorf("version %d: %d records at the end, want %d; %d states", version, last, records, states)
		}
	}
}

// TestWriteFails has each write fail in turn, some after a few bytes: the
// error names the file and is kept, and the contents of the files can be read.
func TestWriteFails(t *testing.T) {
	for fail := 1; ; fail++ {
		j := &journal{fail: fail, short: fail % 7}
		dir := t.TempDir()
		w, err := Create(filepath.Join(dir, "x"), WriterConfig{Label: Label{Host: "h"}, VolumeBytes: 3000, BufferBytes: 500, create: j.create})
		if err != nil {
			t.Fatal(err)
		}
		err = churn(w, 0, 60)
		if err != nil {
			if again := w.Mark(pcp.Timestamp{Sec: 5000}); again != err {
				t.Errorf("after %v another call: %v", err, again)
			}
		}
		if e := w.Close(); err == nil {
			err = e
		} else if e != err {
			t.Errorf("Close after %v: %v", err, e)
		}
		if err == nil {
			if fail < 20 {
				t.Errorf("only %d writes", fail)
			}
			return
		}
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), filepath.Join(dir, "x.")) {
			t.Errorf("write %d: %v", fail, err)
		}
		for _, wr := range j.writes {
			f, err := os.OpenFile(wr.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
			if err != nil {
				t.Fatal(err)
			}
			f.Write(wr.b)
			f.Close()
		}
		// The disk was full inside of a record of the metadata, or before
		// there were any labels.
		if last := j.writes[len(j.writes)-1]; !strings.HasSuffix(last.path, ".meta") && fail > 3 {
			checkChurn(t, filepath.Join(dir, "x"))
		}
	}
}

// TestVersion2Limit has a volume grow to the limit of version 2, which the test
// uses in place of 2^31: an entry of the index for the new volume, and no offset
// beyond.
func TestVersion2Limit(t *testing.T) {
	base := filepath.Join(t.TempDir(), "x")
	w, err := Create(base, WriterConfig{Label: Label{Version: Version2, Host: "h"}, VolumeBytes: 1 << 12, MetaBytes: 1 << 12})
	if err != nil {
		t.Fatal(err)
	}
	err = churn(w, 0, 1000)
	if !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), base+".meta") {
		t.Errorf("metadata grow to their limit: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	n := checkChurn(t, base)
	a, err := Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	entries := make(map[int32]bool)
	for _, e := range a.Index() {
		entries[e.Vol] = true
		if e.Data >= 1<<12 || e.Meta >= 1<<12 {
			t.Errorf("offset of %+v", e)
		}
	}
	if v := len(a.Volumes()); n < 60 || v < n*52>>12 || len(entries) != v {
		t.Errorf("%d records in %d volumes, %d of them in the index", n, v, len(entries))
	}
	for _, v := range a.Volumes() {
		if size, err := FileSize(fmt.Sprint(base, ".", v)); err != nil || size >= 1<<12 {
			t.Errorf("volume %d has %d bytes, %v", v, size, err)
		}
	}
}
