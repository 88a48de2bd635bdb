package archive

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
)

// contents returns the bytes of all files of a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(b)
	}
	return files
}

// put writes an archive of churn's first records.
func put(t *testing.T, base string, version, records int) {
	t.Helper()
	w, err := Create(base, WriterConfig{Label: Label{Version: version, Host: "h", TimeZone: "UTC"}, VolumeBytes: 2000})
	if err == nil {
		err = errors.Join(churn(w, 0, records), w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestAppend writes an archive in several sessions.
func TestAppend(t *testing.T) {
	for _, version := range []int{Version2, Version3} {
		dir := t.TempDir()
		base := "x" // also relative to the directory
		t.Chdir(dir)
		n := 0
		for _, more := range []int{1, 30, 1, 100, 7} {
			w, err := Create(base, WriterConfig{Label: Label{Version: version, Host: "h"}, VolumeBytes: 2000, IndexBytes: 300, Append: true})
			if err != nil {
				t.Fatal(err)
			}
			if n > 0 {
				other := pcp.Desc{PMID: pcp.NewPMID(1, 2, 3), Type: pcp.TypeU32, InDom: pcp.NewInDom(1, 1), Sem: pcp.SemInstant}
				if err := w.Desc(other, "a.metric"); !errors.Is(err, pcp.ErrLogChangeType) {
					t.Errorf("another type: %v", err)
				}
			}
			if err := errors.Join(churn(w, n, more), w.Close()); err != nil {
				t.Fatal(err)
			}
			n += more
			if got := checkChurn(t, base); got != n {
				t.Errorf("version %d: %d records, want %d", version, got, n)
			}
		}
		a, err := Open(base)
		if err != nil {
			t.Fatal(err)
		}
		if l := a.Label(); l.Start.Sec != 1000 || l.Host != "h" || len(a.Volumes()) < 3 {
			t.Errorf("label %+v, volumes %v", l, a.Volumes())
		}
		a.Close()

		was := contents(t, dir)
		for _, end := range []func(*Writer) error{
			(*Writer).Close,
			(*Writer).Discard,
			func(w *Writer) error { return errors.Join(churn(w, n, 200), w.Flush(), w.Discard()) },
			func(w *Writer) error { return errors.Join(churn(w, n, 200), w.Close(), w.Discard()) },
		} {
			w, err := Create(base, WriterConfig{VolumeBytes: 2000, Append: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := end(w); err != nil {
				t.Error(err)
			}
			if !maps.Equal(contents(t, dir), was) {
				t.Errorf("version %d: the files are not what they were", version)
			}
		}
	}
}

// TestAppendRefused changes nothing where it cannot append.
func TestAppendRefused(t *testing.T) {
	chop := func(part string, n int64) func(base string) error {
		return func(base string) error {
			st, err := os.Stat(base + part)
			if err != nil {
				return err
			}
			return os.Truncate(base+part, st.Size()-n)
		}
	}
	swap := func(part string) func(base string) error {
		return func(base string) error {
			b, err := os.ReadFile(base + part)
			for i := 0; i+4 <= len(b); i += 4 {
				slices.Reverse(b[i : i+4])
			}
			return errors.Join(err, os.WriteFile(base+part, b, 0o666))
		}
	}
	for what, c := range map[string]struct {
		change func(base string) error
		cfg    WriterConfig
		want   error
		text   string
	}{
		"cut volume":        {chop(".0", 5), WriterConfig{}, pcp.ErrLogRec, "x.0: offset "},
		"cut metadata":      {chop(".meta", 5), WriterConfig{}, pcp.ErrLogRec, "x.meta: offset "},
		"cut index":         {chop(".index", 5), WriterConfig{}, pcp.ErrLogRec, "x.index: offset "},
		"empty index":       {func(base string) error { return os.Truncate(base+".index", 0) }, WriterConfig{}, pcp.ErrLabel, "x.index: no label"},
		"no index":          {func(base string) error { return os.Remove(base + ".index") }, WriterConfig{}, errNoIndex, "x: no temporal index"},
		"no volume":         {func(base string) error { return os.Remove(base + ".0") }, WriterConfig{}, nil, "x"},
		"packed":            {func(base string) error { return os.Rename(base+".meta", base+".meta.xz") }, WriterConfig{}, errPacked, "x.meta.xz: compressed"},
		"byte order":        {swap(".0"), WriterConfig{}, pcp.ErrLabel, "x.0: offset 0"},
		"byte order, index": {swap(".index"), WriterConfig{}, pcp.ErrLabel, "x.index: offset 0"},
		"version":           {nil, WriterConfig{Label: Label{Version: Version2}}, errInvalid, "the version of the archive is 3, not 2"},
		"host":              {nil, WriterConfig{Label: Label{Host: "other"}}, errInvalid, `the host of the archive is "h", not "other"`},
		"zone":              {nil, WriterConfig{Label: Label{TimeZone: "CET-1"}}, errInvalid, `the time zone of the archive is "UTC", not "CET-1"`},
		"not asked for":     {nil, WriterConfig{}, fs.ErrExist, "x."},
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			base := filepath.Join(dir, "x")
			put(t, base, Version3, 20)
			if c.change != nil {
				if err := c.change(base); err != nil {
					t.Fatal(err)
				}
			}
			was := contents(t, dir)
			cfg := c.cfg
			cfg.Append = what != "not asked for"
			w, err := Create(base, cfg)
			if err == nil {
				w.Close()
				t.Fatal("no error")
			}
			if c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), filepath.Join(dir, "x")) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("error %q, want %q and %v", err, c.text, c.want)
			}
			if !maps.Equal(contents(t, dir), was) {
				t.Error("the files have changed")
			}
		})
	}
}

