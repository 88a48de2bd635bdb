package archiveindex

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/objects"
)

// TestLaterRelease updates an index that a later release wrote: it is refused, and stays as it is.
func TestLaterRelease(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "index", "20261127.json")
	const text = `{"version":2,"host":["www"],"day":"20261127"}`
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := objects.OpenDir(dir, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	err = Update(t.Context(), d, "www", "20261127", func(*Day) bool { return true })
	if err == nil || !strings.Contains(err.Error(), "20261127.json: ") || !strings.Contains(err.Error(), "the file has version 2, and this release reads versions up to 1: install") {
		t.Errorf("%v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != text {
		t.Errorf("the index is now %s, %v", b, err)
	}
}
