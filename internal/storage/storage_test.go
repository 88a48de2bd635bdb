package storage

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// A mapStore is a Store of files in memory.
type mapStore fstest.MapFS

func (m mapStore) name(address string) string {
	return strings.TrimRight(strings.TrimPrefix(address, "map://"), "/")
}

type mapFile struct {
	*bytes.Reader
	fs.File
	name string
}

func (f mapFile) Name() string                             { return f.name }
func (f mapFile) Read(b []byte) (int, error)               { return f.Reader.Read(b) }
func (m mapStore) ReadDir(a string) ([]fs.DirEntry, error) { return fstest.MapFS(m).ReadDir(m.name(a)) }

func (m mapStore) Stat(a string) (fs.FileInfo, error) { return fstest.MapFS(m).Stat(m.name(a)) }

func (m mapStore) Open(a string) (File, error) {
	f, err := fstest.MapFS(m).Open(m.name(a))
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(f)
	return mapFile{bytes.NewReader(b), f, a}, err
}

// TestPaths checks that addresses and local paths are taken apart and joined alike.
func TestPaths(t *testing.T) {
	opened := 0
	Register("map", func() Store { opened++; return mapStore{} })
	for _, c := range []struct{ name, clean, dir, join string }{
		{"map://a/b/c", "map://a/b/c", "map://a/b", "map://a/b/c/x.0"},
		{"map://a/b/", "map://a/b", "map://a", "map://a/b/x.0"},
		{"map://a", "map://a", "map://a", "map://a/x.0"},
		{"other://a/b/", "other:/a/b", "other:/a/b", "other:/a/b/x.0"},
		{"a/../b", "b", ".", "b/x.0"},
		{".", ".", ".", "x.0"},
	} {
		if got := Clean(c.name); got != filepath.FromSlash(c.clean) {
			t.Errorf("Clean(%q) = %q", c.name, got)
		}
		if got := Dir(c.name); got != filepath.FromSlash(c.dir) {
			t.Errorf("Dir(%q) = %q", c.name, got)
		}
		if got := Join(c.name, "x.0"); got != filepath.FromSlash(c.join) {
			t.Errorf("Join(%q) = %q", c.name, got)
		}
	}
	if opened != 0 {
		t.Error("the store was opened without a use")
	}
	if !Remote("map://x") || Remote("map:/x") || Remote("maps://x") || Remote("/map://x") {
		t.Error("Remote")
	}
}

// TestWalk checks that a store and a directory are walked in the same order, with the same answers to SkipDir and errors.
func TestWalk(t *testing.T) {
	files := fstest.MapFS{"r/a/1": {}, "r/a/2": {}, "r/b": {}, "r/c/d/3": {}, "r/e": {}}
	dir := t.TempDir()
	if err := os.CopyFS(dir, files); err != nil {
		t.Fatal(err)
	}
	Register("map", func() Store { return mapStore(files) })
	stop := errors.New("stop")
	for _, answers := range []map[string]error{
		{}, {"a": fs.SkipDir}, {"a/1": fs.SkipDir}, {"b": fs.SkipDir}, {"c/d": fs.SkipAll}, {"c": stop}, {"": fs.SkipDir},
	} {
		walked := func(root string) (list []string, err error) {
			err = WalkDir(root, func(path string, d fs.DirEntry, err error) error {
				rel := strings.Trim(strings.TrimPrefix(filepath.ToSlash(path), filepath.ToSlash(root)), "/")
				list = append(list, rel)
				if err != nil || d == nil {
					t.Errorf("%s: %v", path, err)
				}
				return answers[rel]
			})
			return list, err
		}
		want, wantErr := walked(filepath.Join(dir, "r"))
		got, err := walked("map://r")
		if !slices.Equal(got, want) || err != wantErr {
			t.Errorf("with %v: %q, %v; of a directory %q, %v", answers, got, err, want, wantErr)
		}
	}
	err := WalkDir("map://none", func(_ string, d fs.DirEntry, err error) error {
		if d != nil {
			t.Error("a missing directory has an entry")
		}
		return err
	})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing directory: %v", err)
	}
}
