package archive_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// TestFindFilesRelative checks that the names of all files begin with Base, as a caller that renames them assumes.
func TestFindFilesRelative(t *testing.T) {
	t.Chdir(t.TempDir())
	w, err := archive.Create("day", archive.WriterConfig{Label: archive.Label{Host: "cellar"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Mark(pcp.Timestamp{Sec: 1700000000}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"day", "./day", "day.meta", ".//day", "../" + base(t) + "/day"} {
		f, err := archive.FindFiles(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if list := f.All(); len(list) != 3 {
			t.Errorf("%s: %q", path, list)
		}
		for _, name := range f.All() {
			if !strings.HasPrefix(name, f.Base+".") {
				t.Errorf("%s: %s does not begin with %s", path, name, f.Base)
			}
		}
	}
}

// base returns the last element of the name of the current directory.
func base(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Base(dir)
}
