package archives

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestLaterRelease opens an index of a later release: it stays as it is, and another one is made beside it.
func TestLaterRelease(t *testing.T) {
	path := filepath.Join(t.TempDir(), "series.db")
	x, _, err := openIndex(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.update(func(tx *tx) error { return tx.put("info", []byte("version"), []byte{indexVersion + 1}) }); err != nil {
		t.Fatal(err)
	}
	x.close()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		x, _, err = openIndex(path)
		if err != nil {
			t.Fatal(err)
		}
		if want := filepath.Join(filepath.Dir(path), "series-1.db"); x.path != want {
			t.Errorf("the index is %s, want %s", x.path, want)
		}
		x.close()
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the index of the later release has changed, %v", err)
	}
}
