package archive

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestURL checks that archives are not read from servers, and that a file of such a name
// is.
func TestURL(t *testing.T) {
	for _, path := range []string{"http://host/a", "https://host:44322/a.meta"} {
		_, err := Open(path)
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "not from a URL") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := Open("ftp://host/a"); !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "URL") {
		t.Errorf("another name: %v", err)
	}
	t.Chdir(t.TempDir())
	if err := os.MkdirAll(filepath.Join("http:", "host"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open("http://host/a"); err == nil || strings.Contains(err.Error(), "URL") {
		t.Errorf("a directory of that name: %v", err)
	}
}
