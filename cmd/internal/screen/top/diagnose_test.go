package top

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestExport never overwrites a file.
func TestExport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "screen.txt")
	if err := export(path, "one\n"); err != nil {
		t.Fatal(err)
	}
	if err := export(path, "two\n"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second time: %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "one\n" {
		t.Errorf("the file has %q, %v", b, err)
	}
}
