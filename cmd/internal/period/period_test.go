package period

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/archiveindex"
	"github.com/go-pcp/pcp/internal/storage"
)

// A dirStore is a store of the files below a directory, which counts the archives that are opened.
type dirStore struct {
	root   string
	mu     sync.Mutex
	opened map[string]bool
}

func (d *dirStore) path(address string) string {
	return filepath.Join(d.root, strings.TrimPrefix(address, "dir://"))
}

func (d *dirStore) Open(address string) (storage.File, error) {
	base, _, _ := archive.BaseName(filepath.Base(address))
	d.mu.Lock()
	d.opened[base] = true
	d.mu.Unlock()
	return os.Open(d.path(address))
}

func (d *dirStore) Stat(address string) (fs.FileInfo, error) { return os.Stat(d.path(address)) }

func (d *dirStore) ReadDir(address string) ([]fs.DirEntry, error) { return os.ReadDir(d.path(address)) }

func (d *dirStore) ReadFile(address string) ([]byte, error) { return os.ReadFile(d.path(address)) }
func (d *dirStore) take() (n int)                           { n = len(d.opened); clear(d.opened); return n }

func at(t *testing.T, text string) time.Time { return must(time.Parse("20060102.15.04", text))(t) }

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// write writes an archive with two records.
func write(t *testing.T, base string, start, end time.Time) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(base), 0o755); err != nil {
		t.Fatal(err)
	}
	w := must(archive.Create(base, archive.WriterConfig{Label: archive.Label{Version: 3, PID: 1, Host: "h", Start: pcp.TimestampOf(start)}}))(t)
	id := pcp.NewPMID(60, 0, 1)
	if err := w.Desc(pcp.Desc{PMID: id, Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}, "m"); err != nil {
		t.Fatal(err)
	}
	for _, when := range []time.Time{start, end} {
		res := pcp.Result{Time: pcp.TimestampOf(when)}
		res.AddSet(id)
		res.Add(pcp.Uint32Value(1).WithInst(pcp.InNull))
		if err := w.WriteResult(&res); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestArchives looks for the archives of periods of a year.
func TestArchives(t *testing.T) {
	d := &dirStore{root: t.TempDir(), opened: map[string]bool{}}
	storage.Register("dir", func() storage.Store { return d })
	day := at(t, "20250101.00.10")
	for i := range 60 {
		start := day.AddDate(0, 0, i)
		if i >= 30 && i < 33 {
			continue // nothing was recorded
		}
		write(t, filepath.Join(d.root, "h", start.Format("20060102.15.04")), start, start.Add(24*time.Hour-time.Minute))
	}
	// Another recorder wrote for a minute at the same time.
	write(t, filepath.Join(d.root, "h", "20250110.00.20"), at(t, "20250110.00.20"), at(t, "20250110.00.21"))
	// A recorder has just begun an archive.
	if err := os.WriteFile(filepath.Join(d.root, "h", "20250302.00.10.meta"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from, to, want string
		most           int // archives that are opened
	}{
		{"20250115.12.00", "20250115.12.01", "20250115.00.10", 4},
		{"20250115.23.00", "20250116.02.00", "20250115.00.10 20250116.00.10", 4},
		{"20250110.23.00", "20250110.23.01", "20250110.00.10 20250110.00.20", 5},
		{"20250110.00.20", "20250110.00.20", "20250110.00.10 20250110.00.20", 5},
		{"20250131.12.00", "20250201.12.00", "20250130.00.10 20250203.00.10", 4}, // between them is nothing
		{"20241201.00.00", "20241202.00.00", "20250101.00.10", 1},                // before the first
		{"20250601.00.00", "20250602.00.00", "20250301.00.10", 3},                // after the last
		{"20250227.23.59", "", "20250227.00.10 20250228.00.10 20250301.00.10", 4},
	} {
		from, to := pcp.TimestampOf(at(t, c.from)), pcp.Timestamp{}
		if c.to != "" {
			to = pcp.TimestampOf(at(t, c.to))
		}
		list, ok := Archives("dir://h", from, to)
		var got []string
		for _, a := range list {
			got = append(got, strings.TrimPrefix(a.Path, "dir://h/"))
		}
		if !ok || strings.Join(got, " ") != c.want {
			t.Errorf("%s to %s: %q, %v, want %q", c.from, c.to, got, ok, c.want)
		}
		if n := d.take(); n > c.most {
			t.Errorf("%s to %s: %d archives were opened, more than %d", c.from, c.to, n, c.most)
		}
	}
	if Spec([]Archive{{Path: "a"}, {Path: "b"}}) != "a,b" {
		t.Error("Spec")
	}
	if _, ok := Archives(filepath.Join(d.root, "h"), pcp.Timestamp{}, pcp.Timestamp{}); ok {
		t.Error("a directory on the disk is not read as a whole")
	}
	// A name that does not have the time of its archive, and one without a time.
	write(t, filepath.Join(d.root, "wrong", "20250115.00.10"), at(t, "20250301.00.10"), at(t, "20250301.00.11"))
	write(t, filepath.Join(d.root, "none", "yesterday"), at(t, "20250301.00.10"), at(t, "20250301.00.11"))
	for _, dir := range []string{"dir://wrong", "dir://none", "dir://missing"} {
		if list, ok := Archives(dir, pcp.TimestampOf(at(t, "20250115.12.00")), pcp.Timestamp{}); ok {
			t.Errorf("%s: %v", dir, list)
		}
	}
}

// TestIndexed looks for the archives of periods by index objects, of which some are wrong.
func TestIndexed(t *testing.T) {
	d := &dirStore{root: t.TempDir(), opened: map[string]bool{}}
	storage.Register("dir", func() storage.Store { return d })
	start := at(t, "20250115.00.10")
	for i := range 20 {
		s := start.AddDate(0, 0, i)
		write(t, filepath.Join(d.root, "h", s.Format("20060102.15.04")), s, s.Add(24*time.Hour-time.Minute))
	}
	entry := func(base, begin, end string) archiveindex.Archive {
		return archiveindex.Archive{Name: base, Begin: at(t, begin), End: at(t, end), Complete: true}
	}
	for _, c := range []struct {
		name string
		list []archiveindex.Archive
		raw  string // in place of the list
		ok   bool
	}{
		{"right", []archiveindex.Archive{entry("20250119.00.10", "20250119.00.10", "20250120.00.09"), entry("20250120.00.10", "20250120.00.10", "20250121.00.09")}, "", true},
		{"an archive is missing in the index", []archiveindex.Archive{entry("20250119.00.10", "20250119.00.10", "20250120.00.09")}, "", false},
		{"an archive does not exist", []archiveindex.Archive{entry("20250120.00.11", "20250120.00.11", "20250121.00.09")}, "", false},
		{"an archive begins at another time", []archiveindex.Archive{entry("20250120.00.10", "20250118.00.10", "20250121.00.09")}, "", false},
		{"an archive of another day", []archiveindex.Archive{entry("20250117.00.10", "20250120.00.10", "20250121.00.09")}, "", false},
		{"damaged", nil, "{", false},
	} {
		day := archiveindex.Day{Version: 1, Host: "h", Day: "20250120", Archives: c.list}
		b, err := day.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if c.raw != "" {
			b = []byte(c.raw)
		}
		path := filepath.Join(d.root, "h", archiveindex.NameOf("20250120"))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, b, 0o644)); err != nil {
			t.Fatal(err)
		}
		from := pcp.TimestampOf(at(t, "20250120.12.00"))
		if _, ok := indexed("dir://h", from, from); ok != c.ok {
			t.Errorf("%s: the index is used: %v", c.name, ok)
		}
		d.take()
		list, ok := Archives("dir://h", from, from)
		if !ok || len(list) != 1 || !strings.HasSuffix(list[0].Path, "20250120.00.10") {
			t.Errorf("%s: %v, %v", c.name, list, ok)
		}
		if n := d.take(); c.ok && n != 1 {
			t.Errorf("%s: %d archives were opened", c.name, n)
		}
	}
}

// TestDate parses arguments that depend on the archives and others.
func TestDate(t *testing.T) {
	start := pcp.TimestampOf(at(t, "20251127.13.07"))
	for _, c := range []struct {
		spec  string
		start *pcp.Timestamp
		want  string
	}{
		{"@2025-11-27 13:07:00", nil, "20251127.13.07"},
		{"@13:07", nil, ""},
		{"-1hour", nil, ""},
		{"1hour", nil, ""},
		{"1hour", &start, "20251127.14.07"},
		{"-1hour", &start, ""},
		{"@14:00", &start, "20251127.14.00"},
		{"@nonsense", nil, ""},
	} {
		got, ok := Date(c.spec, c.start, time.UTC)
		if ok != (c.want != "") || ok && got != pcp.TimestampOf(at(t, c.want)) {
			t.Errorf("Date(%q) = %v, %v, want %q", c.spec, got, ok, c.want)
		}
	}
}