// TestAppendWritten does not append to an archive that another Writer has open.
func TestAppendWritten(t *testing.T) {
	base := filepath.Join(t.TempDir(), "x")
	put(t, base, Version3, 20)
	w, err := Create(base, WriterConfig{Append: true})
	if err != nil {
		t.Fatal(err)
	}
	if written, err := Written(base); err != nil || !written {
		t.Skipf("SKIPPED: no locks here: %v, %v", written, err)
	}
	if _, err := Create(base, WriterConfig{Append: true}); !errors.Is(err, errWritten) {
		t.Errorf("a second writer: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w, err = Create(base, WriterConfig{Append: true}); err != nil {
		t.Fatal(err)
	}
	w.Close()
}

// TestAppendCrash checks the files after each write of a Writer that appends, and in the
// middle of each.
func TestAppendCrash(t *testing.T) {
	for _, version := range []int{Version2, Version3} {
		base := filepath.Join(t.TempDir(), "x")
		put(t, base, version, 30)
		j := new(journal)
		w, err := Create(base, WriterConfig{
			Append: true, VolumeBytes: 2000, BufferBytes: 500, IndexBytes: 300, create: j.create,
			reopen: func(f *os.File) io.WriteCloser { return &journalFile{j, f.Name()} },
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(churn(w, 30, 60), w.Close()); err != nil {
			t.Fatal(err)
		}
		if n := checkChurn(t, base); n != 30 {
			t.Fatalf("before the first write %d records", n)
		}
		last, states := j.replay(t, base, version, 30, 0)
		if last != 90 || states < 60 {
			t.Errorf("version %d: %d records at the end, %d states", version, last, states)
		}
	}
}

// TestAppendAfterTrim appends to the remains of a killed writer.
func TestAppendAfterTrim(t *testing.T) {
	base := filepath.Join(t.TempDir(), "x")
	put(t, base, Version3, 20)
	st, err := os.Stat(base + ".0")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(base+".0", st.Size()-9); err != nil {
		t.Fatal(err)
	}
	if _, err := Trim(base); err != nil {
		t.Fatal(err)
	}
	w, err := Create(base, WriterConfig{Append: true, VolumeBytes: 2000})
	if err != nil {
		t.Fatal(err)
	}
	n := checkChurn(t, base)
	if err := errors.Join(churn(w, n, 10), w.Close()); err != nil {
		t.Fatal(err)
	}
	if got := checkChurn(t, base); got != n+10 {
		t.Errorf("%s: %d records, want %d", fmt.Sprint(base), got, n+10)
	}
}
